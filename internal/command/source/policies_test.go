package source

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// TestPolicyNotes: every answer says which policies it does not consider, and what it does not know of them.
func TestPolicyNotes(t *testing.T) {
	on := Settings{FeatureGates: options.GateChanges{"OperationsPolicy": true}}
	policies := func(mode opsv1alpha1.ApprovalMode) []client.Object {
		p := &opsv1alpha1.OperationsPolicy{ObjectMeta: metav1.ObjectMeta{Name: "production"}}
		if mode != "" {
			p.Spec.Approval = &opsv1alpha1.Approval{Mode: mode}
		}
		return []client.Object{p}
	}
	for _, test := range []struct {
		name      string
		settings  Settings
		objects   []client.Object
		snapshot  bool
		forbidden []string
		want      []string
	}{
		{name: "no policies and no gate", snapshot: true},
		{name: "a policy without the gate", objects: policies(""), want: []string{`OperationsPolicies that are not considered, because the feature gate OperationsPolicy is off: "production"`}},
		{name: "a policy with the gate", settings: on, objects: policies(opsv1alpha1.ApprovalNever), snapshot: true},
		{name: "approval", settings: on, objects: policies(opsv1alpha1.ApprovalAlways)},
		{name: "approval, and plans are not listed", settings: on, objects: policies(opsv1alpha1.ApprovalAlways), forbidden: []string{"DisruptionPlan"}, want: []string{noPlans}},
		{name: "not listed", settings: on, forbidden: []string{"OperationsPolicy"}, want: []string{NoPolicies + ", and those of the cluster are not considered"}},
		{name: "not listed without the gate", forbidden: []string{"OperationsPolicy", "DisruptionPlan"}, want: []string{NoPolicies + "; the feature gate OperationsPolicy is off"}},
		{name: "none in a snapshot", settings: on, snapshot: true, want: []string{"the snapshot has no OperationsPolicies, although the feature gate for them is on"}},
		{name: "none in a live cluster", settings: on},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.settings.PolicyNotes(test.objects, test.snapshot, test.forbidden); !slices.Equal(got, test.want) {
				t.Errorf("notes %q, want %q", got, test.want)
			}
		})
	}
}
