package instancetype

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-anew/karpenter/cloud/azure/gpu"
)

// Resources of GPUs.
const (
	ResourceNVIDIAGPU corev1.ResourceName = "nvidia.com/gpu"
	ResourceAMDGPU    corev1.ResourceName = "amd.com/gpu"
)

const (
	gigabyte = 1_000_000_000
	mebibyte = 1 << 20
	gibibyte = 1 << 30
	// evictionMiB is the memory below which the kubelet evicts pods.
	evictionMiB = 750
)

// capacity is the capacity of a node. The resources of GPUs are present with zero if there are none.
func (in *Input) capacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              *count(in.SKU.VCPUs),
		corev1.ResourceMemory:           *resource.NewQuantity(in.memory(), resource.BinarySI),
		corev1.ResourceEphemeralStorage: *count(int64(in.Class.OSDiskSizeGB) * gigabyte),
		corev1.ResourcePods:             *count(int64(in.Class.MaxPods)),
		ResourceNVIDIAGPU:               *count(in.gpus(gpu.NVIDIA)),
		ResourceAMDGPU:                  *count(in.gpus(gpu.AMD)),
	}
}

// memory is the memory in bytes that the operating system is expected to see: whole GiB, less what the hypervisor takes.
func (in *Input) memory() int64 {
	whole := int64(math.Floor(in.SKU.MemoryGiB)) * gibibyte
	return whole - int64(math.Ceil(float64(whole)*in.Settings.VMMemoryOverheadPercent))
}

// gpus counts the GPUs of a manufacturer.
func (in *Input) gpus(manufacturer string) int64 {
	if in.SKU.GPU.Manufacturer != manufacturer {
		return 0
	}
	return in.SKU.GPUs
}

// overhead is the capacity that pods cannot use: what is reserved for the kubelet, and the eviction threshold.
func (in *Input) overhead() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *ReservedCPU(in.SKU.VCPUs),
		corev1.ResourceMemory: *resource.NewQuantity(reservedMiB(in.SKU.MemoryGiB)*mebibyte+evictionMiB*mebibyte, resource.BinarySI),
	}
}

// slice is a part of a resource, up to a limit, of which a share is reserved.
type slice struct{ to, share float64 }

// ReservedCPU is the CPU that nodes reserve for the kubelet and the container runtime, given the number of vCPUs. The decimal result is
// computed with floating point numbers, which take one milli from a few numbers of vCPUs; AKS does the same.
//
// Source: Azure provider specification, capacity and overhead.
func ReservedCPU(vcpus int64) *resource.Quantity {
	reserved := reserve(float64(vcpus), []slice{{1, 0.06}, {2, 0.04}, {4, 0.02}, {math.Inf(1), 0.01}})
	return resource.NewMilliQuantity(int64(1000*reserved), resource.DecimalSI)
}

// ReservedMemory is the memory that nodes reserve for the kubelet and the container runtime, given the memory of the hardware in GiB. It
// is a whole number of MiB.
//
// Source: Azure provider specification, capacity and overhead.
func ReservedMemory(gib float64) *resource.Quantity {
	return resource.NewQuantity(reservedMiB(gib)*mebibyte, resource.BinarySI)
}

func reservedMiB(gib float64) int64 {
	return int64(1024 * reserve(gib, []slice{{4, 0.25}, {8, 0.20}, {16, 0.10}, {128, 0.06}, {math.Inf(1), 0.02}}))
}

// reserve adds the shares of an amount, from the lowest slice up. The order matters, because the sum is rounded.
func reserve(amount float64, slices []slice) float64 {
	sum, from := 0.0, 0.0
	for _, s := range slices {
		if amount <= from {
			break
		}
		// The conversion keeps the compiler from fusing multiplication and addition, which would round differently on some processors.
		sum += float64((min(amount, s.to) - from) * s.share)
		from = s.to
	}
	return sum
}

func count(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.DecimalSI) }
