package operationspolicy_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/operationspolicy"
)

func TestConditions(t *testing.T) {
	good := &opsv1alpha1.OperationsPolicy{ObjectMeta: metav1.ObjectMeta{Name: "good", Generation: 1}}
	bad := &opsv1alpha1.OperationsPolicy{ObjectMeta: metav1.ObjectMeta{Name: "bad", Generation: 1}}
	bad.Spec.Windows = []opsv1alpha1.MaintenanceWindow{{Schedule: "@daily", Duration: metav1.Duration{Duration: 3600e9}, TimeZone: "Europe/Atlantis"}}
	w := fakecluster.New(t, good, bad)
	c := operationspolicy.New(w.Shared)
	w.Run(c, good)
	w.Run(c, bad)
	if p := fakecluster.Must(w, good); condition.Status(p, opsv1alpha1.ConditionTypeReady) != metav1.ConditionTrue {
		t.Errorf("a valid policy: %+v", p.Status.Conditions)
	}
	p := fakecluster.Must(w, bad)
	got := condition.For(p, w.Time.Now()).Get(opsv1alpha1.ConditionTypeValidationSucceeded)
	if got == nil || got.Status != metav1.ConditionFalse || got.Reason != opsv1alpha1.ReasonRuntimeValidation || !strings.Contains(got.Message, "Europe/Atlantis") {
		t.Errorf("an invalid policy: %+v", got)
	}
	if condition.Status(p, opsv1alpha1.ConditionTypeReady) != metav1.ConditionFalse {
		t.Errorf("an invalid policy is ready: %+v", p.Status.Conditions)
	}
	p = fakecluster.Change(w, bad, func(p *opsv1alpha1.OperationsPolicy) { p.Spec.Windows[0].TimeZone = "Europe/Berlin" })
	w.Run(c, p)
	if p := fakecluster.Must(w, bad); condition.Status(p, opsv1alpha1.ConditionTypeReady) != metav1.ConditionTrue {
		t.Errorf("a policy that was corrected: %+v", p.Status.Conditions)
	}
}
