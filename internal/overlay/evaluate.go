package overlay

import (
	"slices"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// Evaluate validates overlays against pools. Results are in order of precedence. The corrections cover exactly these pools.
//
// An overlay that is invalid, or conflicts with an earlier one in any pool, has no effect. Two overlays conflict if they have the
// same weight and change the price of the same offering, or the same resource of the same type, in the same pool, even where an
// overlay of higher weight takes precedence.
//
// Cost: overlays × distinct pools × offerings. Pools with equal lists and equal labels, as far as overlays use them, count once.
func Evaluate(overlays []*v1alpha1.NodeOverlay, pools []Pool, rules v1.LabelRules) (*Corrections, []Result) {
	c := &Corrections{rules: rules, pools: make(map[string]requirement.Set, len(pools))}
	ordered := inOrder(overlays)
	results := make([]Result, len(ordered))
	var valid []int // indexes of ordered
	for i, o := range ordered {
		results[i].Overlay = o
		if err := o.RuntimeValidate(rules); err != nil {
			results[i].Reason, results[i].Message = v1alpha1.ReasonRuntimeValidation, err.Error()
			continue
		}
		valid = append(valid, i)
	}
	terms := make([]term, len(valid))
	for k, i := range valid {
		terms[k] = newTerm(ordered[i], rules)
	}
	for _, p := range pools {
		c.pools[p.NodePool.Name] = labelsOf(p.NodePool, rules)
	}
	scenes := c.labeledTypes(pools, keysOf(terms))
	for k, i := range valid {
		if other, conflicts := apply(terms[k], scenes); conflicts {
			results[i].Reason, results[i].Message, results[i].With = v1alpha1.ReasonConflict, conflictMessage, other
			continue
		}
		results[i].Unmatched = !slices.ContainsFunc(scenes, func(s *labeledTypes) bool { return s.matches(terms[k]) })
		c.terms = append(c.terms, terms[k])
	}
	c.keys = keysOf(c.terms)
	return c, results
}

// labeledTypes is a list of instance types for pools with certain labels, and the overlays that apply to it.
type labeledTypes struct {
	types    []*cloud.InstanceType
	views    []typeLabels
	prices   [][]target           // by type and offering
	capacity []map[string]*target // by type and resource
}

// target is a price or resource that overlays change. Overlays are applied in descending order of weight, so the last one has the
// lowest.
type target struct{ last *term }

// labeledTypes returns the distinct pairs of types and labels of the pools; labels with other keys do not distinguish pools.
func (c *Corrections) labeledTypes(pools []Pool, keys []string) []*labeledTypes {
	known := map[string][]*labeledTypes{}
	var out []*labeledTypes
	for _, p := range pools {
		labels := c.pools[p.NodePool.Name]
		id := project(labels, keys)
		if slices.ContainsFunc(known[id], func(s *labeledTypes) bool { return slices.Equal(s.types, p.Types) }) {
			continue
		}
		s := &labeledTypes{types: p.Types}
		for _, t := range p.Types {
			s.views = append(s.views, newTypeLabels(t, labels, c.rules))
			s.prices = append(s.prices, make([]target, len(t.Offerings)))
			s.capacity = append(s.capacity, map[string]*target{})
		}
		known[id] = append(known[id], s)
		out = append(out, s)
	}
	return out
}

// apply records an overlay at its targets, unless it conflicts with an earlier one; of several it returns the first by name.
func apply(t term, scenes []*labeledTypes) (with string, conflicts bool) {
	var touched []*target
	for _, s := range scenes {
		touched = append(touched, s.targetsOf(t)...)
	}
	for _, s := range touched {
		if s.last != nil && s.last.weight == t.weight && (!conflicts || s.last.name < with) {
			with, conflicts = s.last.name, true
		}
	}
	if conflicts {
		return with, true
	}
	for _, s := range touched {
		s.last = &t
	}
	return "", false
}

// matches reports whether an instance type of the list meets the requirements of the overlay.
func (s *labeledTypes) matches(t term) bool {
	return slices.ContainsFunc(s.views, func(v typeLabels) bool { return len(v.matches(t.want)) > 0 })
}

// targetsOf returns all prices and resources that the overlay applies to.
func (s *labeledTypes) targetsOf(t term) []*target {
	var out []*target
	for i, v := range s.views {
		offerings := v.matches(t.want)
		if len(offerings) == 0 {
			continue
		}
		if t.price.Changes() {
			for _, o := range offerings {
				out = append(out, &s.prices[i][o])
			}
		}
		for name := range t.capacity {
			resource := string(name)
			if s.capacity[i][resource] == nil {
				s.capacity[i][resource] = &target{}
			}
			out = append(out, s.capacity[i][resource])
		}
	}
	return out
}

// keysOf returns the keys of terms, sorted.
func keysOf(terms []term) []string {
	var out []string
	for _, t := range terms {
		for _, r := range t.want {
			out = append(out, r.Key)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// project returns the labels with the given keys, which are sorted, as text.
func project(labels requirement.Set, keys []string) string {
	var asked requirement.Set
	for _, r := range labels {
		if _, ok := slices.BinarySearch(keys, r.Key); ok {
			asked = append(asked, r)
		}
	}
	return asked.String()
}
