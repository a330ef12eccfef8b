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
type claim struct {
	t     *template
	state stateID
	// trial marks a piece of a repacking, most of which are given up.
	trial bool
	// mask is the columns that can still hold everything put in. It is the claim's own.
	mask bitset.Set
	// total is what the pods ask for of the resources that somebody wants, without daemons.
	total resource.Vector
	// slack is an upper bound on what any candidate has left, by resource; the least one, but for trials.
	slack resource.Vector
	fills []fill
	// ports are those that its pods claim.
	ports []model.HostPort
	// volumes are those that its pods will have attached; counted where a pool's machines have few slots.
	volumes volume.Attached
	// lowered are demands for distinct values, by key, that the claim need not meet in full.
	lowered map[int]int
	// held are the reservations that the claim may be launched from.
	held []int
	// devices is the claim's name among those who hold devices; empty while it holds none.
	devices string
	// charged is what the pool's limits were reduced by for this claim.
	charged []int64
}

// fill is pods of one class put into a claim in one go, at one stage and in the form of their question that the claim accepted.
type fill struct {
	stage *stage
	form  *conjunction
	pods  []*model.Pod
}

func (f fill) class() *class { return f.stage.class }

// open is an empty claim limited to the columns in mask.
func (t *template) open(mask bitset.Set) *claim { return t.openIn(t.root, mask) }

// openIn is an empty claim in a state, limited to the columns in mask.
func (t *template) openIn(state stateID, mask bitset.Set) *claim {
	cl := t.blank(state, mask)
	cl.measure()
	return cl
}

// blank is an empty claim whose slack is not known.
func (t *template) blank(state stateID, mask bitset.Set) *claim {
	var cl *claim
	if last := len(t.spare) - 1; last >= 0 {
		cl, t.spare = t.spare[last], t.spare[:last]
	} else {
		width := 1
		if last := len(t.wanted) - 1; last >= 0 {
			width += t.wanted[last]
		}
		amounts := make(resource.Vector, 2*width)
		cl = &claim{total: amounts[:width:width], slack: amounts[width:]}
	}
	*cl = claim{
		t: t, state: state, mask: append(cl.mask[:0], mask...),
		total: cl.total, slack: cl.slack, fills: cl.fills[:0], ports: cl.ports[:0],
	}
	clear(cl.total)
	return cl
}

// recycle takes claims back that were opened for a trial and that nobody holds: right-sizing tries far more than it keeps.
func (t *template) recycle(claims []*claim) { t.spare = append(t.spare, claims...) }

// measure recomputes slack.
func (cl *claim) measure() {
	for _, r := range cl.t.wanted {
		cl.slack[r] = cl.t.shelf(r).largest(cl.mask) - cl.total.At(r)
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
	lowered map[int]int
	// allotment is what the pods' claims would get; nil for pods without any.
	allotment *device.Proposal
	// putOff is set when nothing is offered because others hold the reservations that the claim could be launched from.
	putOff bool
}

// considerAny is the offer for the first of the forms that the claim accepts.
func (cl *claim) considerAny(c *class, forms []*conjunction, n int) offer {
	var last offer
	for _, form := range forms {
		if last = cl.consider(c, form, n); last.pods > 0 {
			return last
		}
	}
	return last
}

// consider works out how many of n pods of the class the claim can take, without taking them.
func (cl *claim) consider(c *class, form *conjunction, n int) offer {
	if !c.roomy(cl.slack) {
		return offer{}
	}
	if _, taken := model.FirstConflict(c.shape.HostPorts, cl.ports); taken {
		return offer{}
	}
	to := cl.t.step(cl.state, form)
	if to == refused {
		return offer{}
	}
	n = c.most(n)
	next := cl.t.states[to]
	candidates := cl.t.candidates
	candidates.Intersect(cl.mask, next.mask)
	if len(c.shape.HostPorts) > 0 {
		candidates.Intersect(candidates, cl.t.portsFree(c))
	}
	best, fitting := cl.most(c, candidates, n)
	if best == 0 {
		return offer{}
	}
	o := offer{form: form, state: to, pods: best, lowered: cl.lowered}
	if len(next.minimums) > 0 || cl.t.reservations.mode != ReservedIgnored {
		o = cl.keep(o, next, func(n int) bitset.Set { return cl.left(c, candidates, n) })
	}
	switch {
	case o.pods == 0:
	case o.pods == best && fitting != nil:
		o.mask = cl.t.offered.CopyFrom(fitting)
	default:
		cl.fitting(c, candidates, o.pods)
		o.mask = cl.t.offered.CopyFrom(candidates)
	}
	return o
}

// keep cuts an offer down to as many pods as leave enough distinct values and, where one could be used, a reservation.
// left is the candidates that n pods leave. Fewer pods leave more, so the number is found by bisection.
func (cl *claim) keep(o offer, next *state, left func(n int) bitset.Set) offer {
	rs, trial := cl.t.reservations, *cl
	if len(cl.fills) == 0 && cl.t.bestEffort {
		o.lowered = cl.lower(next, left(1))
		trial.lowered = o.lowered
	}
	reserved := false
	if rs.mode == ReservedStrict {
		compatible := rs.compatible(cl.t, next.kinds, left(1))
		reserved = len(compatible) > 0 || len(cl.held) > 0
		if reserved && len(rs.reservable(cl, compatible)) == 0 {
			return offer{putOff: true}
		}
	}
	spare := sort.Search(o.pods, func(spare int) bool {
		mask := left(o.pods - spare)
		return len(trial.unmet(next, mask)) == 0 &&
			(!reserved || len(rs.reservable(cl, rs.compatible(cl.t, next.kinds, mask))) > 0)
	})
	o.pods -= spare
	return o
}

// put takes the pods of an accepted offer into the claim.
func (cl *claim) put(c *class, st *stage, o offer, pods []*model.Pod) {
	copy(cl.mask, o.mask)
	cl.state, cl.lowered = o.state, o.lowered
	for _, need := range c.needs {
		cl.total[need.resource] += resource.MulSaturated(need.amount, int64(len(pods)))
	}
	if last := len(cl.fills) - 1; last >= 0 && cl.fills[last].stage == st && cl.fills[last].form == o.form {
		cl.fills[last].pods = slices.Concat(cl.fills[last].pods, pods)
	} else {
		cl.fills = append(cl.fills, fill{st, o.form, pods})
	}
	cl.ports = append(cl.ports, c.shape.HostPorts...)
	if cl.t.attaches(c) {
		for _, p := range pods {
			cl.volumes.Add(p.Attachments())
		}
	}
	if !cl.trial {
		cl.measure()
		return
	}
	for _, need := range c.needs {
		cl.slack[need.resource] -= need.amount * int64(len(pods))
	}
}

// repels reports whether a taint of the pool keeps the class away.
func (t *template) repels(c *class, st *stage) (model.Taint, bool) {
	return model.Untolerated(t.pool.Taints, c.shape.Tolerations, st.tolerant)
}

// pods are all pods of the claim in the order they were put in.
func (cl *claim) pods() []*model.Pod {
	if len(cl.fills) == 1 {
		return slices.Clip(cl.fills[0].pods)
	}
	n := 0
	for _, f := range cl.fills {
		n += len(f.pods)
	}
	out := make([]*model.Pod, 0, n)
	for _, f := range cl.fills {
		out = append(out, f.pods...)
	}
	return out
}
