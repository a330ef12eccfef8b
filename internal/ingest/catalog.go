package ingest

import (
	"fmt"
	"slices"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/catalog"
)

// Catalog translates the instance types a provider lists.
func (t *Translator) Catalog(types []*cloud.InstanceType) catalog.Catalog {
	out := make(catalog.Catalog, len(types))
	for i, it := range types {
		out[i] = t.instanceType(it)
	}
	return out
}

func (t *Translator) instanceType(it *cloud.InstanceType) *catalog.InstanceType {
	out := &catalog.InstanceType{
		Name:         it.Name,
		Requirements: cloud.Requirements(it.Requirements, t.labels),
		Capacity:     t.Vector(it.Capacity),
		Groups:       []catalog.Group{{Allocatable: t.Vector(it.Allocatable())}},
		Attachable:   it.VolumeLimits,

		PriceOverlaid: it.PriceOverlaid(), CapacityOverlaid: it.CapacityOverlaid,
	}
	groups := map[string]int{"": 0}
	for i := range it.Offerings {
		o := &it.Offerings[i]
		group := -1
		if o.Launchable() {
			overrides := ""
			if len(o.CapacityOverride)+len(o.OverheadOverride) > 0 {
				overrides = fmt.Sprint(t.Vector(o.CapacityOverride), t.Vector(o.OverheadOverride))
			}
			known, ok := groups[overrides]
			if !ok {
				known = len(out.Groups)
				groups[overrides] = known
				out.Groups = append(out.Groups, catalog.Group{Allocatable: t.Vector(it.AllocatableOf(o))})
			}
			group = known
		}
		out.Offerings = append(out.Offerings, catalog.Offering{
			Requirements:        cloud.Requirements(o.Requirements, t.labels),
			Price:               o.Price,
			Available:           group >= 0,
			ReservationCapacity: o.ReservationCapacity,
			Group:               group,
		})
	}
	out.Offerings = slices.Clip(out.Offerings)
	return out
}
