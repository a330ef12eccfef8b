// Package bound computes lower bounds of the cost of a plan.
//
// Problem: given the instance types and nodes that a plan could use and the pods that it placed, find a price in dollars per
// hour that no set of new nodes undercuts, if together with the existing nodes it holds the same pods under the same rules.
// The bound should be close to the minimum cost and must never exceed it.
//
// Approach: linear programming duality. Let every pod of item type i have a value y_i ≥ 0. Suppose that no new node can hold pods
// whose values add up to more than its price: Σ y_i x_i ≤ price for every bin type and every integer x that fits. Then the
// new nodes of any plan cost at least the value of all pods, less the value that the existing nodes can hold:
//
//	cost ≥ Σ n_i y_i − Σ over nodes of max Σ y_i x_i.
//
// Any y proves a bound this way, so the method that finds y need not be exact: column generation (generate.go) over linear
// programs that may stop early. What must be correct is the upper bound of the value that one bin can hold. It comes from
// the dual prices of the bin's rows (bin.go), from branch and bound on top of them (search.go), or from a dynamic program
// (table.go). Where it exceeds the price of a bin type, all y are scaled down until it does not (dual.go).
//
// Invariant: everything that is left out can only make plans more expensive: limits, minValues, preferences, topology beyond
// a single node (see solve.Market), dominated bin types (presolve.go), differences between aggregated item types (build.go). Every
// bound is lowered by margin, which exceeds the floating point error. The last step rounds the bound up to the next sum of
// prices that exists (roundup.go).
//
// Cost: limited by steps, not by time, so equal input gives equal output; about one second for ten thousand pods.
package bound

import (
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// Of returns a lower bound, in dollars per hour, of the price of any new nodes that place the pods that plan placed.
func Of(p solve.Problem, plan solve.Plan) float64 {
	if len(plan.NodeClaims) == 0 {
		return 0
	}
	problems := packingProblems(solve.NewMarket(p, plan))
	sum := 0.0
	for _, in := range problems {
		g := newColumnGenerator(in, effortFor(in, len(problems)))
		g.run()
		sum += roundUp(max(g.provenBound(), g.originalBound()), in.binPrices())
	}
	return sum
}

// Gap returns the relative distance between a price and its lower bound, in 0..1: a plan costs at most this part of its price
// more than the cheapest plan.
func Gap(price, bound float64) float64 {
	if price <= 0 {
		return 0
	}
	return (price - bound) / price
}
