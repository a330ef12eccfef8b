package kwok

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// DefaultCatalog is the default catalog.
const DefaultCatalog = "generic"

// catalog is the instance types of the cloud, as a source describes them.
type catalog struct {
	types []catalogType
	// offeringKeys are the labels that distinguish offerings, sorted. They become well-known.
	offeringKeys []string
}

// catalogType is one instance type before its labels are computed.
type catalogType struct {
	name      string
	arch      string
	systems   []string // operating systems
	region    string   // empty where there are no regions
	capacity  corev1.ResourceList
	offerings []cloud.Offering
	devices   *cloud.DynamicResources
	family    string // empty where it follows from the name, as the label says
	exotic    bool   // launched only where no other type can be
}

// CatalogNames are the valid values of Options.Catalog, sorted.
func CatalogNames() []string {
	names := append(regionCatalogNames(), DefaultCatalog, DevicesCatalog)
	slices.Sort(names)
	return names
}

// loadCatalog reads the catalog that opts name.
func loadCatalog(opts Options) (catalog, error) {
	named := opts.Catalog != "" && opts.Catalog != DefaultCatalog
	switch {
	case opts.InstanceTypesFile != "" && named:
		return catalog{}, fmt.Errorf("both the catalog %q and the instance types file %q are given: choose one",
			opts.Catalog, opts.InstanceTypesFile)
	case opts.InstanceTypesFile != "":
		return readFile(opts.InstanceTypesFile)
	case opts.Catalog == DevicesCatalog:
		return devicesCatalog()
	case named:
		return readRegion(opts.Catalog)
	default:
		return genericCatalog(), nil
	}
}

// offer is the offering of a zone and a capacity type.
func offer(zone, capacityType string, price float64) cloud.Offering {
	return cloud.Offering{
		Price:     price,
		Available: true,
		Requirements: []v1.NodeSelectorRequirementWithMinValues{
			cloud.In(v1.CapacityTypeLabelKey, capacityType),
			cloud.In(corev1.LabelTopologyZone, zone),
		},
	}
}

// offeringKeysOf are the keys used in any offering, sorted.
func offeringKeysOf(types []catalogType) []string {
	keys := map[string]bool{}
	for _, m := range types {
		for _, o := range m.offerings {
			for _, r := range o.Requirements {
				keys[r.Key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// overhead is reserved for the system on every node.
func overhead() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("100m"),
		corev1.ResourceMemory: resource.MustParse("10Mi"),
	}
}

// instanceTypes returns the catalog: every type defines every well-known label, and every offering every label that
// distinguishes offerings.
func instanceTypes(cat catalog, rules v1.LabelRules) []*cloud.InstanceType {
	shared := overhead()
	out := make([]*cloud.InstanceType, 0, len(cat.types))
	for _, m := range cat.types {
		t := &cloud.InstanceType{Name: m.name, Capacity: m.capacity, Overhead: shared, DynamicResources: m.devices, Exotic: m.exotic}
		for _, o := range m.offerings {
			t.Offerings = append(t.Offerings, definingAll(o, cat.offeringKeys))
		}
		t.Requirements = typeRequirements(m, cat.offeringKeys, rules)
		out = append(out, t)
	}
	return out
}

// definingAll is o with DoesNotExist for the keys that it does not define, so that nodes launched from it are known not
// to have these labels.
func definingAll(o cloud.Offering, keys []string) cloud.Offering {
	reqs := slices.Clip(o.Requirements)
	for _, key := range keys {
		if !slices.ContainsFunc(reqs, func(r v1.NodeSelectorRequirementWithMinValues) bool { return r.Key == key }) {
			reqs = append(reqs, cloud.DoesNotExist(key))
		}
	}
	o.Requirements = reqs
	return o
}

// typeRequirements are the labels that nodes of m may have, sorted by key.
func typeRequirements(m catalogType, offeringKeys []string, rules v1.LabelRules) []v1.NodeSelectorRequirementWithMinValues {
	cpus := m.capacity.Cpu().MilliValue() / 1000
	memory := m.capacity.Memory().Value() >> 20
	values := map[string][]string{
		corev1.LabelInstanceTypeStable: {m.name},
		corev1.LabelArchStable:         {m.arch},
		corev1.LabelOSStable:           m.systems,
		LabelInstanceSize:              {sizeOf(m.name, cpus)},
		LabelInstanceFamily:            {cmp.Or(m.family, familyOf(m.name))},
		LabelInstanceCPU:               {fmt.Sprint(cpus)},
		LabelInstanceMemory:            {fmt.Sprint(memory)},
	}
	if m.region != "" {
		values[corev1.LabelTopologyRegion] = []string{m.region}
	}
	for _, key := range offeringKeys {
		values[key] = offeredValues(m, key)
	}
	// The NodePool label is well-known but not a property of an instance type.
	for key := range rules.WellKnown {
		if _, ok := values[key]; !ok && key != v1.NodePoolLabelKey {
			values[key] = nil
		}
	}
	out := make([]v1.NodeSelectorRequirementWithMinValues, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if len(values[key]) == 0 {
			out = append(out, cloud.DoesNotExist(key))
			continue
		}
		out = append(out, cloud.In(key, values[key]...))
	}
	return out
}

// offeredValues are the values of key over the available offerings of m, sorted.
func offeredValues(m catalogType, key string) []string {
	var values []string
	for _, o := range m.offerings {
		for _, r := range o.Requirements {
			if r.Key == key && o.Available {
				values = append(values, r.Values...)
			}
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// unknownCatalog is the error for a name that is not in CatalogNames.
func unknownCatalog(name string) error {
	return fmt.Errorf("unknown catalog %q: known are %s", name, strings.Join(CatalogNames(), ", "))
}
