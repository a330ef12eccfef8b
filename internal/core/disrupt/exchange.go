package disrupt

import (
	"cmp"
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// The limits of exchanges: of how many of the cheapest nodes of the best set one or two are left out, and how many sets all exchanges
// together evaluate.
const (
	maxLeftOut   = 8
	maxExchanges = 150
)

// exchange improves the best set. One or two of its cheapest nodes are left out, and nodes outside of the set that the capacity suffices for
// then, the most expensive first, take their place.
//
// Problem: the other searches only add nodes, so that a cheap node that was added early can close the set to nodes that cost more. Approach:
// local search with 1-exchanges and 2-exchanges, as for the knapsack problem: without launches a set can be deleted only if the allocatable
// resources of its nodes do not exceed what is free on all nodes together. Invariant: the best set never becomes worse. Cost: at
// most maxExchanges evaluations, and for each node that is added, and each choice of nodes to leave out, a look at all candidates.
//
// Source: Martello and Toth, Knapsack Problems (1990), section 2.6: heuristics by exchange.
func (m *search) exchange() {
	x := exchanger{search: m, free: m.free(), weights: make(map[string]resource.Vector, len(m.order))}
	for _, c := range m.order {
		x.weights[c.Node.ID] = m.occupied(c)
	}
	for m.best.done && len(m.best.command.Replacements) == 0 && x.once() {
		continue
	}
}

// exchanger is what the exchanges of a search share.
type exchanger struct {
	*search
	// free is what all nodes have left, weights what is no longer free when a node is deleted, by node ID.
	free    resource.Vector
	weights map[string]resource.Vector
}

// once tries exchanges until one of them improves the best set, and reports whether one did.
func (x *exchanger) once() bool {
	set := slices.Clone(x.best.command.Candidates)
	slices.SortStableFunc(set, func(a, b Candidate) int { return cmp.Compare(a.Price, b.Price) })
	var outside []Candidate
	for _, c := range x.order {
		if !has(set, c) {
			outside = append(outside, c)
		}
	}
	slices.SortStableFunc(outside, func(a, b Candidate) int { return cmp.Compare(b.Price, a.Price) })
	for _, left := range leftOut(min(len(set), maxLeftOut)) {
		base := slices.Clone(set)
		for _, i := range left {
			base = slices.Delete(base, i, i+1)
		}
		if x.exchanges >= maxExchanges || x.Expired() {
			return false
		}
		if x.refill(base, outside) {
			return true
		}
	}
	return false
}

// leftOut are the positions to leave out of a set, the higher one first: each of the first n, then each two of them.
func leftOut(n int) [][]int {
	var out [][]int
	for i := range n {
		out = append(out, []int{i})
	}
	for i := range n {
		for k := range i {
			out = append(out, []int{i, k})
		}
	}
	return out
}

// refill adds to the set whatever nodes can be deleted as well, and reports whether the result is the new best set.
func (x *exchanger) refill(set, outside []Candidate) bool {
	left := x.free
	for _, c := range set {
		left = left.Sub(x.weights[c.Node.ID])
	}
	before := x.best.command.Savings()
	size, worth := len(set), priceOf(set)
	if worth+x.potential(outside, left) <= before {
		return false
	}
	for i, c := range outside {
		if x.exchanges >= maxExchanges || x.Expired() || len(set) == maxNodesPerCommand {
			break
		}
		weight := x.weights[c.Node.ID]
		if !weight.Fits(left) {
			continue
		}
		next := append(slices.Clip(set), c)
		if len(x.within(next)) < len(next) {
			continue
		}
		x.exchanges++
		if !x.deletes(next) {
			continue
		}
		set, left, worth = next, left.Sub(weight), worth+zeroIfNaN(c.Price)
		if worth+x.potential(outside[i+1:], left) <= before {
			break
		}
	}
	return len(set) > size && worth > before && x.try(set) && x.best.command.Savings() > before
}

// potential is a price in dollars an hour that no nodes of the list exceed whose resources together fit into left: the sum of those that fit
// alone, or their highest price per unit of a resource times what is left of it.
func (x *exchanger) potential(list []Candidate, left resource.Vector) float64 {
	sum := 0.0
	highest := make([]float64, len(left))
	for _, c := range list {
		weight := x.weights[c.Node.ID]
		if !weight.Fits(left) {
			continue
		}
		sum += zeroIfNaN(c.Price)
		for i := range left {
			if weight.At(i) == 0 {
				highest[i] = math.Inf(1)
			} else {
				highest[i] = max(highest[i], zeroIfNaN(c.Price)/float64(weight.At(i)))
			}
		}
	}
	for i, h := range highest {
		if !math.IsInf(h, 0) {
			sum = min(sum, h*float64(max(left.At(i), 0)))
		}
	}
	return sum
}

// free is what all nodes that take pods have left.
func (m *search) free() resource.Vector {
	var out resource.Vector
	for _, n := range m.sim.input.Problem.Nodes {
		if !m.sim.cordoned[n.ID] {
			out = out.Accumulate(n.Allocatable.Sub(n.Used).Floor(0))
		}
	}
	return out
}

// occupied is what is no longer free when the node is deleted: what its pods request elsewhere, and what it had left.
func (m *search) occupied(c Candidate) resource.Vector {
	taken := c.Node.Allocatable
	if m.sim.cordoned[c.Node.ID] {
		taken = c.Node.Used
	}
	return taken.Sub(c.Node.UsedByDaemons).Floor(0)
}

func priceOf(set []Candidate) float64 {
	sum := 0.0
	for _, c := range set {
		sum += zeroIfNaN(c.Price)
	}
	return sum
}
