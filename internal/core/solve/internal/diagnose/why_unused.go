package diagnose

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

// whyUnused are the reasons of the pools that may not launch now, and from which the class could get nodes otherwise.
func (s diagnosis) whyUnused(c *compile.Class) (out unschedulable.Reasons) {
	for _, skipped := range s.Problem.Skipped {
		named := names(c, skipped.Pool)
		if named || !skipped.ForOthers && (len(s.Problem.Pools) == 0 || s.suits(c, skipped.Pool)) {
			out = append(out, unschedulable.Reason{Code: unschedulable.PoolNotUsed, Pool: skipped.Name, Why: skipped.Why})
		}
	}
	return out
}

// whyEmptyFor are the reasons of the pools whose requirements leave nothing to launch, and from which the class could get nodes otherwise.
func (s diagnosis) whyEmptyFor(c *compile.Class) (out unschedulable.Reasons) {
	for i, t := range s.Unlaunchable {
		if names(c, t.Pool) || s.suits(c, t.Pool) {
			out = append(out, s.emptyPool(i))
		}
	}
	return out
}

// whyEmpty is the reason where no pool has anything to launch.
func (s diagnosis) whyEmpty() (out unschedulable.Reasons) {
	for i := range s.Unlaunchable {
		out = append(out, s.emptyPool(i))
	}
	if len(out) == 0 {
		out = unschedulable.Reasons{{Code: unschedulable.PoolEmpty}}
	}
	return out
}

// emptyPool is why there is nothing to launch from a pool; it is the same for all pods.
func (s diagnosis) emptyPool(number int) unschedulable.Reason {
	r, ok := s.empty[number]
	if !ok {
		t := s.Unlaunchable[number]
		r = unschedulable.EmptyPool(t.Pool.Requirements, t.Pool.Catalog)
		r.Pool, r.UnavailableOfferings = t.Pool.Name, UnavailableOfferings(t)
		s.empty[number] = r
	}
	return r
}

// names reports whether pods of the class require the pool by its name.
func names(c *compile.Class, pool *model.Pool) bool {
	want := c.Final.Set.Get(unschedulable.NodePoolKey)
	return !want.Complement() && slices.Contains(want.Values(), pool.Name)
}

// suits reports whether taints and labels of the pool let pods of the class on its nodes.
func (s diagnosis) suits(c *compile.Class, pool *model.Pool) bool {
	_, repelled := model.Untolerated(pool.Taints, c.Shape.Tolerations, c.Final.Tolerant)
	return !repelled && pool.Requirements.Compatible(c.Final.Set, s.Problem.Options.WellKnown)
}

// unusedHave reports whether a pool that is not used has one of the values of a label.
func (s diagnosis) unusedHave(key string, values []string) bool {
	has := func(pool *model.Pool) bool {
		return pool.Requirements.Has(key) && slices.ContainsFunc(values, pool.Requirements.Get(key).Has)
	}
	return slices.ContainsFunc(s.Problem.Skipped, func(p model.SkippedPool) bool { return has(p.Pool) }) ||
		slices.ContainsFunc(s.Unlaunchable, func(t *compile.Template) bool { return has(t.Pool) })
}
