package instancetype

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// offered are the labels that depend on the offering: their values are those of available offerings. Without one they match nothing.
func offered() []string {
	return []string{corev1.LabelTopologyZone, v1.CapacityTypeLabelKey, label.PlacementScope, label.SKUUltraSSD}
}

// requirements are the labels that nodes of the type may have, sorted by key: every well-known label, with DoesNotExist where it does not
// apply, and the generations of Hyper-V, which images require.
//
// Source: Azure provider specification, well-known scheduling labels.
func (in *Input) requirements(offerings []cloud.Offering) []v1.NodeSelectorRequirementWithMinValues {
	d := &in.SKU
	vcpus, mebibytes := strconv.FormatInt(d.VCPUs, 10), strconv.FormatInt(int64(d.MemoryGiB*1024), 10)
	values := map[string][]string{
		corev1.LabelInstanceTypeStable: {d.Name},
		corev1.LabelArchStable:         {d.Architecture},
		corev1.LabelOSStable:           {string(corev1.Linux)},
		corev1.LabelTopologyRegion:     one(in.Settings.Location),
		label.SKUName:                  {d.Name},
		label.SKUFamily:                {d.Size.Family},
		label.SKUSeries:                {d.Size.Series()},
		label.SKUVersion:               {d.Size.Generation()},
		label.SKUCPU:                   {vcpus},
		label.SKUMemory:                {mebibytes},
		label.SKUAcceleratedNetwork:    {strconv.FormatBool(d.AcceleratedNetworking)},
		label.SKUPremiumStorage:        {strconv.FormatBool(d.PremiumStorage)},
		label.SKUGPUCount:              {strconv.FormatInt(d.GPUs, 10)},
		label.SKUGPUManufacturer:       one(d.GPU.Manufacturer),
		label.SKUGPUName:               one(d.Size.Accelerator),
		label.SKUHyperVGeneration:      d.HyperVGenerations,
		label.AKSSKUCPU:                {vcpus},
		label.AKSSKUMemory:             {mebibytes},
		label.AKSCluster:               one(label.ClusterValue(in.Settings.NodeResourceGroup)),
		label.AKSMode:                  {label.ModeSystem, label.ModeUser},
		label.AKSScaleSetPriority:      {label.PriorityRegular, label.PrioritySpot},
		label.AKSPriority:              {label.PriorityRegular, label.PrioritySpot},
		label.AKSOSSKU:                 {in.Class.osSKU()},
	}
	if d.Disk.SizeGB > 0 {
		values[label.SKUEphemeralOSDiskMax] = []string{strconv.FormatInt(d.Disk.SizeGB, 10)}
	}
	if in.Class.FIPS {
		values[label.AKSFIPSEnabled] = []string{label.True}
	}
	for key := range label.Rules().WellKnown {
		if _, ok := values[key]; !ok && key != v1.NodePoolLabelKey {
			values[key] = nil
		}
	}
	out := make([]v1.NodeSelectorRequirementWithMinValues, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		switch {
		case slices.Contains(offered(), key):
			out = append(out, cloud.In(key, offeredValues(offerings, key)...))
		case len(values[key]) == 0:
			out = append(out, cloud.DoesNotExist(key))
		default:
			out = append(out, cloud.In(key, slices.Clone(values[key])...))
		}
	}
	return out
}

// offeredValues are the values of a label in available offerings, sorted.
func offeredValues(offerings []cloud.Offering, key string) []string {
	var values []string
	for _, o := range offerings {
		if !o.Available {
			continue
		}
		for _, r := range o.Requirements {
			if r.Key == key {
				values = append(values, r.Values...)
			}
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// one is a list of one value, or nil for an empty one.
func one(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}
