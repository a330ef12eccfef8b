package sim

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

const (
	// retryBound is how long a launch that failed may wait for the next attempt: the backoff is a minute at most, and a process may be down.
	retryBound = 2 * time.Minute
	// recordBound is how long the instance of a launch may be missing in its NodeClaim.
	recordBound = 5 * time.Minute
	// readyBound is how long a NodePool may not be ready although its NodeClass is.
	readyBound = 2 * time.Minute
	// mostRefusals is how often the launch of one NodeClaim may find no capacity: it is deleted after the first time, which may fail.
	mostRefusals = 4
)

// mild reports whether most calls succeed: bounds on what has to be retried hold then only.
func (f *Faults) mild() bool {
	return f.Conflict+f.Throttle+f.Refuse+f.Lose < 0.4 && f.LostLaunch+f.CloudError < 0.3
}

// perfect reports whether no call fails.
func (f *Faults) perfect() bool {
	return f.Conflict+f.Throttle+f.Refuse+f.Lose+f.Crash+f.Handover+f.NoLease+f.Freeze+f.Relist+f.Stall+f.Duplicate+f.ClockJump+f.NoCapacity+f.CloudError+f.LostLaunch+f.NoBoot == 0
}

// launches checks that launches are repeated until they are recorded, and not after there was no capacity.
func (i *invariants) launches() {
	d := i.cluster.Datacenter
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, claim := range i.claims {
		if claim.DeletionTimestamp != nil || claim.Status.ProviderID != "" {
			continue
		}
		tried, known := d.attempts[claim.UID]
		if !known {
			tried.last = claim.CreationTimestamp.Time
		}
		if tried.refused > mostRefusals && i.cluster.Faults.mild() {
			i.violated("launched again without capacity", "%s, after %d answers", claim.Name, tried.refused)
		}
		switch id := d.byClaim[claim.UID]; {
		case id == "" && time.Since(tried.last) > retryBound:
			i.violated("launch not repeated", "%s", claim.Name)
		case id != "" && d.instances[id] != nil && time.Since(d.instances[id].Launched) > recordBound && i.cluster.Faults.mild():
			i.violated("launch not recorded", "%s", claim.Name)
		}
	}
}

// labeled: a launched NodeClaim has the labels of its instance.
func (i *invariants) labeled(claim *v1.NodeClaim) {
	instance := i.cluster.Datacenter.instance(claim.Status.ProviderID)
	if instance == nil || claim.DeletionTimestamp != nil {
		return
	}
	for _, key := range []string{corev1.LabelInstanceTypeStable, corev1.LabelTopologyZone, v1.CapacityTypeLabelKey} {
		if claim.Labels[key] != instance.Claim.Labels[key] {
			i.violated("launched without its labels", "%s has %s=%q, its instance %q", claim.Name, key, claim.Labels[key], instance.Claim.Labels[key])
		}
	}
}

// opened: a Node takes pods once its NodeClaim has its provider ID, by which a deletion finds the Node to drain.
func (i *invariants) opened(old, node *corev1.Node) {
	if node.Labels[v1.NodeRegisteredLabelKey] != "true" || old != nil && old.Labels[v1.NodeRegisteredLabelKey] == "true" {
		return
	}
	instance := i.cluster.Datacenter.instance(node.Spec.ProviderID)
	if instance == nil {
		return
	}
	if claim := i.claims[instance.Owner]; claim != nil && claim.Status.ProviderID != node.Spec.ProviderID {
		i.violated("registered before its instance was recorded", "%s of %s", node.Name, claim.Name)
	}
}

// sent checks a patch that a process sends: it replaces a list only if it has read it.
func (i *invariants) sent(o client.Object, p client.Patch) {
	if p.Type() != types.MergePatchType {
		return
	}
	data, err := p.Data(o)
	if err != nil {
		return
	}
	var content struct {
		Metadata struct {
			ResourceVersion             string
			Finalizers, OwnerReferences []any
		}
		Spec   struct{ Taints []any }
		Status struct{ Conditions []any }
	}
	if json.Unmarshal(data, &content) != nil || content.Metadata.ResourceVersion != "" {
		return
	}
	if content.Metadata.Finalizers != nil || content.Metadata.OwnerReferences != nil || content.Spec.Taints != nil || content.Status.Conditions != nil {
		i.violated("list replaced unread", "%T %s: %s", o, o.GetName(), data)
	}
}

// ready: NodePools become ready.
func (i *invariants) ready() {
	for name, pool := range i.pools {
		if condition.Status(pool, v1.ConditionTypeReady) == metav1.ConditionTrue {
			delete(i.unready, name)
			continue
		}
		if since, known := i.unready[name]; !known {
			i.unready[name] = time.Now()
		} else if time.Since(since) > readyBound {
			i.violated("NodePool not ready", "%s", name)
		}
	}
}
