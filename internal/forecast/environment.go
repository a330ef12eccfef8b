package forecast

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// launch creates a NodeClaim of a pool, whose node is initialized after the time of a launch. It returns false where nothing that the NodeClaim
// allows is available.
func (r *run) launch(ctx context.Context, pool string, claim *v1.NodeClaim) (Node, bool, error) {
	offerings, ok := r.offerings[pool]
	if !ok {
		types, err := r.cluster.Builder().Cloud.Provider.InstanceTypes(ctx, r.cluster.Pools()[pool])
		if err != nil {
			return Node{}, false, fmt.Errorf("listing the instance types of nodepool %q: %w", pool, err)
		}
		offerings = cloud.NewOfferingList(types, r.cloud.Labels)
		r.offerings[pool] = offerings
	}
	for key, value := range simulation.PoolHash(r.cluster.Pools()[pool]) {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, key, value)
	}
	if err := r.cluster.Admit(claim); err != nil {
		r.note("some nodes are not launched because of a cap on cost: %v", err)
		return Node{}, false, nil
	}
	chosen, ok := cheapest(claim, offerings)
	if !ok {
		r.note("NodePool %q cannot launch what was planned for it: no offering that the NodeClaim allows is available", pool)
		return Node{}, false, nil
	}
	r.world.create(claim, r.cluster.Pools()[pool], r.now)
	r.cluster.UpdateNodeClaim(claim.DeepCopy())
	r.wake()
	r.plan(r.now.Add(r.out.Launch), func() { r.join(claim.Name, chosen) })
	return Node{
		Name: claim.Name, Pool: pool, InstanceType: chosen.Type.Name, Zone: chosen.Offering.Zone(), CapacityType: chosen.Offering.CapacityType(),
		Price: chosen.Offering.Price, Spec: claim.Spec,
	}, true, nil
}

// cheapest is the cheapest offering that a NodeClaim allows; false if there is none.
func cheapest(claim *v1.NodeClaim, offerings *cloud.OfferingList) (cloud.Candidate, bool) {
	var chosen cloud.Candidate
	for c := range offerings.Candidates(claim) {
		if chosen.Type == nil || chosen.Type.Exotic && !c.Type.Exotic && c.Offering.Price <= chosen.Offering.Price {
			chosen = c
		}
	}
	return chosen, chosen.Type != nil
}

// join makes an initialized node of a NodeClaim, unless this was deleted meanwhile.
func (r *run) join(name string, chosen cloud.Candidate) {
	claim := r.world.claims[name]
	if claim == nil || claim.DeletionTimestamp != nil {
		return
	}
	node := r.world.join(claim, chosen, r.now)
	r.cluster.UpdateNodeClaim(claim.DeepCopy())
	r.cluster.UpdateNode(node)
	r.wake()
	r.unsettled = true
}

// deleteClaim deletes a NodeClaim: its pods leave, and the node is gone when it is drained. moves counts the pods by workload.
func (r *run) deleteClaim(node, claim string, drain time.Duration, moves map[simulation.Owner]int) {
	c := r.world.claims[claim]
	if c == nil {
		return
	}
	at := metav1.NewTime(r.now)
	c.DeletionTimestamp = &at
	r.cluster.UpdateNodeClaim(c.DeepCopy())
	r.wake()
	gone := func() {
		r.ending--
		r.remove(node, claim)
		r.unsettled = true
	}
	r.plan(r.now.Add(reaction), func() {
		evict(r, node, moves)
		r.unsettled = true
		if drain == 0 {
			gone()
		} else {
			r.plan(r.now.Add(drain), gone)
		}
	})
}

// evict lets the pods of a node leave that run elsewhere afterwards: their owners create others in their place. It counts them in moves.
func evict(r *run, name string, moves map[simulation.Owner]int) {
	for _, n := range r.cluster.Snapshot().Nodes.Sorted() {
		if n.NodeName != name || name == "" {
			continue
		}
		for _, p := range n.Pods {
			if p.Reschedulable && !p.Virtual {
				moves[r.owner(p)]++
				recreate(r, p)
			}
		}
	}
}

// recreate replaces a pod by another one of its owner, which waits for a node.
func recreate(r *run, p *model.Pod) {
	pod := r.world.pods[types.UID(p.UID)]
	if pod == nil {
		return
	}
	next := r.world.recreate(pod, r.now)
	r.owners[string(next.UID)] = r.owner(p)
	r.cluster.RemovePod(p.UID)
	r.cluster.UpdatePod(next)
}

// owner is the workload of a pod.
func (r *run) owner(p *model.Pod) simulation.Owner {
	if o, ok := r.owners[p.UID]; ok {
		return o
	}
	return r.cluster.Result().Owner(p)
}

// remove removes a node, its NodeClaim, and the pods that stayed on it.
func (r *run) remove(node, claim string) {
	for _, uid := range r.world.remove(node, claim) {
		r.cluster.RemovePod(uid)
	}
	r.cluster.RemoveNode(node, claim)
	r.wake()
}

// schedule starts the pods that are pending where nodes have capacity; the others wait for a launch.
func (r *run) schedule(ctx context.Context) error {
	placements, err := r.cluster.Schedule(ctx, r.now)
	if err != nil {
		return err
	}
	for _, at := range placements {
		for _, p := range at.Pods {
			if pod := r.world.bind(p.UID, at.Node.NodeName, r.now); pod != nil {
				r.cluster.UpdatePod(pod)
			}
		}
		if claim := r.world.claims[at.Node.ClaimName]; claim != nil {
			claim.Status.LastPodEventTime = seconds(r.now)
			r.cluster.UpdateNodeClaim(claim.DeepCopy())
			r.wake()
		}
	}
	r.mark()
	for uid := range r.cluster.Snapshot().Pending.All() {
		if !r.asked[uid] {
			r.asked[uid] = true
			r.trigger(uid)
		}
	}
	return nil
}

// seconds is a time as the API server stores it.
func seconds(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// taint adds a taint to a node.
func (r *run) taint(name string, taint corev1.Taint) {
	if node := r.world.taint(name, taint); node != nil {
		r.cluster.UpdateNode(node)
		r.trigger(string(node.UID))
		r.wake()
	}
}

// mark sets the conditions of NodeClaims that depend on the time and on their NodePools.
func (r *run) mark() {
	for _, claim := range r.world.mark(r.now) {
		r.cluster.UpdateNodeClaim(claim.DeepCopy())
		r.wake()
	}
}

func (r *run) gracePeriod() *metav1.Duration {
	if r.cloud.DefaultTerminationGracePeriod == nil {
		return nil
	}
	return &metav1.Duration{Duration: *r.cloud.DefaultTerminationGracePeriod}
}
