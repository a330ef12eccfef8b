package model

import "github.com/karpenter-anew/karpenter/internal/core/resource"

// Remaining is what is left of the pool's limit of a resource beside its existing nodes, in the unit of the vectors. It is negative where they
// exceed the limit.
func (p *Pool) Remaining(r int, nodes []*Node) int64 {
	left := resource.SubSaturated(p.Limits[r], p.Used[r])
	for _, n := range nodes {
		left = resource.SubSaturated(left, AmountOf(n.Capacity, r))
	}
	return left
}

// AmountOf is how much a node of this capacity counts against a limit on r: each counts as one node.
func AmountOf(capacity resource.Vector, r int) int64 {
	if r == resource.Nodes {
		return 1
	}
	return capacity.At(r)
}
