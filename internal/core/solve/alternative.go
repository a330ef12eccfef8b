package solve

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/place"
)

// Problem: first fit decides pod by pod, and constraints on other pods fix what it decides: repacking leaves pods in their domains and
// their pools. Which of the open nodes takes a pod, and which of equal domains is opened, is arbitrary, and what follows may cost more
// than another choice. Approach: small problems with such constraints are solved again with other strategies, and the cheapest plan counts.
// Invariant: no pod loses its place or a preference. Cost: a multiple of that of a small problem.

const (
	// maxAlternativePods is how many pods a problem may have to be solved with several strategies.
	maxAlternativePods = 64
	// minNodeSaving is the part of the price that a plan has to save for each node that it has more than another one: a failure is more
	// likely with more nodes.
	minNodeSaving = 0.01
)

// cheapest solves a problem with the strategies that may matter, and returns the cheapest plan. The first of the strategies is the one
// of the plan, the last is the one that was solved last.
func cheapest(p Problem, solve func(place.Strategy) Plan) (best Plan, strategies [2]place.Strategy) {
	best = solve(place.FirstFit)
	if !hasAlternatives(p, best) {
		return best, strategies
	}
	for _, strategy := range []place.Strategy{place.EmptiestFit, place.LastDomain} {
		other := solve(strategy)
		strategies[1] = strategy
		if other.cheaperThan(best) {
			best, strategies[0] = other, strategy
		}
	}
	return best, strategies
}

// hasAlternatives reports whether another strategy may lead to a cheaper plan that meets no fewer preferences. A plan with one NodeClaim at
// most is left alone: most what-ifs have such plans.
func hasAlternatives(p Problem, plan Plan) bool {
	o := p.Options
	if len(plan.NodeClaims) < 2 || len(p.Pods) > maxAlternativePods || len(plan.Undecided)+len(plan.Deferred) > 0 || o.DisableRepacking || p.Devices != nil {
		return false
	}
	if slices.ContainsFunc(p.Pools, func(pool *model.Pool) bool { return slices.ContainsFunc(pool.Taints, soft) }) ||
		slices.ContainsFunc(p.Nodes, func(n *model.Node) bool { return slices.ContainsFunc(n.Taints, soft) }) {
		return false
	}
	constrained := false
	for _, pod := range p.Pods {
		if !o.IgnorePreferences && pod.Shape.SoftConstraints() > 0 {
			return false
		}
		constrained = constrained || len(pod.Shape.Spreads)+len(pod.Shape.Affinities)+len(pod.Shape.HostPorts) > 0
	}
	return constrained
}

func soft(t model.Taint) bool { return t.Effect == model.PreferNoSchedule }

// cheaperThan reports whether the plan costs less than another one, and places all pods that the other plan places.
func (p Plan) cheaperThan(other Plan) bool {
	more := max(len(p.NodeClaims)-len(other.NodeClaims), 0)
	if len(p.Undecided)+len(p.Deferred) > 0 || p.Price() >= other.Price()*(1-minNodeSaving*float64(max(more, 1))) {
		return false
	}
	refused := map[string]bool{}
	for _, u := range other.Unschedulable {
		for _, pod := range u.Pods {
			refused[pod.UID] = true
		}
	}
	return !slices.ContainsFunc(p.Unschedulable, func(u UnschedulablePods) bool {
		return slices.ContainsFunc(u.Pods, func(pod *model.Pod) bool { return !refused[pod.UID] })
	})
}
