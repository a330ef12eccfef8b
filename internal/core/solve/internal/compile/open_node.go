package compile

import (
	"slices"
	"sort"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

// OpenNode is a node to be requested that is still being filled.
type OpenNode struct {
	Template *Template
	State    StateID
	// Trial marks a bin of repacking, most of which are discarded.
	Trial bool
	// Mask is the columns that can still hold all pods of the open node. No other open node shares it.
	Mask bitset.Set
	// Total is the requests of the pods for the resources that some pod requests, without daemons.
	Total resource.Vector
	// Slack is an upper bound of the capacity that any candidate has left, by resource; the least one, except for trials and where
	// pods may still narrow the node so that DaemonSets do not run on it.
	Slack   resource.Vector
	Batches []Batch
	// doubts are the pods that spreads count in several domains.
	doubts []doubt
	// ports are the host ports of its pods.
	ports []model.HostPort
	// volumes are those of its pods; counted where a pool's instance types have attach limits.
	volumes volume.Attached
	// RelaxedMinValues are minValues, by key, that the open node need not meet in full.
	RelaxedMinValues map[int]int
	// reservations are those that the open node could be launched from, held the ones that it holds an instance of.
	reservations, held []int
	// Devices is the open node's name in the allocations of devices; empty while it holds none.
	Devices string
	// charged is the capacity that is charged to the pool's limits for this open node.
	charged []int64
}

// NewOpenNode is an empty open node limited to the columns in mask.
func (t *Template) NewOpenNode(mask bitset.Set) *OpenNode { return t.NewOpenNodeIn(t.Root, mask) }

// NewOpenNodeIn is an empty open node in a state, limited to the columns in mask.
func (t *Template) NewOpenNodeIn(state StateID, mask bitset.Set) *OpenNode {
	on := t.BlankOpenNode(state, mask)
	on.UpdateSlack()
	return on
}

// BlankOpenNode is an empty open node whose slack is not known.
func (t *Template) BlankOpenNode(state StateID, mask bitset.Set) *OpenNode {
	var on *OpenNode
	if last := len(t.FreeList) - 1; last >= 0 {
		on, t.FreeList = t.FreeList[last], t.FreeList[:last]
	} else {
		width := 1
		if last := len(t.Wanted) - 1; last >= 0 {
			width += t.Wanted[last]
		}
		amounts := make(resource.Vector, 2*width)
		on = &OpenNode{Total: amounts[:width:width], Slack: amounts[width:]}
	}
	*on = OpenNode{
		Template: t, State: state, Mask: append(on.Mask[:0], mask...),
		Total: on.Total, Slack: on.Slack, Batches: on.Batches[:0], ports: on.ports[:0],
	}
	clear(on.Total)
	return on
}

// Free keeps open nodes of trials for reuse: repacking tries far more than it keeps.
func (t *Template) Free(open []*OpenNode) { t.FreeList = append(t.FreeList, open...) }

// UpdateSlack recomputes slack.
func (on *OpenNode) UpdateSlack() {
	for _, r := range on.Template.Wanted {
		on.Slack[r] = resource.SubSaturated(on.Template.Most.index(r).Largest(on.Mask), on.Total.At(r))
	}
}

// Offer is the state of a bin after taking pods of a class. Its memory may be used for one offer after another.
type Offer struct {
	// Pods is how many of the pods the bin takes.
	Pods int
	// form, state, mask and relaxedMinValues are those of the open node, were the offer accepted.
	form             *Conjunction
	State            StateID
	Mask             bitset.Set
	relaxedMinValues map[int]int
	// Devices is the proposed allocation of the pods' ResourceClaims; nil for pods without any.
	Devices *device.Proposal
	// Deferred is set when nothing is offered because other open nodes hold the reservations that this one could be launched
	// from.
	Deferred bool
	// Served is the class as devices serve it on the bin; nil for the class that the offer is for.
	Served *Class
}

// Reset makes the offer empty and keeps its memory.
func (o *Offer) Reset() { *o = Offer{Mask: o.Mask[:0]} }

// ConsiderAny makes o the offer for the first of the forms that the open node accepts.
func (on *OpenNode) ConsiderAny(o *Offer, c *Class, forms []*Conjunction, n int) {
	for _, form := range forms {
		if on.Consider(o, c, form, n); o.Pods > 0 {
			return
		}
	}
}

// Consider makes o the offer for as many of n pods of the class as the open node can take, without taking them.
func (on *OpenNode) Consider(o *Offer, c *Class, form *Conjunction, n int) {
	o.Reset()
	if !c.MayFit(on.Slack) {
		return
	}
	if _, taken := model.FirstConflict(c.Shape.HostPorts, on.ports); taken {
		return
	}
	to := on.Template.Step(on.State, form)
	if to == NoState {
		return
	}
	n = c.MaxPerNode(n)
	next := on.Template.States[to]
	candidates := on.Template.candidates
	candidates.Intersect(on.Mask, next.Mask)
	capacity := on.Template.CapacityIn(next)
	on.Template.AwayFromDaemons(candidates, next, c)
	best, fitting := on.maxPods(capacity, c, candidates, n)
	if best == 0 {
		return
	}
	o.form, o.State, o.Pods, o.relaxedMinValues = form, to, best, on.RelaxedMinValues
	if len(next.Minimums) > 0 || on.Template.Reservations.Mode != ReservedIgnored {
		on.cutOffer(o, next, func(n int) bitset.Set { return on.Remaining(capacity, c, candidates, n) })
	}
	switch {
	case o.Pods == 0:
	case o.Pods == best && fitting != nil:
		o.Mask = append(o.Mask, fitting...)
	default:
		on.Fitting(capacity, c, candidates, o.Pods)
		o.Mask = append(o.Mask, candidates...)
	}
}

// Fitting narrows candidates, in place, to those with capacity for n more pods of the class beside those of the open node, and
// reports whether there are any.
func (on *OpenNode) Fitting(capacity *NodeCapacity, c *Class, candidates bitset.Set, n int) bool {
	for _, need := range c.Needs {
		if !capacity.index(need.Resource).Narrow(candidates, resource.AddSaturated(on.Total.At(need.Resource), resource.MulSaturated(need.Amount, int64(n)))) {
			return false
		}
	}
	return len(c.Needs) > 0 || !candidates.Empty()
}

// maxPods is how many of n pods of the class the candidate with the most capacity for them can hold. When that is known at
// once, fitting is the candidates that can, in scratch memory of the template.
func (on *OpenNode) maxPods(capacity *NodeCapacity, c *Class, candidates bitset.Set, n int) (most int, fitting bitset.Set) {
	for _, need := range c.Needs {
		n = min(n, int(max(on.Slack.At(need.Resource), 0)/need.Amount))
	}
	scratch := on.Template.scratch
	holds := func(n int) bool {
		copy(scratch, candidates)
		return on.Fitting(capacity, c, scratch, n)
	}
	if n == 0 || holds(n) {
		return n, scratch
	}
	return sort.Search(n-1, func(i int) bool { return !holds(i + 1) }), nil
}

// Remaining is the candidates with capacity for n more pods of the class.
func (on *OpenNode) Remaining(capacity *NodeCapacity, c *Class, candidates bitset.Set, n int) bitset.Set {
	out := candidates.Clone()
	on.Fitting(capacity, c, out, n)
	return out
}

// cutOffer cuts an offer down to as many pods as leave enough distinct values and, where one could be used, a reservation.
// remaining is the candidates that n pods leave. Fewer pods leave more, so the number is found by bisection.
func (on *OpenNode) cutOffer(o *Offer, next *State, remaining func(n int) bitset.Set) {
	rs, trial := on.Template.Reservations, *on
	if len(on.Batches) == 0 && on.Template.BestEffort {
		o.relaxedMinValues = on.RelaxMinValues(next, remaining(1))
		trial.RelaxedMinValues = o.relaxedMinValues
	}
	reserved := false
	if rs.Mode == ReservedStrict {
		compatible := rs.compatible(on.Template, next.Kinds, remaining(1))
		reserved = len(compatible) > 0 || len(on.held) > 0
		if reserved && !rs.Serves(on, compatible) {
			o.Reset()
			o.Deferred = true
			return
		}
	}
	fewer := sort.Search(o.Pods, func(fewer int) bool {
		mask := remaining(o.Pods - fewer)
		return len(trial.Unmet(next, mask)) == 0 &&
			(!reserved || rs.Serves(on, rs.compatible(on.Template, next.Kinds, mask)))
	})
	o.Pods -= fewer
}

// Put adds the pods of an accepted offer to the open node.
func (on *OpenNode) Put(c *Class, lv *Level, o *Offer, pods []*model.Pod) {
	on.addBatch(Batch{lv, o.form, pods, servedClass(c)})
	on.ports = append(on.ports, c.Shape.HostPorts...)
	if on.Template.Attaches(c) {
		for _, p := range pods {
			on.volumes.Add(p.Attachments())
		}
	}
	on.Reserve(c, o, len(pods))
}

// AddBatch adds pods whose requests are those of the open node already.
func (on *OpenNode) AddBatch(lv *Level, form *Conjunction, pods []*model.Pod) {
	on.addBatch(Batch{Level: lv, Form: form, Pods: pods})
}

func (on *OpenNode) addBatch(f Batch) {
	last := len(on.Batches) - 1
	if last >= 0 && on.Batches[last].Level == f.Level && on.Batches[last].Form == f.Form && on.Batches[last].served == f.served {
		on.Batches[last].Pods = slices.Concat(on.Batches[last].Pods, f.Pods)
		return
	}
	on.Batches = append(on.Batches, f)
}

// Reserve adds the requests of n pods of an accepted offer to the open node, and its requirements.
func (on *OpenNode) Reserve(c *Class, o *Offer, n int) {
	copy(on.Mask, o.Mask)
	on.State, on.RelaxedMinValues = o.State, o.relaxedMinValues
	for _, need := range c.Needs {
		on.Total[need.Resource] += resource.MulSaturated(need.Amount, int64(n))
	}
	if !on.Trial {
		on.UpdateSlack()
		return
	}
	for _, need := range c.Needs {
		on.Slack[need.Resource] -= need.Amount * int64(n)
	}
}

// Hold makes total the requests of the pods of a bin of a trial, and state its state, if some of its columns have that capacity. It reports
// whether they have: nothing changes otherwise.
func (on *OpenNode) Hold(state StateID, total resource.Vector) bool {
	t, next := on.Template, on.Template.States[state]
	candidates := t.candidates
	if candidates.Intersect(on.Mask, next.Mask); !Narrow(t, next, candidates, total) {
		return false
	}
	copy(on.Mask, candidates)
	on.State = state
	for r, amount := range total {
		on.Slack[r] -= amount - on.Total[r]
		on.Total[r] = amount
	}
	return true
}

// Narrow removes the columns from candidates that cannot hold an amount of each resource on nodes in a state, and reports whether any are left.
func Narrow(t *Template, st *State, candidates bitset.Set, total resource.Vector) bool {
	capacity := t.CapacityIn(st)
	for _, r := range t.Wanted {
		if amount := total.At(r); amount > 0 && !capacity.index(r).Narrow(candidates, amount) {
			return false
		}
	}
	return !candidates.Empty()
}

// Repels reports whether a taint of the pool keeps the class away, or a feature that its nodes lack. It returns no taint in the second
// case.
func (t *Template) Repels(c *Class, lv *Level) (model.Taint, bool) {
	if withoutFeatures(t.Pool, c) {
		return model.Taint{}, true
	}
	return model.Untolerated(t.Pool.Taints, c.Shape.Tolerations, lv.Tolerant)
}

// Pods are all pods of the open node in the order they were put in.
func (on *OpenNode) Pods() []*model.Pod {
	if len(on.Batches) == 1 {
		return slices.Clip(on.Batches[0].Pods)
	}
	n := 0
	for _, f := range on.Batches {
		n += len(f.Pods)
	}
	out := make([]*model.Pod, 0, n)
	for _, f := range on.Batches {
		out = append(out, f.Pods...)
	}
	return out
}

// Indivisible reports whether repacking must leave the open node as it is: it may be launched from a reservation, or some
// of its pods must share a node with others.
func (on *OpenNode) Indivisible() bool {
	return on.Template.Reservations.concern(on) || slices.ContainsFunc(on.Batches, func(f Batch) bool {
		return f.Level.HostAffinity || f.Level.Beside != nil || on.Template.Attaches(f.Class())
	})
}

// Floats reports whether the open node is not bound yet to a domain in which pods of the class would count. Pods that have
// no constraint on the domain go there first: elsewhere they would unbalance those that have.
func (on *OpenNode) Floats(c *Class) bool {
	st := on.Template.States[on.State]
	return !slices.ContainsFunc(c.UncountedKeys, func(key int) bool { return on.Template.decided(st, key) })
}

// Decides reports whether the requirements of the open node leave one value of a label, whatever it is launched as.
func (on *OpenNode) Decides(key int) bool {
	return on.Template.decided(on.Template.States[on.State], key)
}

// certainlySatisfies reports whether the node meets c whichever of its instance types and offerings it is launched as.
func (on *OpenNode) certainlySatisfies(c *Conjunction) bool {
	t := on.Template
	st := t.States[on.State]
	return !slices.ContainsFunc(c.Terms, func(want index.Term) bool {
		k, have := t.Universe.Keys[want.Key], st.Get(want.Key)
		allowed := k.Sets[want.Set]
		switch {
		case have != index.Undefined && k.Covers(want.Set, have):
			return false
		case have == index.Undefined && !k.WellKnown && !t.Defined[want.Key] && !t.Columns.Defines(want.Key):
			return !allowed.AllowsAbsence() // the node lacks the label
		}
		if !t.Columns.OfferingsDefine(want.Key) && !allowed.AllowsAbsence() && t.Columns.Label(want.Key).Absent.Intersects(on.Mask) {
			return true
		}
		names, known := t.values(want.Key, st, on.Mask)
		return !known || slices.ContainsFunc(names, func(name string) bool { return !allowed.Has(name) })
	})
}
