package observe

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// The events that every cloud provider may publish. A provider defines those that only it has, with NormalEvent and WarningEvent.

// NodeClassMissing reports that a NodePool or NodeClaim names a NodeClass that does not exist or is being deleted. It has no reason, as in
// upstream Karpenter; one more dedupe value distinguishes it from other events without a reason.
func NodeClassMissing(object runtime.Object, uid types.UID) Event {
	return WarningEvent(object, "", "Failed resolving NodeClass", string(uid), "nodeclass")
}

// WaitingOnNodeClaimTermination reports that a NodeClass that is being deleted stays until its NodeClaims are gone.
func WaitingOnNodeClaimTermination(class runtime.Object, uid types.UID, claims []string) Event {
	return NormalEvent(class, "WaitingOnNodeClaimTermination", "Waiting on NodeClaim termination for "+someOf(claims), string(uid))
}

// TerminatingOnInterruption reports that a NodeClaim was deleted because the cloud interrupts its instance; node may be nil.
func TerminatingOnInterruption(claim *v1.NodeClaim, node *corev1.Node) []Event {
	const reason = "TerminatingOnInterruption"
	out := []Event{WarningEvent(claim, reason, "Interruption triggered termination for the NodeClaim", string(claim.UID))}
	if node != nil {
		out = append(out, WarningEvent(node, reason, "Interruption triggered termination for the Node", string(node.UID)))
	}
	return out
}
