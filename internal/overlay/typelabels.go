package overlay

import (
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// typeLabels is an instance type of a pool in the terms of the label algebra.
type typeLabels struct {
	// labels are those of the pool and of the type, intersected where both have a key.
	labels requirement.Set
	// offerings are the labels of each offering, intersected with those of the pool.
	offerings []requirement.Set
	// varies holds the keys that some offering has: their values depend on the offering.
	varies map[string]bool
}

func newTypeLabels(t *cloud.InstanceType, pool requirement.Set, rules v1.LabelRules) typeLabels {
	out := typeLabels{
		labels:    cloud.Requirements(t.Requirements, rules).And(pool),
		offerings: make([]requirement.Set, len(t.Offerings)),
		varies:    map[string]bool{},
	}
	for i := range t.Offerings {
		set := cloud.Requirements(t.Offerings[i].Requirements, rules)
		for k, r := range set {
			out.varies[r.Key] = true
			if pool.Has(r.Key) {
				set[k] = r.Intersect(pool.Get(r.Key))
			}
		}
		out.offerings[i] = set
	}
	return out
}

// matches are the indexes of the offerings that want selects. An offering is judged by its own labels where it has them,
// else by those of type and pool; a label that none of them has is only matched by its absence.
//
// The zones and capacity types of the type itself are not used: they leave out unavailable offerings, and the price of a running
// node does not depend on availability.
func (v typeLabels) matches(want requirement.Set) []int {
	for _, w := range want {
		if !v.varies[w.Key] && !meets(v.labels, w) {
			return nil
		}
	}
	var out []int
	for i, offering := range v.offerings {
		if v.selects(offering, want) {
			out = append(out, i)
		}
	}
	return out
}

func (v typeLabels) selects(offering, want requirement.Set) bool {
	for _, w := range want {
		if !v.varies[w.Key] {
			continue // decided by the type
		}
		described := offering
		if !offering.Has(w.Key) {
			described = v.labels
		}
		if !meets(described, w) {
			return false
		}
	}
	return true
}

// meets reports whether labels strictly satisfy one requirement.
func meets(labels requirement.Set, want requirement.Requirement) bool {
	return labels.Compatible(requirement.Set{want}, requirement.Strict)
}
