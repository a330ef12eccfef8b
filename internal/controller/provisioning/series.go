package provisioning

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// forSeries returns the plan for a batch of a series: the given one, which is packed by price, or that of first fit.
//
// Problem: repacking leaves no capacity free. The pods that fill no large node get small nodes of just their size, and so do the pods of
// the next batch: a series of batches ends with several times as many nodes as one batch for the same pods. Approach: first fit opens few
// large nodes, and the next pods use what is free on them. While more pods are expected, only the used part of a node counts as its
// price, so first fit is chosen where it packs as well by price: not if its nodes are of the wrong shape. Where the series probably ends,
// the whole node counts. Cost: a second run of the solver.
func forSeries(solver func(solve.Problem) solve.Plan, problem solve.Problem, packed solve.Plan, by yardstick) solve.Plan {
	if len(packed.NodeClaims) < 2 {
		return packed
	}
	problem.Options.DisableRepacking = true
	spacious := solver(problem)
	if len(spacious.NodeClaims) < len(packed.NodeClaims) && placed(spacious) >= placed(packed) &&
		by.price(spacious, problem) <= by.price(packed, problem)*(1+by.tolerance) {
		return spacious
	}
	return packed
}

// yardstick is how the prices of two plans are compared: by how much first fit may be more expensive, as a share of the price.
type yardstick struct {
	price     func(solve.Plan, solve.Problem) float64
	tolerance float64
}

// moreToCome is for batches after which more pods are expected, lastOne for the last batch of a series: each node that it spares runs
// the pods of all DaemonSets.
func moreToCome() yardstick { return yardstick{usedPrice, 0.02} }
func lastOne() yardstick    { return yardstick{fullPrice, 0.1} }

// placed is the number of pods that a plan places.
func placed(plan solve.Plan) int {
	count := 0
	for _, p := range plan.Placements {
		count += len(p.Pods)
	}
	for _, c := range plan.NodeClaims {
		count += len(c.Pods)
	}
	return count
}

// fullPrice is the price of the NodeClaims of a plan, in dollars per hour.
func fullPrice(plan solve.Plan, _ solve.Problem) float64 { return plan.Price() }

// usedPrice is the price of the NodeClaims of a plan, in dollars per hour, without the part of each that other pods can use: they can
// until one resource is used up.
func usedPrice(plan solve.Plan, problem solve.Problem) float64 {
	sum := 0.0
	for _, c := range plan.NodeClaims {
		sum += c.Price * utilization(c.Requests, allocatable(c, problem))
	}
	return sum
}

// allocatable are the resources of the cheapest instance type of a NodeClaim; nil if it is not known.
func allocatable(c solve.NodeClaim, problem solve.Problem) resource.Vector {
	pool := slices.IndexFunc(problem.Pools, func(p *model.Pool) bool { return p.Name == c.Pool })
	if pool < 0 || len(c.InstanceTypes) == 0 {
		return nil
	}
	types := problem.Pools[pool].Catalog
	if i := slices.IndexFunc(types, func(it *catalog.InstanceType) bool { return it.Name == c.InstanceTypes[0] }); i >= 0 {
		return types[i].Groups[0].Allocatable
	}
	return nil
}

// utilization is the largest share of a resource that is used, at most 1; 1 if the allocatable resources are not known.
func utilization(used, allocatable resource.Vector) float64 {
	if allocatable.IsZero() {
		return 1
	}
	most := 0.0
	for i := range used {
		if used[i] > 0 {
			most = max(most, float64(used[i])/max(1, float64(allocatable.At(i))))
		}
	}
	return min(most, 1)
}
