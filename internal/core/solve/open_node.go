package solve

import (
	"slices"
	"sort"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

// claim is a machine to be asked for that is still being filled.
type openNode struct {
	t     *template
	state stateID
	// trial marks a piece of a repacking, most of which are given up.
	trial bool
	// mask is the columns that can still hold everything put in. It is the claim's own.
	mask bitset.Set
	// total is what the pods ask for of the resources that somebody wants, without daemons.
	total resource.Vector
	// slack is an upper bound on what any candidate has left, by resource; the least one, but for trials.
	slack   resource.Vector
	batches []batch
	// ports are those that its pods claim.
	ports []model.HostPort
	// volumes are those that its pods will have attached; counted where a pool's machines have few slots.
	volumes volume.Attached
	// lowered are demands for distinct values, by key, that the claim need not meet in full.
	relaxedMinValues map[int]int
	// held are the reservations that the claim may be launched from.
	held []int
	// devices is the claim's name among those who hold devices; empty while it holds none.
	devices string
	// charged is what the pool's limits were reduced by for this claim.
	charged []int64
}

// open is an empty claim limited to the columns in mask.
func (t *template) newOpenNode(mask bitset.Set) *openNode { return t.newOpenNodeIn(t.root, mask) }

// openIn is an empty claim in a state, limited to the columns in mask.
func (t *template) newOpenNodeIn(state stateID, mask bitset.Set) *openNode {
	on := t.blankOpenNode(state, mask)
	on.updateSlack()
	return on
}

// blank is an empty claim whose slack is not known.
func (t *template) blankOpenNode(state stateID, mask bitset.Set) *openNode {
	var on *openNode
	if last := len(t.freeList) - 1; last >= 0 {
		on, t.freeList = t.freeList[last], t.freeList[:last]
	} else {
		width := 1
		if last := len(t.wanted) - 1; last >= 0 {
			width += t.wanted[last]
		}
		amounts := make(resource.Vector, 2*width)
		on = &openNode{total: amounts[:width:width], slack: amounts[width:]}
	}
	*on = openNode{
		t: t, state: state, mask: append(on.mask[:0], mask...),
		total: on.total, slack: on.slack, batches: on.batches[:0], ports: on.ports[:0],
	}
	clear(on.total)
	return on
}

// recycle takes claims back that were opened for a trial and that nobody holds: right-sizing tries far more than it keeps.
func (t *template) free(open []*openNode) { t.freeList = append(t.freeList, open...) }

// measure recomputes slack.
func (on *openNode) updateSlack() {
	for _, r := range on.t.wanted {
		on.slack[r] = on.t.capacityIndex(r).largest(on.mask) - on.total.At(r)
	}
}

// offer is what a bin would become by taking pods of a class. Its memory may be used for one offer after another.
type offer struct {
	// pods is how many of the pods the bin takes.
	pods int
	// form, state, mask and relaxedMinValues are those of the open node, were the offer accepted.
	form             *conjunction
	state            stateID
	mask             bitset.Set
	relaxedMinValues map[int]int
	// devices is what the pods' ResourceClaims would get; nil for pods without any.
	devices *device.Proposal
	// deferred is set when nothing is offered because other open nodes hold the reservations that this one could be launched
	// from.
	deferred bool
}

func (o *offer) reset() { *o = offer{mask: o.mask[:0]} }

// considerAny makes o the offer for the first of the forms that the open node accepts.
func (on *openNode) considerAny(o *offer, c *class, forms []*conjunction, n int) {
	for _, form := range forms {
		if on.consider(o, c, form, n); o.pods > 0 {
			return
		}
	}
}

// consider makes o the offer for as many of n pods of the class as the open node can take, without taking them.
func (on *openNode) consider(o *offer, c *class, form *conjunction, n int) {
	o.reset()
	if !c.mayFit(on.slack) {
		return
	}
	if _, taken := model.FirstConflict(c.shape.HostPorts, on.ports); taken {
		return
	}
	to := on.t.step(on.state, form)
	if to == noState {
		return
	}
	n = c.maxPerNode(n)
	next := on.t.states[to]
	candidates := on.t.candidates
	candidates.Intersect(on.mask, next.mask)
	if len(c.shape.HostPorts) > 0 {
		candidates.Intersect(candidates, on.t.portsFree(c))
	}
	best, fitting := on.maxPods(c, candidates, n)
	if best == 0 {
		return
	}
	o.form, o.state, o.pods, o.relaxedMinValues = form, to, best, on.relaxedMinValues
	if len(next.minimums) > 0 || on.t.reservations.mode != ReservedIgnored {
		on.cutOffer(o, next, func(n int) bitset.Set { return on.remaining(c, candidates, n) })
	}
	switch {
	case o.pods == 0:
	case o.pods == best && fitting != nil:
		o.mask = append(o.mask, fitting...)
	default:
		on.fitting(c, candidates, o.pods)
		o.mask = append(o.mask, candidates...)
	}
}

// fitting narrows candidates, in place, to those that can hold n more pods of the class beside those of the open node, and
// reports whether any can.
func (on *openNode) fitting(c *class, candidates bitset.Set, n int) bool {
	for _, need := range c.needs {
		if !on.t.capacityIndex(need.resource).narrow(candidates, on.total.At(need.resource)+need.amount*int64(n)) {
			return false
		}
	}
	return len(c.needs) > 0 || !candidates.Empty()
}

// maxPods is how many of n pods of the class the candidate with the most capacity for them can hold. When that is known at
// once, fitting is the candidates that can, in scratch memory of the template.
func (on *openNode) maxPods(c *class, candidates bitset.Set, n int) (most int, fitting bitset.Set) {
	for _, need := range c.needs {
		n = min(n, int(max(on.slack.At(need.resource), 0)/need.amount))
	}
	scratch := on.t.scratch
	holds := func(n int) bool {
		copy(scratch, candidates)
		return on.fitting(c, scratch, n)
	}
	if n == 0 || holds(n) {
		return n, scratch
	}
	return sort.Search(n-1, func(i int) bool { return !holds(i + 1) }), nil
}

// remaining is the candidates that can hold n more pods of the class.
func (on *openNode) remaining(c *class, candidates bitset.Set, n int) bitset.Set {
	out := candidates.Clone()
	on.fitting(c, out, n)
	return out
}

// cutOffer cuts an offer down to as many pods as leave enough distinct values and, where one could be used, a reservation.
// remaining is the candidates that n pods leave. Fewer pods leave more, so the number is found by bisection.
func (on *openNode) cutOffer(o *offer, next *state, remaining func(n int) bitset.Set) {
	rs, trial := on.t.reservations, *on
	if len(on.batches) == 0 && on.t.bestEffort {
		o.relaxedMinValues = on.relaxMinValues(next, remaining(1))
		trial.relaxedMinValues = o.relaxedMinValues
	}
	reserved := false
	if rs.mode == ReservedStrict {
		compatible := rs.compatible(on.t, next.kinds, remaining(1))
		reserved = len(compatible) > 0 || len(on.held) > 0
		if reserved && len(rs.reservable(on, compatible)) == 0 {
			o.reset()
			o.deferred = true
			return
		}
	}
	fewer := sort.Search(o.pods, func(fewer int) bool {
		mask := remaining(o.pods - fewer)
		return len(trial.unmet(next, mask)) == 0 &&
			(!reserved || len(rs.reservable(on, rs.compatible(on.t, next.kinds, mask))) > 0)
	})
	o.pods -= fewer
}

// put takes the pods of an accepted offer into the claim.
func (on *openNode) put(c *class, st *level, o *offer, pods []*model.Pod) {
	copy(on.mask, o.mask)
	on.state, on.relaxedMinValues = o.state, o.relaxedMinValues
	for _, need := range c.needs {
		on.total[need.resource] += resource.MulSaturated(need.amount, int64(len(pods)))
	}
	if last := len(on.batches) - 1; last >= 0 && on.batches[last].level == st && on.batches[last].form == o.form {
		on.batches[last].pods = slices.Concat(on.batches[last].pods, pods)
	} else {
		on.batches = append(on.batches, batch{st, o.form, pods})
	}
	on.ports = append(on.ports, c.shape.HostPorts...)
	if on.t.attaches(c) {
		for _, p := range pods {
			on.volumes.Add(p.Attachments())
		}
	}
	if !on.trial {
		on.updateSlack()
		return
	}
	for _, need := range c.needs {
		on.slack[need.resource] -= need.amount * int64(len(pods))
	}
}

// repels reports whether a taint of the pool keeps the class away.
func (t *template) repels(c *class, st *level) (model.Taint, bool) {
	return model.Untolerated(t.pool.Taints, c.shape.Tolerations, st.tolerant)
}

// pods are all pods of the claim in the order they were put in.
func (on *openNode) pods() []*model.Pod {
	if len(on.batches) == 1 {
		return slices.Clip(on.batches[0].pods)
	}
	n := 0
	for _, f := range on.batches {
		n += len(f.pods)
	}
	out := make([]*model.Pod, 0, n)
	for _, f := range on.batches {
		out = append(out, f.pods...)
	}
	return out
}

// indivisible reports whether on is to stay as it is: it may be launched from a reservation, or some of its pods must share a
// machine with others.
func (on *openNode) indivisible() bool {
	return on.t.reservations.concern(on) || slices.ContainsFunc(on.batches, func(f batch) bool { return f.level.hostAffinity || on.t.attaches(f.class()) })
}

// floats reports whether on is not bound yet to a domain in which pods of the class would count. Pods that do not care where
// they are go there first: elsewhere they would upset the balance of those that do.
func (on *openNode) floats(c *class) bool {
	st := on.t.states[on.state]
	return !slices.ContainsFunc(c.uncountedKeys, func(key int) bool { return on.t.decided(st, key) })
}
