package cloud

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// InstanceType is an instance type with its offerings. It is shared and must not be changed once a provider has
// handed it out.
//
// Source: scheduling specification, instance type.
type InstanceType struct {
	// Name is the value of the node.kubernetes.io/instance-type label.
	Name string
	// Requirements are the labels a node of this type may have. They define every well-known label of the provider,
	// with DoesNotExist where a label does not apply. Zones and capacity types are those with an available offering.
	Requirements []v1.NodeSelectorRequirementWithMinValues
	// Offerings are the ways to buy it, unique by their labels.
	Offerings []Offering
	// Capacity is the capacity of a node.
	Capacity corev1.ResourceList
	// Overhead is what pods cannot use: kube-reserved, system-reserved and the eviction threshold together.
	Overhead corev1.ResourceList
	// VolumeLimits are the expected volume limits of each CSI driver on an instance, until its drivers
	// publish them. A missing driver has no known limit.
	VolumeLimits map[string]int
	// DynamicResources are the devices that drivers will publish; nil for none. Types with the same devices should share one.
	DynamicResources *DynamicResources
	// CapacityOverlaid says that a user corrected the capacity.
	CapacityOverlaid bool
	// Exotic says that the cloud launches the type only where no other type of the NodeClaim can be, unless the claim has minValues: bare
	// metal, for instance.
	Exotic bool
}

// hugePagesPrefix starts the resource names of huge pages, which are taken out of ordinary memory.
const hugePagesPrefix = "hugepages-"

// PriceOverlaid reports whether a user corrected the price of some offering.
func (t *InstanceType) PriceOverlaid() bool {
	return slices.ContainsFunc(t.Offerings, func(o Offering) bool { return o.PriceOverlaid })
}

// Allocatable is what pods can use of an instance bought without overrides.
func (t *InstanceType) Allocatable() corev1.ResourceList { return allocatable(t.Capacity, t.Overhead) }

// CapacityOf is the capacity of an instance bought through o.
func (t *InstanceType) CapacityOf(o *Offering) corev1.ResourceList {
	return override(t.Capacity, o.CapacityOverride)
}

// AllocatableOf is what pods can use of an instance bought through o.
func (t *InstanceType) AllocatableOf(o *Offering) corev1.ResourceList {
	return allocatable(t.CapacityOf(o), override(t.Overhead, o.OverheadOverride))
}

// allocatable is capacity − overhead over the resources in capacity. Memory set aside as huge pages is no ordinary memory,
// so it is subtracted from memory too, down to zero.
func allocatable(capacity, overhead corev1.ResourceList) corev1.ResourceList {
	out := make(corev1.ResourceList, len(capacity))
	for name, q := range capacity {
		left := q.DeepCopy()
		if reserved, ok := overhead[name]; ok {
			left.Sub(reserved)
		}
		out[name] = left
	}
	memory, ok := out[corev1.ResourceMemory]
	if !ok {
		return out
	}
	paged := false
	for name, q := range capacity {
		if strings.HasPrefix(string(name), hugePagesPrefix) {
			memory.Sub(q)
			paged = true
		}
	}
	if paged && memory.Sign() < 0 {
		memory = *resource.NewQuantity(0, memory.Format)
	}
	out[corev1.ResourceMemory] = memory
	return out
}

// override is base with the entries of over replaced or added.
func override(base, over corev1.ResourceList) corev1.ResourceList {
	out := make(corev1.ResourceList, len(base)+len(over))
	maps.Copy(out, base)
	maps.Copy(out, over)
	return out
}

// fits reports whether every positive request is covered by available.
func fits(requests, available corev1.ResourceList) bool {
	for name, q := range requests {
		if q.Sign() <= 0 {
			continue
		}
		have, ok := available[name]
		if !ok || have.Cmp(q) < 0 {
			return false
		}
	}
	return true
}
