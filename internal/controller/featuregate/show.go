package featuregate

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
)

// fieldManager is the manager of the fields that the controller writes: the API server takes it from the user agent, karpenter/VERSION.
//
// Source: Kubernetes documentation, Server-Side Apply, "Managers".
const fieldManager = "karpenter"

// show sets in the status of an object that it is not applied. The conditions of its validation stay as they are: they are about its
// specification.
func show(o client.Object, now time.Time, message string) {
	switch o := o.(type) {
	case *v1alpha1.NodeOverlay:
		setFalse(&o.Status.Conditions, o, now, v1alpha1.ConditionTypeReady, v1alpha1.ReasonNodeOverlayDisabled, message)
	case *opsv1alpha1.OperationsPolicy:
		setFalse(&o.Status.Conditions, o, now, opsv1alpha1.ConditionTypeReady, opsv1alpha1.ReasonOperationsPolicyDisabled, message)
	case *opsv1alpha1.DisruptionPlan:
		if !o.Status.Phase.Final() {
			o.Status.WaitingFor = message // its conditions are the phases of its life
		}
	case *v1beta1.CapacityBuffer:
		if !onlyWrittenHere(o) {
			return
		}
		setFalse(&o.Status.Conditions, o, now, v1beta1.ConditionTypeReadyForProvisioning, v1beta1.ReasonCapacityBufferDisabled, message)
		setFalse(&o.Status.Conditions, o, now, v1beta1.ConditionTypeProvisioning, v1beta1.ReasonNotReadyForProvisioning, "the buffer is not ready for provisioning")
	}
}

func setFalse(list *[]metav1.Condition, o client.Object, now time.Time, conditionType, reason, message string) {
	meta.SetStatusCondition(list, metav1.Condition{
		Type: conditionType, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: o.GetGeneration(),
		LastTransitionTime: metav1.NewTime(now),
	})
}

// onlyWrittenHere reports whether Karpenter, and no other program, wrote the status of a buffer. cluster-autoscaler serves the same kind, and
// nothing in the specification of a buffer says which program serves it. With the feature gate on, Karpenter serves all buffers.
func onlyWrittenHere(b *v1beta1.CapacityBuffer) bool {
	wrote := false
	for _, entry := range b.ManagedFields {
		if entry.Subresource != "status" {
			continue
		}
		if entry.Manager != fieldManager {
			return false
		}
		wrote = true
	}
	return wrote
}
