package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/watch"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// drainBound is how long a node may run after the end of its termination grace period: its instance ends some time after its pods.
const drainBound = 3 * time.Minute

// nodeGone: a Node goes after its instance, and its NodeClaim is deleted before.
func (i *invariants) nodeGone(node *corev1.Node) {
	if node.Labels[v1.NodeRegisteredLabelKey] != "true" {
		return
	}
	id := node.Spec.ProviderID
	for _, claim := range i.claims {
		if claim.Status.ProviderID != id {
			continue
		}
		if claim.DeletionTimestamp == nil {
			i.violated("Node gone before its NodeClaim was deleted", "%s of %s", node.Name, claim.Name)
		}
		if i.cluster.Datacenter.instance(id) != nil {
			i.violated("Node gone before its instance", "%s of %s", node.Name, claim.Name)
		}
	}
}

// overdue: a node does not outlive its termination grace period.
func (i *invariants) overdue() {
	for _, claim := range i.claims {
		if claim.DeletionTimestamp == nil || claim.Spec.TerminationGracePeriod == nil {
			continue
		}
		instance := i.cluster.Datacenter.instance(claim.Status.ProviderID)
		if instance != nil && !instance.Ending && time.Since(claim.DeletionTimestamp.Time) > claim.Spec.TerminationGracePeriod.Duration+drainBound+i.cluster.Faults.MaxJump {
			i.violated("node outlives its termination grace period", "%s", claim.Name)
		}
	}
}

// attachment follows VolumeAttachments.
func (i *invariants) attachment(e change) {
	a, _ := e.object.(*storagev1.VolumeAttachment)
	if i.attachments[a.Name] = a; e.kind == watch.Deleted {
		delete(i.attachments, a.Name)
	}
}

// detached: an instance is ended once its volumes are detached, or its termination grace period is over. What is on a node that is not drained
// does not count.
func (i *invariants) detached(id, name string) {
	claim := i.claims[i.cluster.Datacenter.instances[id].Owner]
	if claim == nil || i.nodes[name] == nil {
		return
	}
	late := false
	if claim.DeletionTimestamp != nil {
		limit := deadline(claim)
		late = limit != nil && time.Now().After(limit.Add(-i.cluster.Faults.MaxJump))
	}
	kept := map[string]bool{}
	for _, pod := range i.pods {
		for _, volume := range volumesOf(pod) {
			kept[volume] = kept[volume] || pod.Spec.NodeName == name
		}
	}
	for _, a := range i.attachments {
		if a.Spec.NodeName != name || kept[*a.Spec.Source.PersistentVolumeName] {
			continue
		}
		if i.forced++; !late {
			i.violated("instance ended before its volumes were detached", "%s with %s", id, a.Name)
		}
	}
}

// awaited reports whether the end of an instance has to wait for a pod: it runs, or it is given time to end.
func (i *invariants) awaited(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodRunning {
		return false
	}
	if limit := i.drainLimit(pod); limit != nil && pod.DeletionTimestamp != nil && !time.Now().Before(limit.Add(-podGrace-i.cluster.Faults.MaxJump)) {
		return false
	}
	return pod.DeletionTimestamp == nil || time.Now().Before(pod.DeletionTimestamp.Time)
}
