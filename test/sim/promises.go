package sim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

const (
	// mostConditions, mostAnnotations and mostTaints are more than any object needs: one that grows for ever exceeds them.
	mostConditions, mostAnnotations, mostTaints = 20, 30, 12
	// expiryBound is how long a NodeClaim may exist after it has expired: its deletion may fail, and a process may be down.
	expiryBound = 3 * time.Minute
	// look is the time between two checks of what depends on time alone.
	look = 5 * time.Second
	// podGrace is the termination grace period of pods.
	podGrace = 30 * time.Second
)

// called checks a call of a process that is about to have its effect.
func (i *invariants) called(verb string, o client.Object) {
	defer i.defective()
	pod := i.pods[o.GetUID()]
	switch claim := i.claims[o.GetUID()]; {
	case verb == "evict" && pod != nil:
		if pod.DeletionTimestamp == nil && pod.Annotations[v1.DoNotDisruptAnnotationKey] == "true" && i.drainLimit(pod) == nil {
			i.violated("protected pod evicted", "%s", pod.Name)
		}
	case verb == "delete" && pod != nil:
		i.podForced(pod)
	case verb == "delete" && claim != nil && claim.DeletionTimestamp == nil:
		i.deletedFor(claim)
	}
}

// claimOf is the NodeClaim of a pod's node.
func (i *invariants) claimOf(pod *corev1.Pod) *v1.NodeClaim {
	for _, claim := range i.claims {
		if claim.Status.NodeName != "" && claim.Status.NodeName == pod.Spec.NodeName {
			return claim
		}
	}
	return nil
}

// drainLimit is the deadline for the pods of a pod's node.
func (i *invariants) drainLimit(pod *corev1.Pod) *time.Time {
	claim := i.claimOf(pod)
	if claim == nil || claim.DeletionTimestamp == nil {
		return nil
	}
	return deadline(claim)
}

// deadline is when the termination grace period of a NodeClaim that is being deleted ends; nil for never. The limit of a reboot that failed
// is one, too, and so is that of a repair policy, which the controller writes down.
func deadline(claim *v1.NodeClaim) (limit *time.Time) {
	if grace := claim.Spec.TerminationGracePeriod; grace != nil {
		limit = ptr.To(claim.DeletionTimestamp.Add(grace.Duration))
	}
	if at, err := time.Parse(time.RFC3339, claim.Annotations[v1.NodeClaimTerminationTimestampAnnotationKey]); err == nil && repairs(claim) && (limit == nil || at.Before(*limit)) {
		limit = &at
	}
	reboot := rebootOf(claim)
	if most, limited := drainLimitOfReboot(claim); limited && reboot.Reason == v1.RebootReasonFailed {
		if at := reboot.LastTransitionTime.Add(most); limit == nil || at.Before(*limit) {
			limit = &at
		}
	}
	return limit
}

// podForced: pods are evicted. Only a termination grace period that ends has them deleted.
func (i *invariants) podForced(pod *corev1.Pod) {
	if limit := i.drainLimit(pod); limit == nil || time.Now().Before(limit.Add(-podGrace-time.Second-i.cluster.Faults.MaxJump)) {
		i.violated("pod deleted instead of evicted", "%s", pod.Name)
	}
}

// deletedFor: a NodeClaim with a Node that works is deleted for a reason that can be seen.
func (i *invariants) deletedFor(claim *v1.NodeClaim) {
	node := i.nodes[claim.Status.NodeName]
	switch pool := i.pools[claim.Labels[v1.NodePoolLabelKey]]; {
	case condition.Status(claim, v1.ConditionTypeInitialized) != metav1.ConditionTrue, node == nil, node.DeletionTimestamp != nil:
	case condition.Status(claim, v1.ConditionTypeDisruptionReason) == metav1.ConditionTrue:
	case i.cluster.Datacenter.Instances()[claim.Status.ProviderID] == nil:
	case rebootOf(claim).Reason == v1.RebootReasonFailed:
	case i.mayExpire(claim):
	case pool == nil, pool.Spec.Replicas != nil:
	case i.unmarked[claim.UID]:
	case i.cluster.contested(): // the next process removes the marks of a deposed one that still deletes
	default:
		i.violated("NodeClaim deleted without a reason", "%s", claim.Name)
	}
}

// mayExpire reports whether a NodeClaim is as old as it may become, by one of the clocks.
func (i *invariants) mayExpire(claim *v1.NodeClaim) bool {
	age := claim.Spec.ExpireAfter.Duration
	return age != nil && time.Since(claim.CreationTimestamp.Time) >= *age-2*time.Second-i.cluster.Faults.MaxJump
}

// bounded: objects do not grow.
func (i *invariants) bounded(o client.Object, conditions []string, taints []corev1.Taint) {
	kind := fmt.Sprintf("%T %s", o, o.GetName())
	if len(conditions) > mostConditions || len(o.GetAnnotations()) > mostAnnotations || len(taints) > mostTaints {
		i.violated("object grows", "%s has %d conditions, %d annotations, %d taints", kind, len(conditions), len(o.GetAnnotations()), len(taints))
	}
	seen := map[string]bool{}
	for _, t := range conditions {
		if seen[t] {
			i.violated("object grows", "%s has condition %s twice", kind, t)
		}
		seen[t] = true
	}
	for _, t := range taints {
		id := "taint " + t.Key + string(t.Effect)
		if seen[id] {
			i.violated("object grows", "%s has %s twice", kind, id)
		}
		seen[id] = true
	}
}

// launchedWell: no NodeClaim has an instance without a finalizer.
func (i *invariants) launchedWell(claim *v1.NodeClaim) {
	var conditions []string
	for _, c := range claim.Status.Conditions {
		conditions = append(conditions, c.Type)
	}
	i.bounded(claim, conditions, nil)
	if claim.Status.ProviderID != "" && claim.DeletionTimestamp == nil && !controllerutil.ContainsFinalizer(claim, v1.TerminationFinalizer) {
		i.violated("launched without a finalizer", "%s", claim.Name)
	}
}

// registeredWell: the Node of a NodeClaim that has just registered has a finalizer and its owner, and is open.
func (i *invariants) registeredWell(old, claim *v1.NodeClaim) {
	if old == nil || condition.Status(old, v1.ConditionTypeRegistered) == metav1.ConditionTrue || condition.Status(claim, v1.ConditionTypeRegistered) != metav1.ConditionTrue {
		return
	}
	node := i.nodes[claim.Status.NodeName]
	if node == nil || node.DeletionTimestamp != nil {
		return
	}
	owned := false
	for _, owner := range node.OwnerReferences {
		owned = owned || owner.UID == claim.UID
	}
	switch {
	case !controllerutil.ContainsFinalizer(node, v1.TerminationFinalizer):
		i.violated("registered without a finalizer", "%s", node.Name)
	case !owned:
		i.violated("registered without its owner", "%s", node.Name)
	case hasTaint(node, v1.UnregisteredNoExecuteTaint()) || node.Labels[v1.NodeRegisteredLabelKey] != "true":
		i.violated("registered and not open", "%s", node.Name)
	}
}

// initializedWell: a NodeClaim is initialized when its Node is ready.
func (i *invariants) initializedWell(old, claim *v1.NodeClaim) {
	if old == nil || condition.Status(old, v1.ConditionTypeInitialized) == metav1.ConditionTrue || condition.Status(claim, v1.ConditionTypeInitialized) != metav1.ConditionTrue {
		return
	}
	node := i.nodes[claim.Status.NodeName]
	if node == nil || node.DeletionTimestamp != nil {
		return
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && node.Labels[v1.NodeInitializedLabelKey] == "true" {
			return
		}
	}
	i.violated("initialized and not ready", "%s", node.Name)
}

// created: limits.nodes of a pool holds with the NodeClaims that are still to be launched, unless two processes act.
func (i *invariants) created(claim *v1.NodeClaim) {
	pool := i.pools[claim.Labels[v1.NodePoolLabelKey]]
	if pool == nil {
		return
	}
	limit, limited := pool.Spec.Limits.Nodes()
	n := int64(1)
	for _, other := range i.claims {
		// A static pool counts what is being deleted, too: it keeps a place until it is gone. Other pools may launch the replacement of a node
		// before that is deleted.
		leaves := other.DeletionTimestamp != nil || condition.Status(other, v1.ConditionTypeDisruptionReason) == metav1.ConditionTrue
		if other.UID != claim.UID && other.Labels[v1.NodePoolLabelKey] == pool.Name && (pool.Spec.Replicas != nil || !leaves) {
			n++
		}
	}
	if limited && n > limit && !i.cluster.contested() {
		i.violated("limit of nodes", "%s is NodeClaim %d of %s, the limit is %d", claim.Name, n, pool.Name, limit)
	}
}

// cost: the NodeClaims that are launched stay within the cap.
func (i *invariants) cost() float64 {
	sum := 0.0
	for _, claim := range i.claims {
		if claim.Status.ProviderID == "" || i.cluster.Datacenter.Instances()[claim.Status.ProviderID] == nil {
			continue
		}
		sum += i.cluster.Datacenter.price(claim)
	}
	return sum
}

func (d *Datacenter) price(claim *v1.NodeClaim) float64 {
	for _, t := range d.types {
		if t.Name != claim.Labels[corev1.LabelInstanceTypeStable] {
			continue
		}
		for j := range t.Offerings {
			if o := &t.Offerings[j]; o.Zone() == claim.Labels[corev1.LabelTopologyZone] && o.CapacityType() == claim.Labels[v1.CapacityTypeLabelKey] {
				return o.Price
			}
		}
	}
	return 0
}

// endedFor: an instance is ended for a NodeClaim that is deleted, or for none.
func (i *invariants) endedFor(owner types.UID, id string) {
	if claim := i.claims[owner]; claim != nil && claim.DeletionTimestamp == nil {
		i.violated("instance of a NodeClaim ended", "%s of %s", id, claim.Name)
	}
}

// expired: NodeClaims do not outlive their age.
func (i *invariants) expired() {
	for _, claim := range i.claims {
		if age := claim.Spec.ExpireAfter.Duration; age != nil && claim.DeletionTimestamp == nil && time.Since(claim.CreationTimestamp.Time) > *age+expiryBound+i.cluster.Faults.MaxJump {
			i.violated("expired NodeClaim stays", "%s", claim.Name)
		}
	}
}

// unsettled says what of pools and marks is not as it should be at rest.
func (i *invariants) unsettled() (out []string) {
	counts, pods := map[string]int64{}, map[string]int{}
	for _, pod := range i.pods {
		pods[pod.Spec.NodeName]++
	}
	for _, claim := range i.claims {
		pool := i.pools[claim.Labels[v1.NodePoolLabelKey]]
		if pool == nil {
			continue
		}
		if d := i.cluster.Datacenter; d.instance(claim.Status.ProviderID) != nil && d.instance(claim.Status.ProviderID).Image != d.image {
			out = append(out, "NodeClaim "+claim.Name+" has an old image")
		}
		if counts[pool.Name]++; claim.Annotations[v1.NodePoolHashAnnotationKey] != pool.Hash() {
			out = append(out, "NodeClaim "+claim.Name+" is of an old template")
		}
		if isRebooting(claim) {
			out = append(out, "NodeClaim "+claim.Name+" reboots")
		}
		if condition.Status(claim, v1.ConditionTypeDisruptionReason) == metav1.ConditionTrue {
			out = append(out, "NodeClaim "+claim.Name+" has a mark of disruption")
		}
		if pods[claim.Status.NodeName] == 0 && pool.Spec.Replicas == nil && i.cluster.User.scene.Buffer == 0 {
			out = append(out, "node "+claim.Status.NodeName+" is empty")
		}
	}
	for name, pool := range i.pools {
		if n := pool.Spec.Replicas; n != nil && counts[name] != *n {
			out = append(out, fmt.Sprintf("static pool %s has %d nodes, not %d", name, counts[name], *n))
		}
		if used := pool.Status.Resources[v1.ResourceNodes]; used.Value() != counts[name] {
			out = append(out, fmt.Sprintf("pool %s shows %d nodes, not %d", name, used.Value(), counts[name]))
		}
		if condition.Status(pool, v1.ConditionTypeReady) != metav1.ConditionTrue {
			out = append(out, "pool "+name+" is not ready")
		}
	}
	return out
}
