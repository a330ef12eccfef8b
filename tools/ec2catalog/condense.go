package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	// mostPods is the largest pod limit that the cloud's network plugin documents.
	mostPods = 737
	// defaultPods is the limit of types with unknown network limits.
	defaultPods = 110
)

// catalogType is one line of a catalogue; the kwok cloud reads the same fields.
type catalogType struct {
	Name     string           `json:"name"`
	Arch     string           `json:"arch"`
	CPU      int64            `json:"cpu"`
	MemoryMi int64            `json:"memoryMi"`
	Pods     int64            `json:"pods"`
	Extended map[string]int64 `json:"extended,omitempty"`
	OnDemand float64          `json:"onDemand"`
	Spot     float64          `json:"spot,omitempty"`
	Zones    string           `json:"zones"`
}

// condense keeps what can run Linux nodes in region: it has an on-demand price and at least one zone. Types that the
// data set prices but places in no zone are no longer offered; Macs do not run Linux.
func condense(instances []instance, region string) ([]catalogType, error) {
	var out []catalogType
	for _, in := range instances {
		price := in.Pricing[region].Linux
		arch, linux := architecture(in.Arch)
		if price == nil || price.OnDemand <= 0 || len(in.Zones[region]) == 0 || !linux {
			continue
		}
		zones, err := zoneLetters(in.Zones[region])
		if err != nil {
			return nil, fmt.Errorf("type %q: %w", in.Type, err)
		}
		extended, err := extendedResources(in)
		if err != nil {
			return nil, fmt.Errorf("type %q: %w", in.Type, err)
		}
		if in.VCPU <= 0 || in.Memory <= 0 {
			return nil, fmt.Errorf("type %q: %d CPUs and %g GiB of memory", in.Type, in.VCPU, in.Memory)
		}
		out = append(out, catalogType{
			Name: in.Type, Arch: arch, CPU: in.VCPU, MemoryMi: int64(math.Round(in.Memory * 1024)),
			Pods: podLimit(in), Extended: extended, OnDemand: price.OnDemand, Spot: max(price.SpotAvg, 0), Zones: zones,
		})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the region offers no instance type")
	}
	slices.SortFunc(out, func(a, b catalogType) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(out); i++ {
		if out[i].Name == out[i-1].Name {
			return nil, fmt.Errorf("type %q appears twice", out[i].Name)
		}
	}
	return out, nil
}

// architecture is the Kubernetes name of a type's architecture; false for those that Linux nodes do not run on.
func architecture(archs []string) (string, bool) {
	switch {
	case slices.Contains(archs, "x86_64"):
		return "amd64", true
	case slices.Contains(archs, "arm64"):
		return "arm64", true
	default:
		return "", false
	}
}

// podLimit is how many pods get an address: every network interface keeps one for itself, and two pods use the host's.
func podLimit(in instance) int64 {
	if in.VPC == nil || in.VPC.MaxENIs <= 0 || in.VPC.IPsPerENI <= 0 {
		return defaultPods
	}
	return min(in.VPC.MaxENIs*(in.VPC.IPsPerENI-1)+2, mostPods)
}

// zoneLetters turns zone ids into letters: az1 is a, az2 is b. Which letter an id has differs by account; this is the
// order of the ids.
func zoneLetters(ids []string) (string, error) {
	var letters []byte
	for _, id := range ids {
		_, number, ok := strings.Cut(id, "-az")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n < 1 || n > 26 {
			return "", fmt.Errorf("zone id %q is not of the form <region>-az<number>", id)
		}
		letters = append(letters, byte('a'+n-1))
	}
	slices.Sort(letters)
	return string(slices.Compact(letters)), nil
}

// extendedResources are the accelerators as their device plugins name them. The data set is silent or wrong about two
// types, whose documented numbers stand in.
func extendedResources(in instance) (map[string]int64, error) {
	switch in.Type {
	case "dl1.24xlarge":
		return map[string]int64{"habana.ai/gaudi": 8}, nil
	case "trn2.48xlarge":
		return map[string]int64{"aws.amazon.com/neuron": 16}, nil
	}
	if in.GPU == 0 {
		return nil, nil
	}
	maker, _, _ := strings.Cut(in.GPUModel, " ")
	name, known := map[string]string{
		"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu", "AWS": "aws.amazon.com/neuron",
	}[maker]
	if !known {
		return nil, fmt.Errorf("%d accelerators of unknown model %q: add the resource name", in.GPU, in.GPUModel)
	}
	return map[string]int64{name: in.GPU}, nil
}
