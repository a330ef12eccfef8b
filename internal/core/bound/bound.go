// Package bound proves how little any plan could cost.
//
// Problem: given what a plan had to choose from and the pods that it placed, find a number of dollars an hour that no set
// of machines undercuts which, together with the nodes that are there, holds the same pods under the same rules. The closer
// to the least cost, the better; above it, never.
//
// Approach: linear programming duality. Let every pod of lot i be worth y_i ≥ 0. Suppose that no machine can hold pods that
// are worth more than it costs, whatever whole pods are chosen: Σ y_i x_i ≤ price for every machine and every x that fits.
// Then whoever holds all pods pays at least what they are worth, less what the existing nodes can hold:
//
//	cost ≥ Σ n_i y_i − Σ over nodes of the most that Σ y_i x_i can be there.
//
// Any y proves a bound this way, so how it was found need not be trusted: by column generation (generate.go), in programs that
// may stop early or err (program.go). What has to be trusted is an upper bound of what one machine can hold. It comes from
// adding up prices of resources (bin.go), from branch and bound on top of that (search.go), or from a table (grid.go). Where
// it exceeds the machine's price, all y are scaled down until it does not (offer.go).
//
// Invariant: everything left out makes plans dearer, never cheaper: limits, minValues, wishes, topology beyond the single
// machine (see solve.Market), machines that others make superfluous, differences between lots (merge.go). Floating point
// errs by less than margin, by which every bound is lowered. The last step rounds up to the next sum of prices that exists
// (menu.go).
//
// Cost: bounded in steps, not in time, so equal input gives equal output; about a second for ten thousand pods.
package bound

import (
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// Of is a lower bound, in dollars an hour, of the price of any new machines that place the pods which plan placed.
func Of(p solve.Problem, plan solve.Plan) float64 {
	if len(plan.NodeClaims) == 0 {
		return 0
	}
	parts := instances(solve.NewMarket(p, plan))
	sum := 0.0
	for _, in := range parts {
		g := newGenerator(in, effortFor(in, len(parts)))
		g.run()
		sum += roundUp(max(g.proven(), g.lifted()), in.menu())
	}
	return sum
}

// Gap is the part of a price that the bound leaves open: a plan is dearer than the cheapest one by at most this part.
func Gap(price, bound float64) float64 {
	if price <= 0 {
		return 0
	}
	return (price - bound) / price
}
