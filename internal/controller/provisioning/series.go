package provisioning

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// forSeries returns the plan for a batch after which more pods are expected: the given one, which is packed by price, or that of first
// fit.
//
// Problem: repacking leaves no capacity free. The pods that fill no large node get small nodes of just their size, and so do the pods of
// the next batch: a series of batches ends with several times as many nodes as one batch for the same pods. Approach: first fit opens few
// large nodes, and the next pods use what is free on them. Only the used part of a node counts as its price, so first fit is chosen where
// it packs as well by price: not if its nodes are of the wrong shape. Cost: a second run of the solver.
func forSeries(solver func(solve.Problem) solve.Plan, problem solve.Problem, packed solve.Plan) solve.Plan {
	if len(packed.NodeClaims) < 2 {
		return packed
	}
	problem.Options.DisableRepacking = true
	spacious := solver(problem)
	if len(spacious.NodeClaims) < len(packed.NodeClaims) && placed(spacious) >= placed(packed) &&
		usedPrice(spacious, problem) <= usedPrice(packed, problem)*(1+seriesTolerance) {
		return spacious
	}
	return packed
}

// seriesTolerance is by how much first fit may be more expensive, as a share of the price.
const seriesTolerance = 0.02

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
