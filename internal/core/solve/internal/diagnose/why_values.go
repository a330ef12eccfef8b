package diagnose

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

// maxRanked is for how many unschedulable classes known values are ranked: each costs about a millisecond, and tenants decide how many there are.
const maxRanked = 200

// unknownValues are the labels for which nothing has any of the values that a class requires: most often they are mistyped. class is the
// number of the class among the unschedulable ones.
func (s diagnosis) unknownValues(c *compile.Class, class int) []unschedulable.UnknownValue {
	var out []unschedulable.UnknownValue
	for _, want := range c.Final.Set {
		if u, unknown := unschedulable.Unknown(want, s.knownValues(want.Key), class < maxRanked); unknown && !s.unusedHave(u.Key, u.Values) {
			out = append(out, u)
		}
	}
	return out
}

// knownValues are the values of a label that instance types, and pools that can launch, have; nil if the label is open: a pool lets its nodes have any.
func (s diagnosis) knownValues(key string) []string {
	if known, ok := s.known[key]; ok {
		return known
	}
	var values []string
	for _, pool := range s.Problem.Pools {
		values = append(values, pool.Catalog.Values(key)...)
	}
	if len(values) == 0 {
		for _, t := range s.Templates {
			if have := t.Pool.Requirements.Get(key); t.Pool.Requirements.Has(key) && have.Complement() {
				values = nil
				break
			} else if t.Pool.Requirements.Has(key) {
				values = append(values, have.Values()...)
			}
		}
	}
	s.known[key] = slices.Compact(slices.Sorted(slices.Values(values)))
	return s.known[key]
}

// withUnknownValues adds to the reason those unknown values that it is about.
func withUnknownValues(r unschedulable.Reason, unknown []unschedulable.UnknownValue) unschedulable.Reason {
	for _, u := range unknown {
		if r.Code == unschedulable.RequirementConflict && r.Conflict.Key == u.Key || r.Code == unschedulable.NoInstanceType {
			r.UnknownValues = append(r.UnknownValues, u)
		}
	}
	return r
}
