package repack

import (
	"cmp"
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/lp"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/place"
)

const (
	// maxAttempts bounds how often a repacker packs, and maxFilled how many bins are filled in doing so: small plans gain
	// the most from another attempt, and cost the least.
	maxAttempts = 5
	maxFilled   = 100
	// maxRefillTypes is the maximum number of item types for an additional attempt that compares columns by the pods in them.
	maxRefillTypes = 32
	// repriceShare is the part of the pods after which capacity is priced again.
	repriceShare = 0.1
	// closeToBound is the part of the bound that another attempt could save at most for there to be none.
	closeToBound = 0.001
	// damping is how far markups follow the cost of pods in their bins.
	damping = 0.5
)

// packedBin is a filled bin with its assignments. The pods of the deferred ones are not among those of the open node yet.
type packedBin struct {
	*compile.OpenNode
	assignments, deferred []assignment
}

// pack is open nodes that hold all pods of the repacker; nil if it finds no way.
//
// Pods that ended in bins with much waste are more expensive than their capacity: in the next attempt they are valued
// higher, so that they are added earlier, while other pods are left to share a bin with them. Before all that, where few item
// types go together, columns are compared by what these really fill of them: it suits large pods, and may use up the small
// ones that others need. The cheapest attempt counts.
func (rp *repacker) pack() []*compile.OpenNode {
	defer rp.release()
	rp.scaleAmounts()
	rp.price()
	rp.nodeOverhead = math.Inf(1)
	for _, s := range rp.priceLists {
		rp.nodeOverhead = min(rp.nodeOverhead, s.nodeOverhead)
	}
	p, bound := rp.begin(), boundOf(rp)
	if rp.worthFillingToRank() {
		rp.bin.fillsToRank = true
		p.run()
		rp.bin.fillsToRank, rp.bin.last.times = false, 0
		rp.price()
	}
	filled := 0
	for range maxAttempts {
		bins := p.run()
		if filled += len(bins); bins == nil || len(rp.itemTypes) == 1 || filled+len(bins) > maxFilled || p.least <= bound*(1+closeToBound) {
			break
		}
		rp.adjustMarkups(bins)
		rp.price()
	}
	return p.best
}

// boundOf is what the capacity for all pods costs at the dual prices, if no capacity is left over. Pods on nodes of several price lists may cost
// less.
func boundOf(rp *repacker) (sum float64) {
	for _, s := range rp.priceLists {
		sum += lp.Dot(s.dualPrices, s.demand)
	}
	return sum
}

// attempts is the result of the attempts of a repacker.
type attempts struct {
	*repacker
	// order is the itemTypes in their original order, full their original demand.
	order []*itemType
	full  []remainingDemand
	// best are the open nodes of the cheapest attempt so far, least is their objective.
	best  []*compile.OpenNode
	least float64
}

// begin makes the repacker ready for several attempts.
func (rp *repacker) begin() attempts {
	p := attempts{repacker: rp, order: slices.Clone(rp.itemTypes), full: make([]remainingDemand, len(rp.itemTypes)), least: math.Inf(1)}
	for i, itemType := range p.order {
		p.full[i] = itemType.remainingDemand
	}
	return p
}

// run packs everything once and fills the itemTypes again. It returns nil if there is no way.
func (p *attempts) run() []packedBin {
	defer func() {
		for i, itemType := range p.order {
			itemType.remainingDemand, itemType.chosen = p.full[i], false
		}
	}()
	bins := p.packOnce()
	if bins == nil {
		return nil
	}
	open := make([]*compile.OpenNode, len(bins))
	for i, m := range bins {
		open[i] = m.OpenNode
	}
	if b := p.objective(open); b < p.least {
		choosePods(bins)
		p.t.Free(p.best)
		p.best, p.least = open, b
	} else {
		p.t.Free(open)
	}
	return bins
}

// worthFillingToRank reports whether there are item types that few others can join, and not so many that another attempt takes
// long.
func (rp *repacker) worthFillingToRank() bool {
	return len(rp.itemTypes) <= maxRefillTypes && slices.ContainsFunc(rp.itemTypes, func(p *itemType) bool { return !p.selfExclusive && len(p.group.itemTypes) <= fewItemTypes })
}

// objective is the cost of open nodes, with the overhead of each.
func (rp *repacker) objective(open []*compile.OpenNode) float64 {
	return price(open) + rp.nodeOverhead*float64(len(open))
}

// packOnce packs everything once, and leaves the itemTypes empty. It returns nil if there is no way.
func (rp *repacker) packOnce() []packedBin {
	slices.SortStableFunc(rp.itemTypes, func(a, b *itemType) int {
		if a.selfExclusive != b.selfExclusive {
			if a.selfExclusive {
				return -1
			}
			return 1
		}
		if a.selfExclusive || a.group == b.group {
			return cmp.Compare(b.value, a.value)
		}
		return cmp.Or(cmp.Compare(a.group.choices, b.group.choices), cmp.Compare(a.group.form.Number, b.group.form.Number))
	})
	left := 0
	rp.constrained = 0
	for _, p := range rp.itemTypes {
		if left += p.pods; p.hostConstrained {
			rp.constrained += p.pods
		}
	}
	var out []packedBin
	due := int(float64(left) * (1 - repriceShare))
	for _, lead := range rp.itemTypes {
		for lead.pods > 0 {
			if left < due {
				rp.price()
				due = int(float64(left) * (1 - repriceShare))
			}
			m := rp.open(lead)
			if m.OpenNode == nil {
				return nil
			}
			for _, p := range m.assignments {
				left -= p.n
			}
			out = append(out, m)
		}
	}
	return rp.mergeNeighbours(out)
}

// adjustMarkups compares the cost of pods in their bins with the value of their capacity.
func (rp *repacker) adjustMarkups(bins []packedBin) {
	for _, p := range rp.itemTypes {
		p.pods = 0
	}
	for _, m := range bins {
		for _, p := range m.assignments {
			p.itemType.pods += p.n
		}
	}
	rp.price()
	for _, p := range rp.itemTypes {
		p.cost, p.worth = 0, 0
	}
	for _, m := range bins {
		sum := 0.0
		for _, p := range m.assignments {
			sum += p.value / p.markup * float64(p.n)
		}
		if sum == 0 {
			continue
		}
		price := m.Price()
		for _, p := range m.assignments {
			share := p.value / p.markup * float64(p.n)
			p.cost += share * price / sum
			p.worth += share
		}
	}
	for _, p := range rp.itemTypes {
		if p.worth > 0 {
			p.markup *= 1 + damping*(p.cost/p.worth-1)
		}
	}
}

// repack packs the open nodes of a template again and takes them from the list; nil if that saves nothing. Hosts of trials
// are numbered from first.
func repack(s *place.Placer, t *compile.Template, first int) []*compile.OpenNode {
	rp := newRepacker(s, t, first)
	mine, others := rp.collect()
	if len(mine) == 0 {
		return nil
	}
	for _, on := range mine {
		t.Limits.Release(on)
	}
	pieces := rp.pack()
	if !s.Problem.Options.OpensForPreferences() {
		pieces = rp.withoutNodesForPreferences(pieces)
	}
	if pieces == nil || rp.objective(pieces) >= rp.objective(mine) || !charge(t, pieces) {
		for _, on := range mine {
			t.Limits.Charge(on)
		}
		return nil
	}
	s.Open = others
	return pieces
}

// collect moves the pods of the template's open nodes into the repacker. It returns the open nodes that are empty then, and
// all others.
func (rp *repacker) collect() (mine, others []*compile.OpenNode) {
	fills := 0
	for _, on := range rp.s.Open {
		if on.Template == rp.t {
			fills += len(on.Batches)
		}
	}
	itemTypes := min(fills, rp.s.Classes.Len()) / 2
	rp.same, rp.itemTypes = make(map[itemTypeKey]*itemType, itemTypes), make([]*itemType, 0, itemTypes)
	for _, on := range rp.s.Open {
		if on.Template == rp.t && rp.add(on) {
			mine = append(mine, on)
		} else {
			others = append(others, on)
		}
	}
	return mine, others
}

// withoutNodesForPreferences is pieces without those that are there for preferences alone.
func (rp *repacker) withoutNodesForPreferences(pieces []*compile.OpenNode) []*compile.OpenNode {
	if rp.allowed > 0 && pieces != nil {
		pieces = rp.withFewerPreferences(pieces)
	}
	if slices.ContainsFunc(pieces, (*compile.OpenNode).HasPreferences) {
		pieces = rp.mergeWithoutPreferences(pieces)
	}
	return pieces
}

// withFewerPreferences is pieces, or what holds the same pods on fewer nodes because fewer preferences for anti-affinity are
// met: no node is launched for a preference alone.
func (rp *repacker) withFewerPreferences(pieces []*compile.OpenNode) []*compile.OpenNode {
	again := func(allowance int) []*compile.OpenNode {
		if !relax(rp, allowance) {
			return nil
		}
		return rp.pack()
	}
	all := maxAllowed(rp)
	least := again(0)
	if least == nil || len(least) >= len(pieces) || rp.objective(least) > rp.objective(pieces) {
		return pieces
	}
	// Each node can meet the preference of one pod of a class. Where that is all that pods prefer, it was tried.
	if all <= len(least) {
		return least
	}
	if fair := again(len(least)); fair != nil && len(fair) == len(least) && rp.objective(fair) <= rp.objective(least)*(1+lp.Negligible) {
		return fair
	}
	return least
}

// charge counts pieces against the pool's limits, and reports whether these admit them and leave enough choice. Each may
// then be any instance type that can hold its pods and that the limits leave.
func charge(t *compile.Template, pieces []*compile.OpenNode) bool {
	l := t.Limits
	for _, piece := range pieces {
		if !l.Unlimited() {
			piece.CheapestOnly()
		}
		l.Charge(piece)
	}
	admitted := !slices.ContainsFunc(l.List, func(b compile.Limit) bool { return b.Remaining < 0 })
	if admitted {
		for _, piece := range pieces {
			l.Release(piece)
			piece.Widen()
			l.Charge(piece)
			admitted = admitted && len(piece.Unmet(t.States[piece.State], piece.Mask)) == 0
		}
	}
	if !admitted {
		for _, piece := range pieces {
			l.Release(piece)
		}
	}
	return admitted
}
