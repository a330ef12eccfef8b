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

// fill is pods of one class put into a claim in one go, at one stage and in the form of their question that the claim accepted.
type batch struct {
	level *level
	form  *conjunction
	pods  []*model.Pod
}

func (f batch) class() *class { return f.level.class }

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

// offer is what a claim would become by taking pods of a class.
type offer struct {
	form  *conjunction
	state stateID
	// mask is the template's and valid until the next offer.
	mask bitset.Set
	pods int
	// lowered are the demands for distinct values as they would be.
	relaxedMinValues map[int]int
	// allotment is what the pods' claims would get; nil for pods without any.
	allotment *device.Proposal
	// deferred is set when nothing is offered because others hold the reservations that the claim could be launched from.
	deferred bool
}

// considerAny is the offer for the first of the forms that the claim accepts.
func (on *openNode) considerAny(c *class, forms []*conjunction, n int) offer {
	var last offer
	for _, form := range forms {
		if last = on.consider(c, form, n); last.pods > 0 {
			return last
		}
	}
	return last
}

// consider works out how many of n pods of the class the claim can take, without taking them.
func (on *openNode) consider(c *class, form *conjunction, n int) offer {
	if !c.mayFit(on.slack) {
		return offer{}
	}
	if _, taken := model.FirstConflict(c.shape.HostPorts, on.ports); taken {
		return offer{}
	}
	to := on.t.step(on.state, form)
	if to == noState {
		return offer{}
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
		return offer{}
	}
	o := offer{form: form, state: to, pods: best, relaxedMinValues: on.relaxedMinValues}
	if len(next.minimums) > 0 || on.t.reservations.mode != ReservedIgnored {
		o = on.cutOffer(o, next, func(n int) bitset.Set { return on.remaining(c, candidates, n) })
	}
	switch {
	case o.pods == 0:
	case o.pods == best && fitting != nil:
		o.mask = on.t.offered.CopyFrom(fitting)
	default:
		on.fitting(c, candidates, o.pods)
		o.mask = on.t.offered.CopyFrom(candidates)
	}
	return o
}

// keep cuts an offer down to as many pods as leave enough distinct values and, where one could be used, a reservation.
// left is the candidates that n pods leave. Fewer pods leave more, so the number is found by bisection.
func (on *openNode) cutOffer(o offer, next *state, left func(n int) bitset.Set) offer {
	rs, trial := on.t.reservations, *on
	if len(on.batches) == 0 && on.t.bestEffort {
		o.relaxedMinValues = on.relaxMinValues(next, left(1))
		trial.relaxedMinValues = o.relaxedMinValues
	}
	reserved := false
	if rs.mode == ReservedStrict {
		compatible := rs.compatible(on.t, next.kinds, left(1))
		reserved = len(compatible) > 0 || len(on.held) > 0
		if reserved && len(rs.reservable(on, compatible)) == 0 {
			return offer{deferred: true}
		}
	}
	fewer := sort.Search(o.pods, func(fewer int) bool {
		mask := left(o.pods - fewer)
		return len(trial.unmet(next, mask)) == 0 &&
			(!reserved || len(rs.reservable(on, rs.compatible(on.t, next.kinds, mask))) > 0)
	})
	o.pods -= fewer
	return o
}

// put takes the pods of an accepted offer into the claim.
func (on *openNode) put(c *class, st *level, o offer, pods []*model.Pod) {
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
