package overlay

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// Corrections are the overlays in effect and the pools that they were evaluated against. They never change.
type Corrections struct {
	rules v1.LabelRules
	terms []term // in order of precedence
	keys  []string
	pools map[string]requirement.Set // labels by name
}

// Covers reports whether the pool was part of the evaluation.
func (c *Corrections) Covers(pool string) bool {
	_, ok := c.pools[pool]
	return ok
}

// Apply returns types with the corrections for a covered pool. Types without corrections are returned as they are, and so is the
// list if no type has any.
func (c *Corrections) Apply(pool string, types []*cloud.InstanceType) []*cloud.InstanceType {
	if len(c.terms) == 0 {
		return types
	}
	labels, out := c.pools[pool], types
	for i, t := range types {
		corrected := c.correct(t, newTypeLabels(t, labels, c.rules))
		if corrected == t {
			continue
		}
		if &out[0] == &types[0] {
			out = slices.Clone(types)
		}
		out[i] = corrected
	}
	return out
}

// correct is t itself, or a copy of it with what the overlays change.
func (c *Corrections) correct(t *cloud.InstanceType, v typeLabels) *cloud.InstanceType {
	priced := make([]bool, len(t.Offerings))
	var offerings []cloud.Offering
	var capacity corev1.ResourceList
	for _, term := range c.terms {
		matched := v.matches(term.want)
		if len(matched) == 0 {
			continue
		}
		if term.price.Changes() {
			for _, i := range matched {
				if priced[i] {
					continue
				}
				if offerings == nil {
					offerings = slices.Clone(t.Offerings)
				}
				priced[i] = true
				offerings[i].Price, offerings[i].PriceOverlaid = term.price.Apply(t.Offerings[i].Price), true
			}
		}
		for name, quantity := range term.capacity {
			if _, decided := capacity[name]; decided {
				continue
			}
			if capacity == nil {
				capacity = corev1.ResourceList{}
			}
			capacity[name] = quantity
		}
	}
	if offerings == nil && capacity == nil {
		return t
	}
	out := *t
	if offerings != nil {
		out.Offerings = offerings
	}
	if capacity != nil {
		out.Capacity = maps.Clone(t.Capacity)
		if out.Capacity == nil {
			out.Capacity = corev1.ResourceList{}
		}
		maps.Copy(out.Capacity, capacity)
		out.CapacityOverlaid = true
	}
	return &out
}
