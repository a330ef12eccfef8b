package observe

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// namesShown bounds how many objects an event names.
const namesShown = 5

// Evicted reports that the eviction of a pod was accepted. The dedupe value is the UID; upstream uses the name without the namespace and
// loses events of pods with the same name.
func Evicted(pod *corev1.Pod, reason string) Event {
	return NormalEvent(pod, "Evicted", "Evicted pod: "+reason, string(pod.UID))
}

// Disrupted reports that a pod is deleted to meet the deadline of its node; publish it before the deletion. granted is the time left
// until the deadline, own the grace period of the pod in seconds.
func Disrupted(pod *corev1.Pod, deadline time.Time, granted time.Duration, own *int64) Event {
	ownText := "unset"
	if own != nil {
		ownText = fmt.Sprintf("%d", *own)
	}
	return NormalEvent(pod, "Disrupted", fmt.Sprintf("Deleting the pod to accommodate the terminationTime %s of the node. "+
		"The pod was granted %d seconds of grace-period of its %s terminationGracePeriodSeconds. "+
		"This bypasses the PDB of the pod and the do-not-disrupt annotation.", deadline.Format("2006-01-02 15:04:05 -0700 MST"), int64(granted.Seconds()), ownText), string(pod.UID))
}

// FailedDraining says what a drain waits for. blocker names the pod whose eviction is refused, and is empty while pods terminate. It
// is a dedupe value: upstream has the node alone, so that its first "pods are waiting" hides a blocking budget for two minutes.
func FailedDraining(node *corev1.Node, why error, blocker string) Event {
	dedupe := []string{node.Name}
	if blocker != "" {
		dedupe = append(dedupe, blocker)
	}
	return WarningEvent(node, "FailedDraining", fmt.Sprintf("Failed to drain node, %v", why), dedupe...)
}

// AwaitingVolumeDetachment reports which VolumeAttachments a terminating node waits for.
func AwaitingVolumeDetachment(node *corev1.Node, attachments []string) Event {
	return NormalEvent(node, "AwaitingVolumeDetachment", fmt.Sprintf("Awaiting deletion of bound volumeattachments (%s)", someOf(attachments)), node.Name)
}

// someOf lists the first few names.
func someOf(names []string) string {
	out := strings.Join(names[:min(namesShown, len(names))], ", ")
	if rest := len(names) - namesShown; rest > 0 {
		out += fmt.Sprintf(" and %d other(s)", rest)
	}
	return out
}

// NodeTerminationGracePeriodExpiring reports when the pods of a Node are deleted at the latest; deadline as in the annotation.
func NodeTerminationGracePeriodExpiring(node *corev1.Node, deadline string) Event {
	return WarningEvent(node, "TerminationGracePeriodExpiring", "All pods will be deleted by "+deadline, node.Name)
}

// NodeClaimTerminationGracePeriodExpiring reports the same on the NodeClaim.
func NodeClaimTerminationGracePeriodExpiring(claim *v1.NodeClaim, deadline string) Event {
	return WarningEvent(claim, "TerminationGracePeriodExpiring", "All pods will be deleted by "+deadline, claim.Name)
}

// FailedTermination says why the instance of a deleted NodeClaim is not terminated. Upstream has no such event: there a NodeClaim whose
// instance cannot be terminated stays without a word.
func FailedTermination(claim *v1.NodeClaim, why string) Event {
	return WarningEvent(claim, "FailedTermination", "Failed to terminate the instance, "+why, string(claim.UID))
}

// InvalidTerminationTimestamp reports that the deadline of a NodeClaim is malformed and is taken from its spec instead. Upstream has no
// such event: there the drain fails forever.
func InvalidTerminationTimestamp(claim *v1.NodeClaim, text string) Event {
	message := fmt.Sprintf("Invalid %s annotation: %q is not an RFC 3339 time, using the terminationGracePeriod of the NodeClaim instead",
		v1.NodeClaimTerminationTimestampAnnotationKey, text)
	return WarningEvent(claim, "InvalidTerminationTimestamp", message, string(claim.UID), text)
}
