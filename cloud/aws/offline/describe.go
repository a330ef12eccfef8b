package offline

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
)

// The network of types without a description: that of the smallest types.
const (
	fewInterfaces = 2
	fewAddresses  = 4
)

// entry is an instance type of a region, with its offerings.
type entry struct {
	description instancetype.Description
	limits      instancetype.NetworkLimits
	zones       []string
	onDemand    float64
	spot        map[string]float64 // by zone
}

// describe approximates EC2's description of a type of a catalog.
func describe(t *cloud.InstanceType, limits instancetype.NetworkLimits, h hardware) entry {
	e := entry{limits: limits, spot: map[string]float64{}}
	d := &e.description
	family, size, _ := strings.Cut(t.Name, ".")
	*d = instancetype.Description{
		Name: t.Name, VCPUs: t.Capacity.Cpu().Value(), MemoryMiB: t.Capacity.Memory().Value() >> 20, Architectures: []string{"x86_64"},
		CPUManufacturer: h.maker, ClockGHz: float64(h.megahertz) / 1000, UsageClasses: []string{v1.CapacityTypeOnDemand},
		BareMetal: strings.HasPrefix(size, "metal"), EBSOptimized: "default", EBSMaxMbps: h.ebsMbps, NVMe: "unsupported",
		PlacementStrategies: []string{"cluster", "partition", "spread"},
	}
	if cloud.Requirements(t.Requirements, v1.CoreLabelRules()).Get(corev1.LabelArchStable).Has("arm64") {
		d.Architectures = []string{"arm64"}
	}
	if h.diskGB > 0 {
		d.NVMe, d.InstanceStorageGB = "required", h.diskGB
	}
	switch {
	case d.BareMetal:
	case beforeNitro(family):
		d.Hypervisor = "xen"
	default:
		d.Hypervisor, d.NitroEnclaves = "nitro", d.VCPUs >= 4
	}
	d.Network = &instancetype.Network{
		Cards: cards(limits, h), IPv4PerInterface: cmp.Or(limits.IPv4PerInterface, fewAddresses), ENASupported: true,
		EFASupported: h.fabricAdapters > 0, MaximumEFAs: h.fabricAdapters, EncryptionInTransit: !beforeNitro(family),
	}
	accelerate(d, t.Capacity, family, h)
	for i := range t.Offerings {
		o := &t.Offerings[i]
		if o.CapacityType() == v1.CapacityTypeSpot {
			e.spot[o.Zone()] = o.Price
			continue
		}
		e.zones, e.onDemand = append(e.zones, o.Zone()), o.Price
	}
	if len(e.spot) > 0 {
		d.UsageClasses = append(d.UsageClasses, v1.CapacityTypeSpot)
	}
	return e
}

// cards are the network cards of a type: one that has all interfaces, if the table does not have them.
func cards(limits instancetype.NetworkLimits, h hardware) []instancetype.Card {
	if len(h.cards) == 0 {
		return []instancetype.Card{{MaximumInterfaces: cmp.Or(limits.Interfaces, fewInterfaces)}}
	}
	out := make([]instancetype.Card, len(h.cards))
	for index, interfaces := range h.cards {
		out[index] = instancetype.Card{Index: int64(index), MaximumInterfaces: interfaces}
	}
	return out
}

// beforeNitro reports whether a family is from before the Nitro system.
func beforeNitro(family string) bool {
	return slices.Contains([]string{
		"c1", "c3", "c4", "d2", "f1", "g2", "g3", "g3s", "h1", "i2", "i3", "m1", "m2", "m3", "m4", "p2", "p3", "r3", "r4", "t1", "t2", "x1", "x1e",
	}, family)
}

// accelerate adds the accelerators that the catalog counts.
func accelerate(d *instancetype.Description, has corev1.ResourceList, family string, h hardware) {
	count := func(name corev1.ResourceName) int64 {
		q := has[name]
		return q.Value()
	}
	for _, kind := range []struct {
		resource            corev1.ResourceName
		manufacturer, model string
	}{
		{awsv1.ResourceNVIDIAGPU, "NVIDIA", h.gpuModel}, {awsv1.ResourceAMDGPU, "AMD", h.gpuModel}, {awsv1.ResourceGaudi, "Habana", "Gaudi HL-205"},
	} {
		if n := count(kind.resource); n > 0 {
			d.GPUs = append(d.GPUs, instancetype.Accelerator{Name: kind.model, Manufacturer: kind.manufacturer, Count: n, MemoryMiB: h.gpuMiB})
		}
	}
	n := count(awsv1.ResourceNeuron)
	if n == 0 {
		return
	}
	neuron := map[string]instancetype.Neuron{
		"inf1": {Name: "Inferentia", Cores: 4}, "inf2": {Name: "Inferentia2", Cores: 2}, "trn1": {Name: "Trainium", Cores: 2}, "trn1n": {Name: "Trainium", Cores: 2},
		"trn2": {Name: "Trainium2", Cores: 8},
	}[family]
	neuron.Count = n
	d.Neurons = []instancetype.Neuron{neuron}
}
