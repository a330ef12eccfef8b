package forecast

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kwokv1alpha1 "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// TestPodsThatFitNowhereArePlannedForAfterChangesOnly: the controller plans for them every ten seconds, to the same effect each time. In a
// forecast of a week that would be 60 000 plans.
func TestPodsThatFitNowhereArePlannedForAfterChangesOnly(t *testing.T) {
	simulated, err := kwok.New(nil, kwok.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: kwokv1alpha1.Group, Kind: "KWOKNodeClass", Name: "default"}
	huge := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "huge", Namespace: "default", UID: "huge"}}
	huge.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100k")},
	}}}
	huge.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
	}}
	objects := []client.Object{&kwokv1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, pool, huge}
	now := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	horizon := 7 * 24 * time.Hour
	r, err := newRun(t.Context(), objects, simulated.WithDefaults(), Options{Options: simulation.Options{Now: now}, Horizon: horizon})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	steps := 0
	for ; steps < 1000 && !r.nextEvent().IsZero() && r.nextEvent().Before(now.Add(horizon)); steps++ {
		r.now = r.nextEvent()
		if err := r.step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if steps < 1 || steps > 20 {
		t.Errorf("%d steps, want a few", steps)
	}
}
