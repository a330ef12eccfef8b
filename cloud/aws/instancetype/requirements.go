package instancetype

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// requirements are the labels that nodes of the type may have, sorted by key: every well-known label, with DoesNotExist
// where it does not apply. Labels that depend on the offering are those of available offerings.
func (in *Input) requirements(offerings []cloud.Offering) []v1.NodeSelectorRequirementWithMinValues {
	d, c := &in.Description, &in.Class
	category, generation, family, size := nameParts(d.Name)
	values := map[string][]string{
		corev1.LabelInstanceTypeStable:     {d.Name},
		corev1.LabelArchStable:             {d.architecture()},
		corev1.LabelOSStable:               systems(d, c),
		corev1.LabelWindowsBuild:           one(c.traits().WindowsBuild),
		corev1.LabelTopologyRegion:         one(in.Settings.Region),
		awsv1.LabelInstanceCategory:        one(category),
		awsv1.LabelInstanceGeneration:      one(generation),
		awsv1.LabelInstanceFamily:          one(family),
		awsv1.LabelInstanceSize:            one(size),
		awsv1.LabelInstanceCapabilityFlex:  {strconv.FormatBool(strings.Contains(family, "-flex"))},
		awsv1.LabelInstanceCPU:             {strconv.FormatInt(d.VCPUs, 10)},
		awsv1.LabelInstanceCPUManufacturer: one(kebab(d.CPUManufacturer)),
		awsv1.LabelInstanceMemory:          {strconv.FormatInt(d.MemoryMiB, 10)},
		awsv1.LabelInstanceHypervisor:      {d.Hypervisor},
		awsv1.LabelNitroSandbox:            {strconv.FormatBool(d.NitroEnclaves)},
		awsv1.LabelInstanceTenancy:         {awsv1.TenancyDedicated, awsv1.TenancyDefault},
		awsv1.LabelInstanceEncryptionInTransit: {
			strconv.FormatBool(d.Network != nil && d.Network.EncryptionInTransit),
		},
		awsv1.LabelInstanceCPUClockSpeed:    number(int64(math.Round(d.ClockGHz * 1000))),
		awsv1.LabelInstanceNetworkBandwidth: number(in.Limits.BandwidthMbps),
	}
	if d.EBSOptimized == "default" {
		values[awsv1.LabelInstanceEBSBandwidth] = number(d.EBSMaxMbps)
	}
	if d.NVMe != "" && d.NVMe != "unsupported" {
		values[awsv1.LabelInstanceLocalNVMe] = number(d.InstanceStorageGB)
	}
	maps.Copy(values, acceleratorLabels(d))
	rules := awsv1.LabelRules()
	for key := range rules.WellKnown {
		if _, ok := values[key]; !ok && key != v1.NodePoolLabelKey {
			values[key] = offeredValues(offerings, key)
		}
	}
	if c.PlacementGroup != nil {
		values[awsv1.LabelPlacementGroupID] = []string{c.PlacementGroup.ID}
	}
	out := make([]v1.NodeSelectorRequirementWithMinValues, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		out = append(out, in.requirement(key, values[key]))
	}
	return out
}

// requirement is one label. An operating system that a family does not support leaves no value, which matches no pod.
func (in *Input) requirement(key string, values []string) v1.NodeSelectorRequirementWithMinValues {
	if len(values) == 0 && key != corev1.LabelOSStable {
		return cloud.DoesNotExist(key)
	}
	return cloud.In(key, values...)
}

// systems are the operating systems of the type: Windows supports only x86.
func systems(d *Description, c *Class) []string {
	switch {
	case !c.Family.Windows():
		return []string{string(corev1.Linux)}
	case d.architecture() == "amd64":
		return []string{string(corev1.Windows)}
	default:
		return nil
	}
}

// acceleratorLabels are the labels of the only kind of GPU and the only kind of accelerator of a type. Types with
// several kinds have none.
func acceleratorLabels(d *Description) map[string][]string {
	out := map[string][]string{}
	if len(d.GPUs) == 1 {
		gpu := d.GPUs[0]
		out[awsv1.LabelInstanceGPUName] = one(kebab(gpu.Name))
		out[awsv1.LabelInstanceGPUManufacturer] = one(kebab(gpu.Manufacturer))
		out[awsv1.LabelInstanceGPUCount] = number(gpu.Count)
		out[awsv1.LabelInstanceGPUMemory] = number(gpu.MemoryMiB)
	}
	var name, manufacturer string
	var n int64
	switch {
	case len(d.Neurons) == 1:
		name, manufacturer, n = d.Neurons[0].Name, "aws", d.Neurons[0].Count
	case len(d.Neurons) == 0 && len(d.InferenceAccelerators) == 1:
		accelerator := d.InferenceAccelerators[0]
		name, manufacturer, n = accelerator.Name, accelerator.Manufacturer, accelerator.Count
	default:
		return out
	}
	out[awsv1.LabelInstanceAcceleratorName] = one(kebab(name))
	out[awsv1.LabelInstanceAcceleratorManufacturer] = one(kebab(manufacturer))
	out[awsv1.LabelInstanceAcceleratorCount] = number(n)
	return out
}

// offeredValues are the values of a label in available offerings, sorted.
func offeredValues(offerings []cloud.Offering, key string) []string {
	var values []string
	for _, o := range offerings {
		if !o.Available {
			continue
		}
		if value := o.Label(key); value != "" {
			values = append(values, value)
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

// number is a list of one number, or nil for an unknown one.
func number(n int64) []string {
	if n <= 0 {
		return nil
	}
	return []string{strconv.FormatInt(n, 10)}
}

// kebab formats a name as a label value.
func kebab(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }
