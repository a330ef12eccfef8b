// Package repack packs the open nodes of a template again, all together, by the dual prices of their resources, and splits open
// nodes that hold devices.
package repack

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/place"
)

// repacker packs the pods of one template's open nodes again, all together.
//
// Problem: first fit decides pod by pod. It does not see that a node which is needed anyway has capacity for others, nor
// that pods which request much of one resource should share a node with pods that request much of another; and an open node
// that can hold everything ends as the most expensive instance type. Approach: one bin after the other, each the
// best found by its price against the value of what it would hold, at the dual prices of resources (lp.Covering). Pods that
// exclude each other lead first, so that others fill up what they leave; then those with the least choice of instance
// types.
//
// Invariants: no pod loses its place or a preference that was met; a pod that is counted in a domain is counted in the same
// domain afterwards; constraints on hosts are judged by the counts that placing uses.
type repacker struct {
	s *place.Placer
	t *compile.Template
	// scale turns amounts into parts of what all pods request, by place in t.Wanted; capacity, that of columns, is in
	// these units.
	scale     []float64
	capacity  [][]float64
	itemTypes []*itemType
	groups    []*compatibilityGroup
	// groupByKey finds a compatibility group by what its pods require and where they are counted.
	groupByKey map[string]*compatibilityGroup
	priceLists []*priceList
	// nodeOverhead is the cost of every node in addition to its price, the same for all packings that are compared.
	nodeOverhead float64
	// decided finds the compatibility group of pods that are counted in one domain of each label, known the item type of other batches, same
	// item types that request the same.
	decided map[decidedKey]*compatibilityGroup
	known   map[batchKey]*itemType
	same    map[itemTypeKey]*itemType
	// cheapestLevel is the cheapest alternative of each class that has several, podCounts how many pods these have.
	cheapestLevel map[*compile.Class]*compile.Level
	podCounts     map[*compile.Class]int
	// nextHost is a host number that no bin has.
	nextHost int
	// offer is memory for one offer.
	offer compile.Offer
	// scratch is a set of columns for use within one call.
	scratch bitset.Set
	// allowance is how many pods of a class may be kept on separate hosts only because they prefer it, allowed how many
	// are.
	allowance, allowed int
	allowedByClass     map[*compile.Class]int
	bin                openBin
	// defers is set when the pods of bins may be chosen after an attempt.
	defers bool
	// constrained is how many pods of item types with constraints on hosts are left.
	constrained int
	// total is memory for the requests of all pods of a bin.
	total resource.Vector
	// separate is how many bins pods that exclude each other need at least, by the groups that a bin is opened for.
	separate map[[2]*compatibilityGroup]float64
	// separateByGroup is memory for counting these bins, by the number of a topology group.
	separateByGroup []float64
	// collected are the open nodes that were added, where preferences may be relaxed afterwards.
	collected []collectedNode
	// added are the item types and batches of the open node that is added.
	added struct {
		itemTypes []*itemType
		batches   []compile.Batch
	}
}

// itemType is pods with the same requests and the same labels to require.
type itemType struct {
	group *compatibilityGroup
	// amounts are the requests of one pod, in parts of everything; value is what it may cost, in dollars per hour.
	amounts []float64
	value   float64
	// markup is the factor by which the pods have turned out to be more expensive than their capacity.
	markup float64
	// hostConstrained is set when constraints refer to the other pods on a host, selfExclusive when a host takes only so
	// many of a class.
	hostConstrained, selfExclusive bool
	// interchangeable is set when any bin takes as many pods of one class as of any other: it is not chosen before the
	// end which of them go into a bin. class is the first one of them.
	interchangeable bool
	class           *compile.Class
	// listed is set when it is one of those of the repacker, and of its group.
	listed bool
	// chosen is set when pods were taken from the segments, which are in own memory then.
	chosen bool
	own    []segment
	// cost and worth are the price and the value of the pods in the bins of an attempt.
	cost, worth float64
	remainingDemand
}

// remainingDemand is pods that are to be packed.
type remainingDemand struct {
	// segments are the pods by level, pods is their number.
	segments []segment
	pods     int
}

// segment is pods of one level.
type segment struct {
	*compile.Level
	pods []*model.Pod
}

// compatibilityGroup is item types that require the same labels.
type compatibilityGroup struct {
	// form is the requirements with the domains in which the pods are counted; pins are the labels that must keep their values.
	form *compile.Conjunction
	pins []index.Term
	// state is that of an open node with pods of the group only.
	state     compile.StateID
	itemTypes []*itemType
	*priceList
}

type batchKey struct {
	level *compile.Level
	form  *compile.Conjunction
	state compile.StateID
}

// decidedKey is what the compatibility group depends on where the state of the node decides the domains.
type decidedKey struct {
	form    *compile.Conjunction
	state   compile.StateID
	counted compile.Counted
}

// collectedNode is an open node with its batches, and the item type of each.
type collectedNode struct {
	*compile.OpenNode
	itemTypes []*itemType
	batches   []compile.Batch
}

type itemTypeKey struct {
	group *compatibilityGroup
	// needs is the first of what the pods need: equal requests share their needs.
	needs                                           *compile.Need
	hostConstrained, selfExclusive, interchangeable bool
}

// newRepacker is an empty repacker whose bins are numbered from next, and which lets all pods keep their preferred anti-affinity to each
// other.
func newRepacker(s *place.Placer, t *compile.Template, next int) *repacker {
	return &repacker{
		s: s, t: t, defers: s.Devices == nil && t.Reservations.Mode == compile.ReservedIgnored, scratch: bitset.New(t.Columns.Len()),
		groupByKey: map[string]*compatibilityGroup{}, decided: map[decidedKey]*compatibilityGroup{}, known: map[batchKey]*itemType{}, same: map[itemTypeKey]*itemType{}, cheapestLevel: map[*compile.Class]*compile.Level{},
		nextHost: next, allowance: math.MaxInt, allowedByClass: map[*compile.Class]int{}, separate: map[[2]*compatibilityGroup]float64{}, separateByGroup: make([]float64, s.Groups.Len()),
	}
}

// add moves the pods of an open node into the repacker, unless some of them have to stay where they are.
func (rp *repacker) add(on *compile.OpenNode) bool {
	if on.Indivisible() || on.Devices != "" || len(on.RelaxedMinValues) > 0 {
		return false
	}
	itemTypes, batches := rp.added.itemTypes[:0], rp.added.batches[:0]
	for _, as := range on.Batches {
		f := rp.chooseAlternative(as)
		if f.Level != as.Level && rp.knownItemType(on, f) == nil {
			f = as // the cheapest alternative is elsewhere than where the pods are counted
		}
		f = rp.applyAllowance(f)
		p := rp.knownItemType(on, f)
		if p == nil {
			return false
		}
		itemTypes, batches = append(itemTypes, p), append(batches, f)
	}
	rp.added.itemTypes, rp.added.batches = itemTypes, batches
	for i, p := range itemTypes {
		rp.enter(p, batches[i])
	}
	if !rp.s.Problem.Options.OpensForPreferences() {
		rp.collected = append(rp.collected, collectedNode{on, slices.Clone(itemTypes), slices.Clone(batches)})
	}
	return true
}

// enter adds pods to those of an item type.
func (rp *repacker) enter(p *itemType, f compile.Batch) {
	if !p.listed {
		p.listed = true
		rp.itemTypes, p.group.itemTypes = append(rp.itemTypes, p), append(p.group.itemTypes, p)
	}
	p.pods += len(f.Pods)
	if last := len(p.segments) - 1; last >= 0 && p.segments[last].Level == f.Level {
		p.segments[last].pods = append(p.segments[last].pods, f.Pods...)
		return
	}
	p.segments = append(p.segments, segment{f.Level, slices.Clip(f.Pods)})
}

// knownItemType is the item type of pods of an open node; nil if they could be launched from a reservation when they are
// alone, or require another domain than that of the node.
func (rp *repacker) knownItemType(on *compile.OpenNode, f compile.Batch) *itemType {
	in := decidedKey{f.Form, on.State, compile.CountedOf(f.Class())}
	if k, ok := rp.decided[in]; ok {
		return rp.itemTypeOf(k, f)
	}
	key := batchKey{f.Level, f.Form, on.State}
	if p, ok := rp.known[key]; ok {
		return p
	}
	k, decided := rp.groupOf(on, f)
	p := rp.itemTypeOf(k, f)
	if decided {
		rp.decided[in] = k
	} else {
		rp.known[key] = p
	}
	return p
}

// itemTypeOf is the item type of pods in a compatibility group; nil if there is no group.
func (rp *repacker) itemTypeOf(k *compatibilityGroup, f compile.Batch) *itemType {
	if k == nil {
		return nil
	}
	ports := len(f.Class().Shape.HostPorts) > 0
	key := itemTypeKey{
		group:           k,
		hostConstrained: ports || len(f.Level.Hosts) > 0 || len(f.Class().AvoidHosts) > 0 || f.Class().ForeignHosts(f.Level),
		selfExclusive:   ports || slices.ContainsFunc(f.Level.Hosts, func(o compile.Owned) bool { return o.Self }),
	}
	if needs := f.Class().Needs; len(needs) > 0 {
		key.needs = &needs[0]
	}
	key.interchangeable = !key.hostConstrained && rp.defers && compile.Interchangeable(f.Class())
	if p, ok := rp.same[key]; ok {
		return p
	}
	p := &itemType{group: k, hostConstrained: key.hostConstrained, selfExclusive: key.selfExclusive, interchangeable: key.interchangeable, class: f.Class(), markup: 1, amounts: make([]float64, len(rp.t.Wanted))}
	for i, r := range rp.t.Wanted {
		if p.amounts[i] = float64(f.Class().Shape.Requests.At(r)); rp.scale != nil {
			p.amounts[i] *= rp.scale[i]
		}
	}
	rp.same[key] = p
	return p
}

// groupOf is the compatibility group of pods of an open node; nil if there is none. decided is set where the state of the node decides
// all domains in which they are counted.
func (rp *repacker) groupOf(on *compile.OpenNode, f compile.Batch) (k *compatibilityGroup, decided bool) {
	decided = true
	var counts []domainPin
	key := binary.AppendVarint(nil, int64(f.Form.Number))
	for _, list := range f.Class().Counting() {
		for _, g := range list {
			if g.Host || slices.ContainsFunc(counts, func(c domainPin) bool { return c.key == g.Key }) {
				continue
			}
			decided = decided && on.Decides(g.Key)
			c := domainPin{g.Key, rp.s.Counts.OpenDomains(on, g.Key)}
			counts = append(counts, c)
			key = binary.AppendVarint(binary.AppendVarint(key, int64(c.key)), int64(len(c.domains)))
			for _, d := range c.domains {
				key = binary.AppendVarint(key, int64(d))
			}
		}
	}
	k, ok := rp.groupByKey[string(key)]
	if !ok {
		k = rp.newGroup(f.Form, counts)
		rp.groupByKey[string(key)] = k
	}
	return k, decided
}

// domainPin is the domains of a label in which pods are counted.
type domainPin struct {
	key     int
	domains []int
}

// newGroup is the compatibility group of pods that require form and have to stay in the domains in which they are counted;
// nil if they require other domains, or could be launched from a reservation.
func (rp *repacker) newGroup(form *compile.Conjunction, counts []domainPin) *compatibilityGroup {
	t := rp.t
	var within []requirement.Requirement
	var pins []index.Term
	for _, c := range counts {
		pins = append(pins, index.Term{Key: c.key})
		within = append(within, rp.s.Counts.InDomains(c.key, c.domains))
	}
	if len(within) > 0 {
		if !form.Set.Intersects(requirement.NewSet(within...)) {
			return nil
		}
		form = rp.s.Classes.Intern(form.Set.And(requirement.NewSet(within...)))
	}
	for _, k := range rp.groups {
		if k.form == form {
			return k
		}
	}
	to := t.Step(t.Root, form)
	if to == compile.NoState || t.Reservations.MayServe(t, t.States[to]) {
		return nil
	}
	for i := range pins {
		pins[i].Set = t.States[to].Get(pins[i].Key)
	}
	k := &compatibilityGroup{form: form, pins: pins, state: to, priceList: rp.priceListOf(t.States[to])}
	rp.groups = append(rp.groups, k)
	return k
}

// scaleAmounts turns amounts into parts of what all pods request, once.
func (rp *repacker) scaleAmounts() {
	if rp.scale != nil {
		return
	}
	t := rp.t
	total := make([]float64, len(t.Wanted))
	for _, p := range rp.itemTypes {
		for r, amount := range p.amounts {
			total[r] += amount * float64(p.pods)
		}
	}
	rp.scale = make([]float64, len(total))
	for r, amount := range total {
		if amount > 0 {
			rp.scale[r] = 1 / amount
		}
	}
	for _, p := range rp.itemTypes {
		for r := range p.amounts {
			p.amounts[r] *= rp.scale[r]
		}
	}
	flat := make([]float64, len(total)*t.Columns.Len())
	rp.capacity = make([][]float64, t.Columns.Len())
	for c := range rp.capacity {
		rp.capacity[c], flat = flat[:len(total):len(total)], flat[len(total):]
		for i, r := range t.Wanted {
			rp.capacity[c][i] = float64(t.Available[c].At(r)) * rp.scale[i]
		}
	}
}
