package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

const (
	// markBound is how long a mark of disruption may stay while no NodeClaim starts that its node could wait for: a process is down for up to
	// 20 seconds, and then removes the marks of commands that it does not know.
	markBound = 3 * time.Minute
	// emptyBound is how long controllers may not know of a pod on a node that they remove as empty.
	emptyBound = 15 * time.Second
)

// disruptedFor: what is deleted by choice is marked, and allowed; and no node was launched for nothing.
func (i *invariants) disruptedFor(claim *v1.NodeClaim) {
	scene := &i.cluster.User.scene
	if scene.Frozen && !i.cluster.Faults.Off {
		i.violated("freeze", "%s was deleted", claim.Name)
	}
	if i.calm() && !i.used[claim.Status.NodeName] {
		i.violated("launched for nothing", "%s never had a pod", claim.Name)
	}
	node := i.nodes[claim.Status.NodeName]
	if node == nil || node.DeletionTimestamp != nil {
		return
	}
	reason := conditionOf(claim, v1.ConditionTypeDisruptionReason)
	// A reboot may be requested while a command waits for the replacement of the node.
	known := rebootOf(claim).LastTransitionTime.Add(requestBound + i.cluster.Faults.MaxJump)
	overtaken := !known.Before(reason.LastTransitionTime.Time) || repairs(claim)
	if node.Labels[v1.NodeInitializedLabelKey] != "true" && !overtaken {
		i.violated("disrupted before it was initialized", "%s", claim.Name)
	}
	// A static pool that a user makes smaller deletes nodes whose marks are being removed, too.
	pool := i.pools[claim.Labels[v1.NodePoolLabelKey]]
	shrinks := scene.EditStatic > 0 && pool != nil && pool.Spec.Replicas != nil
	if !disrupted(node) && !shrinks && !i.cluster.contested() { // a deposed process takes marks of the next one for leftovers
		i.violated("disrupted without a mark", "%s was deleted, node %s is open", claim.Name, node.Name)
	}
	empty := reason.Reason == "Empty"
	if lost := i.spare(); empty && len(i.pods) == 0 && len(lost) > 0 {
		i.violated("removed with the places of a buffer", "%s: %s", claim.Name, lost[0])
	}
	for _, pod := range i.pods {
		if empty && pod.Spec.NodeName == node.Name &&
			pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning && time.Since(i.bound[pod.UID]) > emptyBound {
			i.violated("removed as empty", "%s with pod %s", node.Name, pod.Name)
		}
	}
	i.replaced(claim)
}

// calm reports whether users only create pods, and only empty nodes are removed. When faults end, pools are edited.
func (i *invariants) calm() bool {
	s := &i.cluster.User.scene
	return !i.cluster.Faults.Off && s.WhenEmpty && s.Scale+s.Remove+s.EditPool+s.DeleteNode+s.DeleteClaim+s.Die+s.Silent+s.Outdate+s.Outage+s.Buffer == 0 && s.Reboots+s.Unhealthy == 0
}

// replaced: where one node is replaced at a time, and nothing else changes, none is deleted while its replacement starts.
func (i *invariants) replaced(claim *v1.NodeClaim) {
	scene := &i.cluster.User.scene
	if i.cluster.Faults.ClockJump > 0 || scene.Budget > 1 || scene.Reboots+scene.Unhealthy > 0 || scene.Create+scene.Scale+scene.Remove+scene.DeleteNode+scene.DeleteClaim+scene.Die > 0 {
		return
	}
	marked := condition.For(claim.DeepCopy(), time.Now()).Get(v1.ConditionTypeDisruptionReason).LastTransitionTime.Time
	for _, other := range i.claims {
		if other.DeletionTimestamp == nil && !other.CreationTimestamp.Time.Before(marked) && condition.Status(other, v1.ConditionTypeInitialized) != metav1.ConditionTrue {
			i.violated("deleted before its replacement was ready", "%s, %s starts", claim.Name, other.Name)
		}
	}
}

// marks: marks of disruption do not stay when there is nothing to wait for.
func (i *invariants) marks() {
	for _, claim := range i.claims {
		if claim.DeletionTimestamp == nil && condition.Status(claim, v1.ConditionTypeInitialized) != metav1.ConditionTrue {
			clear(i.marked)
			return
		}
	}
	for _, claim := range i.claims {
		node := i.nodes[claim.Status.NodeName]
		leaves := claim.DeletionTimestamp != nil || node != nil && node.DeletionTimestamp != nil
		if leaves || condition.Status(claim, v1.ConditionTypeDisruptionReason) != metav1.ConditionTrue && (node == nil || !disrupted(node)) {
			delete(i.marked, claim.Name)
			continue
		}
		if since, known := i.marked[claim.Name]; !known {
			i.marked[claim.Name] = time.Now()
		} else if time.Since(since) > markBound {
			i.violated("mark left over", "%s", claim.Name)
		}
	}
}
