package observe

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// InsufficientCapacity reports that the cloud has no capacity for the NodeClaim, which is deleted next.
func InsufficientCapacity(claim *v1.NodeClaim, why error) Event {
	return WarningEvent(claim, "InsufficientCapacityError", fmt.Sprintf("NodeClaim %s event: %s", claim.Name, why), string(claim.UID))
}

// PodNotLaunched reports to a pod that the cloud has no capacity for the NodeClaim that was to run it. The pod is planned again.
func PodNotLaunched(pod *corev1.Pod, claim string, why error) Event {
	e := WarningEvent(pod, "InsufficientCapacityError", fmt.Sprintf("NodeClaim %s nominated for this pod failed to launch: %s", claim, why), string(pod.UID))
	e.Limited = true
	return e
}

// UnregisteredTaintMissing reports that a node joined without the taint that repels pods until it is registered.
func UnregisteredTaintMissing(claim *v1.NodeClaim) Event {
	return WarningEvent(claim, "UnregisteredTaintMissing", fmt.Sprintf("Missing %s taint which prevents registration related race conditions on Karpenter-managed nodes", v1.UnregisteredTaintKey), string(claim.UID))
}

// FailedConsistencyCheck reports one issue of a node.
func FailedConsistencyCheck(claim *v1.NodeClaim, issue string) Event {
	return WarningEvent(claim, "FailedConsistencyCheck", issue, string(claim.UID), issue)
}

// NodeShapeIssue is the issue of a node that has less of a resource than its NodeClaim declares.
func NodeShapeIssue(name corev1.ResourceName, expected, found resource.Quantity) string {
	share := 100 * found.AsApproximateFloat64() / expected.AsApproximateFloat64()
	return fmt.Sprintf("expected %s of resource %s, but found %s (%.1f%% of expected)", expected.String(), name, found.String(), share)
}

// NodeRepairBlocked reports that too many nodes are unhealthy to replace any. With a pool the share is that of the pool, without one that
// of the cluster. Each of Node, NodeClaim and, if any, NodePool gets the event; upstream puts all copies on the Node.
func NodeRepairBlocked(node *corev1.Node, claim *v1.NodeClaim, pool *v1.NodePool) []Event {
	message := "more then 20% nodes are unhealthy in the cluster" // spelled as in upstream Karpenter: alerts match it
	if pool != nil {
		message = "more than 20% nodes are unhealthy in the nodepool"
	}
	out := []Event{
		WarningEvent(node, "NodeRepairBlocked", message, string(node.UID)),
		WarningEvent(claim, "NodeRepairBlocked", message, string(claim.UID)),
	}
	if pool != nil {
		out = append(out, WarningEvent(pool, "NodeRepairBlocked", message, string(pool.UID)))
	}
	for i := range out {
		out[i] = out[i].within(15 * time.Minute)
	}
	return out
}

// rebootWindow is the window in which the events of a reboot are not repeated.
const rebootWindow = 30 * time.Minute

// RebootObserved reports that a node has booted again; requested is when its reboot was requested.
func RebootObserved(claim *v1.NodeClaim, requested time.Time) Event {
	return NormalEvent(claim, "RebootObserved", "New boot observed (bootID changed); awaiting node readiness", string(claim.UID), episode(requested)).within(rebootWindow)
}

// RebootFailed reports why a reboot failed; requested is when it was requested.
func RebootFailed(claim *v1.NodeClaim, requested time.Time, why string) Event {
	return WarningEvent(claim, "RebootFailed", why, string(claim.UID), episode(requested)).within(rebootWindow)
}

// episode tells the reboots of a node apart.
func episode(requested time.Time) string { return requested.UTC().Format(time.RFC3339) }

// PoolRepairBlocked reports that a node is not repaired because too many nodes of its pool are unhealthy. Node, claim or pool may be nil.
func PoolRepairBlocked(node *corev1.Node, claim *v1.NodeClaim, pool *v1.NodePool, poolName string) []Event {
	about := subjects(node, claim)
	if pool != nil {
		about = append(about, subject{pool, pool.UID, "NodePool"})
	}
	var out []Event
	for _, s := range about {
		message := fmt.Sprintf("more than 20%% of nodes in nodepool %q are unhealthy", poolName)
		out = append(out, WarningEvent(s.object, "NodeRepairBlocked", message, string(s.uid)).within(15*time.Minute))
	}
	return out
}
