package translate

import (
	"encoding/binary"
	"fmt"
	"math"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// Catalog translates the instance types a provider lists.
func (t *Translator) Catalog(types []*cloud.InstanceType) catalog.Catalog {
	r := catalogReader{translator: t, labels: entryReader{rules: t.labels.rules}, kinds: map[string]*catalog.Kind{}}
	offerings, entries := 0, 0
	for _, it := range types {
		offerings += len(it.Offerings)
		entries += len(it.Requirements)
	}
	// The values of one list have the same lifetime, so they share allocations.
	r.offerings = make([]catalog.Offering, 0, offerings)
	r.labels.space = make([]requirement.Requirement, entries)
	r.types = make([]catalog.InstanceType, len(types))
	r.groups = make([]catalog.Group, len(types))
	out := make(catalog.Catalog, len(types))
	for i, it := range types {
		out[i] = &r.types[i]
		r.groups[i].Allocatable = t.amounts.allocatable(it)
		r.read(out[i], it, r.groups[i:i+1:i+1])
		r.before, r.beforeOut = it, out[i]
	}
	return out
}

// catalogReader translates one list of instance types.
type catalogReader struct {
	translator *Translator
	types      []catalog.InstanceType
	groups     []catalog.Group
	offerings  []catalog.Offering
	// labels translates the requirements of types, and kinds are those of offerings.
	labels  entryReader
	kinds   map[string]*catalog.Kind
	scratch []byte
	// before is the type translated last, to beforeOut: its offerings are mostly those of the next one.
	before    *cloud.InstanceType
	beforeOut *catalog.InstanceType
	devices   map[*cloud.DynamicResources]*device.Template
}

// read translates it into out. groups holds group 0.
func (r *catalogReader) read(out *catalog.InstanceType, it *cloud.InstanceType, groups []catalog.Group) {
	*out = catalog.InstanceType{
		Name:         it.Name,
		Requirements: r.labels.read(it.Requirements),
		Capacity:     r.translator.Vector(it.Capacity),
		Groups:       groups,
		Attachable:   it.VolumeLimits,
		Devices:      r.templateOf(it.DynamicResources),

		PriceOverlaid: it.PriceOverlaid(), CapacityOverlaid: it.CapacityOverlaid, Exotic: it.Exotic,
	}
	first := len(r.offerings)
	var known map[string]int
	for i := range it.Offerings {
		o := &it.Offerings[i]
		group := catalog.Unavailable
		if o.Available {
			group = 0
			if len(o.CapacityOverride)+len(o.OverheadOverride) > 0 {
				if known == nil {
					known = map[string]int{}
				}
				group = r.group(out, it, o, known)
			}
		}
		r.offerings = append(r.offerings, catalog.Offering{
			Kind:                r.kind(i, o.Requirements),
			Price:               o.Price,
			ReservationCapacity: int32(min(o.ReservationCapacity, math.MaxInt32)), //nolint:gosec // not more than fits
			Group:               int32(group),                                     //nolint:gosec // one for each offering at most
			Full:                o.Available && !o.Launchable(),
		})
	}
	out.Offerings = r.offerings[first:len(r.offerings):len(r.offerings)]
}

// group is the number of the group for the overrides of o; known are those of the type so far.
func (r *catalogReader) group(out *catalog.InstanceType, it *cloud.InstanceType, o *cloud.Offering, known map[string]int) int {
	t := r.translator
	overrides := fmt.Sprint(t.Vector(o.CapacityOverride), t.Vector(o.OverheadOverride))
	group, ok := known[overrides]
	if !ok {
		group = len(out.Groups)
		known[overrides] = group
		out.Groups = append(out.Groups, catalog.Group{Allocatable: t.Vector(it.AllocatableOf(o))})
	}
	return group
}

// kind translates the requirements of a type's offering number i, once each.
func (r *catalogReader) kind(i int, entries []v1.NodeSelectorRequirementWithMinValues) *catalog.Kind {
	if r.before != nil && i < len(r.before.Offerings) && sameEntries(r.before.Offerings[i].Requirements, entries) {
		return r.beforeOut.Offerings[i].Kind
	}
	id := r.scratch[:0]
	for i := range entries {
		e := &entries[i]
		least := 0
		if e.MinValues != nil {
			least = *e.MinValues
		}
		id = binary.AppendVarint(appendString(appendString(id, e.Key), string(e.Operator)), int64(least))
		id = appendStrings(id, e.Values)
	}
	r.scratch = id
	kind, ok := r.kinds[string(id)]
	if !ok {
		kind = &catalog.Kind{Requirements: cloud.Requirements(entries, r.translator.labels.rules)}
		r.kinds[string(id)] = kind
	}
	return kind
}
