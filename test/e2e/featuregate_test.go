package e2e

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	overlayv1 "github.com/karpenter-anew/karpenter/api/v1alpha1"
)

// awaitState waits until a condition of an object is "<status>/<reason>".
func (w *harness) awaitState(o client.Object, list *[]metav1.Condition, conditionType, want string) {
	w.t.Helper()
	w.await(fmt.Sprintf("%T %q has %s %s", o, o.GetName(), conditionType, want), patience, func() string {
		if !w.get(o) {
			return "it is gone"
		}
		if got := conditionText(*list, conditionType); got != want {
			return got
		}
		return ""
	})
}

// TestFeatureGatesThatAreTurnedOff: objects whose conditions an earlier process wrote say that they are not applied, until the gates are on
// again. A CapacityBuffer whose status another program writes is left alone: by the real API server, the manager of its fields is that program.
func TestFeatureGatesThatAreTurnedOff(t *testing.T) {
	t.Parallel()
	const gates = "--feature-gates=NodeOverlay=true,CapacityBuffer=true,OperationsPolicy=true"
	w := begin(t)
	o, p := overlay("o", "m-16x-amd64-linux", "0.001"), &opsv1alpha1.OperationsPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	own, foreign := buffer("own", "chunk", 0), buffer("foreign", "chunk", 0)
	w.create(class(), pool(), chunk("chunk", "3"), o, p, own)
	states := func(ofOverlay, ofPolicy, ofBuffer string) {
		t.Helper()
		w.awaitState(o, &o.Status.Conditions, overlayv1.ConditionTypeReady, ofOverlay)
		w.awaitState(p, &p.Status.Conditions, opsv1alpha1.ConditionTypeReady, ofPolicy)
		w.awaitState(own, &own.Status.Conditions, v1beta1.ConditionTypeReadyForProvisioning, ofBuffer)
	}
	running := w.controller(gates)
	states("True/Ready", "True/Ready", "True/Resolved")
	w.must(running.Kill())

	w.create(foreign)
	w.must(served(w, foreign))
	running = w.controller()
	states("False/NodeOverlayDisabled", "False/OperationsPolicyDisabled", "False/CapacityBufferDisabled")
	version := o.ResourceVersion
	w.stays("the buffer of cluster-autoscaler is not written, others are not written again", 3*time.Second, func() string {
		if w.get(foreign); conditionText(foreign.Status.Conditions, v1beta1.ConditionTypeReadyForProvisioning) != "True/Resolved" {
			return fmt.Sprintf("its conditions are %+v", foreign.Status.Conditions)
		}
		if w.get(o); o.ResourceVersion != version {
			return "the NodeOverlay was written again"
		}
		return ""
	})
	w.must(running.Kill())

	w.controller(gates)
	states("True/Ready", "True/Ready", "True/Resolved")
}

// served makes cluster-autoscaler write the status of a buffer.
func served(w *harness, b *v1beta1.CapacityBuffer) error {
	stored := b.DeepCopy()
	b.Status.Conditions = []metav1.Condition{{
		Type: v1beta1.ConditionTypeReadyForProvisioning, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonResolved, LastTransitionTime: metav1.Now(),
	}}
	return w.client.Status().Patch(w.ctx, b, client.MergeFrom(stored), client.FieldOwner("cluster-autoscaler"))
}
