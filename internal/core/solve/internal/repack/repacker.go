// Package repack packs the open nodes of a template again, all together, by the dual prices of their resources, and splits open
// nodes that hold devices.
package repack

import (
	"encoding/binary"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/place"
)

// yard is where the pods of one template's claims are packed again, all together.
//
// Problem: first fit decides pod by pod. It does not see that a machine which must be there anyway has room for others, nor
// that pods which ask for much of one resource should share a machine with pods that ask for much of another; and a claim
// that can hold everything ends on the dearest machine there is. Approach: one machine after the other, each the best found by
// its price against the worth of what it would hold, at the going rate of room (see going). Pods that cannot share a machine
// with their like lead first, so that others fill up what they leave; then those with the least choice of machines.
//
// Invariants: no pod loses its place or a wish; a pod that is counted in a domain is counted in the same domain afterwards;
// constraints on single machines are judged by the counts that placing uses.
type repacker struct {
	s *place.Placer
	t *compile.Template
	// scale turns amounts into parts of what all pods ask for, by place in t.wanted; room of columns is in these units.
	scale     []float64
	room      [][]float64
	itemTypes []*itemType
	groups    []*compatibilityGroup
	// kinBy finds a kin by what its pods ask for and where they are counted.
	groupByKey map[string]*compatibilityGroup
	priceLists []*priceList
	// upkeep is what every machine is held to cost beside its price, the same for all ways to pack that are compared.
	nodeOverhead float64
	// known finds the pile of a fill, same those that ask for the same.
	known map[batchKey]*itemType
	same  map[itemTypeKey]*itemType
	// favourite is the cheapest alternative of classes that have several, populations how many pods these have.
	cheapestLevel map[*compile.Class]*compile.Level
	podCounts     map[*compile.Class]int
	// next is a machine number that nobody has.
	nextHost int
	// offer is memory for one offer.
	offer compile.Offer
	// scratch is a set of columns for use within one call.
	scratch bitset.Set
	// grants is how many pods of a class may be kept away from their like only because they wish it, granted how many are.
	allowance, allowed int
	allowedByClass     map[*compile.Class]int
	bin                openBin
	// taken are the piles and fills of the claim that is moved in.
	added struct {
		piles []*itemType
		fills []compile.Batch
	}
}

// pile is pods that ask for the same room and the same labels.
type itemType struct {
	group *compatibilityGroup
	// amounts are what one pod asks for, in parts of everything; worth is what it may cost, in dollars an hour.
	amounts []float64
	value   float64
	// markup is how much dearer the pods have turned out to be than their room.
	markup float64
	// picky is set when the pods look at who else is on a machine, lone when a machine takes only so many of a class.
	hostConstrained, selfExclusive bool
	remainingDemand
}

// stock is pods that are to be packed.
type remainingDemand struct {
	// stacks are the pods by stage, pods is their number.
	segments []segment
	pods     int
}

// stack is pods of one stage.
type segment struct {
	*compile.Level
	pods []*model.Pod
}

// kin is piles that ask for the same labels.
type compatibilityGroup struct {
	// form is the question with the domains in which the pods are counted; pins are the labels that must keep their values.
	form *compile.Conjunction
	pins []index.Term
	// state is that of a claim with nothing else.
	state     compile.StateID
	itemTypes []*itemType
	*priceList
}

type batchKey struct {
	level *compile.Level
	form  *compile.Conjunction
	state compile.StateID
}

type itemTypeKey struct {
	group *compatibilityGroup
	// needs is the first of what the pods need: equal requests share their needs.
	needs                          *compile.Need
	hostConstrained, selfExclusive bool
}

// newYard is an empty yard whose machines are numbered from next, and which grants so many pods of a class the wish to be away
// from their like.
func newRepacker(s *place.Placer, t *compile.Template, next, allowance int) *repacker {
	return &repacker{
		s: s, t: t, scratch: bitset.New(t.Columns.Len()),
		groupByKey: map[string]*compatibilityGroup{}, known: map[batchKey]*itemType{}, same: map[itemTypeKey]*itemType{}, cheapestLevel: map[*compile.Class]*compile.Level{},
		nextHost: next, allowance: allowance, allowedByClass: map[*compile.Class]int{},
	}
}

// take moves the pods of a claim into the yard, unless some of them have to stay where they are.
func (rp *repacker) add(on *compile.OpenNode) bool {
	if on.Indivisible() || on.Devices != "" || len(on.RelaxedMinValues) > 0 {
		return false
	}
	piles, fills := rp.added.piles[:0], rp.added.fills[:0]
	for _, f := range on.Batches {
		f = rp.applyAllowance(rp.chooseAlternative(f))
		key := batchKey{f.Level, f.Form, on.State}
		p, ok := rp.known[key]
		if !ok {
			p = rp.itemTypeOf(on, f)
			rp.known[key] = p
		}
		if p == nil {
			return false
		}
		piles, fills = append(piles, p), append(fills, f)
	}
	rp.added.piles, rp.added.fills = piles, fills
	for i, p := range piles {
		f := fills[i]
		p.pods += len(f.Pods)
		if last := len(p.segments) - 1; last >= 0 && p.segments[last].Level == f.Level {
			p.segments[last].pods = append(p.segments[last].pods, f.Pods...)
			continue
		}
		p.segments = append(p.segments, segment{f.Level, slices.Clip(f.Pods)})
	}
	return true
}

// pileOf is the pile for pods of a claim; nil if they could be launched from a reservation when they are alone.
func (rp *repacker) itemTypeOf(on *compile.OpenNode, f compile.Batch) *itemType {
	k := rp.groupOf(on, f)
	if k == nil {
		return nil
	}
	ports := len(f.Class().Shape.HostPorts) > 0
	key := itemTypeKey{
		group:           k,
		hostConstrained: ports || len(f.Level.Hosts) > 0 || len(f.Class().AvoidHosts) > 0,
		selfExclusive:   ports || slices.ContainsFunc(f.Level.Hosts, func(o compile.Owned) bool { return o.Self }),
	}
	if needs := f.Class().Needs; len(needs) > 0 {
		key.needs = &needs[0]
	}
	if p, ok := rp.same[key]; ok {
		return p
	}
	p := &itemType{group: k, hostConstrained: key.hostConstrained, selfExclusive: key.selfExclusive, markup: 1, amounts: make([]float64, len(rp.t.Wanted))}
	for i, r := range rp.t.Wanted {
		p.amounts[i] = float64(f.Class().Shape.Requests.At(r))
	}
	rp.same[key] = p
	rp.itemTypes, k.itemTypes = append(rp.itemTypes, p), append(k.itemTypes, p)
	return p
}

// kinOf is the kin of pods of a claim.
func (rp *repacker) groupOf(on *compile.OpenNode, f compile.Batch) *compatibilityGroup {
	var counts []domainPin
	key := binary.AppendVarint(nil, int64(f.Form.Number))
	for _, list := range f.Class().Counting() {
		for _, g := range list {
			if g.Host || slices.ContainsFunc(counts, func(c domainPin) bool { return c.key == g.Key }) {
				continue
			}
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
	return k
}

// count is the domains of a label in which pods are counted.
type domainPin struct {
	key     int
	domains []int
}

// newKin is the kin of pods that ask for form and have to stay in the domains in which they are counted; nil if they could be
// launched from a reservation.
func (rp *repacker) newGroup(form *compile.Conjunction, counts []domainPin) *compatibilityGroup {
	t := rp.t
	var within []requirement.Requirement
	var pins []index.Term
	for _, c := range counts {
		pins = append(pins, index.Term{Key: c.key})
		within = append(within, rp.s.Counts.InDomains(c.key, c.domains))
	}
	if len(within) > 0 {
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

// measure turns amounts into parts of what all pods ask for.
func (rp *repacker) scaleAmounts() {
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
	rp.room = make([][]float64, t.Columns.Len())
	for c := range rp.room {
		rp.room[c], flat = flat[:len(total):len(total)], flat[len(total):]
		for i, r := range t.Wanted {
			rp.room[c][i] = float64(t.Room[c].At(r)) * rp.scale[i]
		}
	}
}
