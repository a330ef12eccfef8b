package instancetype

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-anew/karpenter/api/quantity"
)

const (
	// The memory that is reserved for the kubelet: an amount for every pod and a constant.
	kubeletMiBPerPod = 11
	kubeletMiB       = 255
	// defaultEvictionPercent of the disk and defaultEvictionMiB of the memory are the default eviction thresholds.
	defaultEvictionPercent = 10
	defaultEvictionMiB     = 100

	signalMemory  = "memory.available"
	signalStorage = "nodefs.available"
)

// overhead is the capacity that pods cannot use: kube-reserved, system-reserved, and the eviction threshold.
func (in *Input) overhead(capacity corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, part := range []corev1.ResourceList{
		in.kubeReserved(capacity), overrides(nil, in.Class.Kubelet.SystemReserved), in.eviction(capacity),
	} {
		for name, amount := range part {
			sum := out[name]
			sum.Add(amount)
			out[name] = sum
		}
	}
	return out
}

// kubeReserved is reserved for the kubelet and the container runtime.
func (in *Input) kubeReserved(capacity corev1.ResourceList) corev1.ResourceList {
	pods := capacity.Pods().Value()
	if in.Class.traits().MemoryByInterfaces {
		pods = podsByInterfaces(&in.Description, &in.Class, 0)
	}
	return overrides(corev1.ResourceList{
		corev1.ResourceMemory:           *resource.NewQuantity((kubeletMiBPerPod*pods+kubeletMiB)*mebibyte, resource.BinarySI),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Gi"),
		corev1.ResourceCPU:              *resource.NewMilliQuantity(reservedMilliCPU(capacity.Cpu().MilliValue()), resource.DecimalSI),
	}, in.Class.Kubelet.KubeReserved)
}

// reservedMilliCPU is the reserved part of a number of millicores: the share decreases with each further CPU.
func reservedMilliCPU(milli int64) int64 {
	var reserved int64
	for _, part := range []struct {
		from, to int64
		share    float64
	}{{0, 1000, 0.06}, {1000, 2000, 0.01}, {2000, 4000, 0.005}, {4000, math.MaxInt64, 0.0025}} {
		if milli >= part.from {
			reserved += int64(float64(min(milli, part.to)-part.from) * part.share)
		}
	}
	return reserved
}

// overrides is a list with the quantities that a user set. Invalid quantities are ignored.
func overrides(base corev1.ResourceList, written map[string]string) corev1.ResourceList {
	out := maps.Clone(base)
	if out == nil {
		out = corev1.ResourceList{}
	}
	for _, name := range slices.Sorted(maps.Keys(written)) {
		if amount, err := quantity.Parse(written[name]); err == nil {
			out[corev1.ResourceName(name)] = amount
		}
	}
	return out
}

// eviction is the hard eviction threshold. Percentages of memory refer to the estimate, so that they do not change with discovered memory.
func (in *Input) eviction(capacity corev1.ResourceList) corev1.ResourceList {
	storage := capacity.StorageEphemeral().Value()
	out := corev1.ResourceList{
		corev1.ResourceMemory:           *resource.NewQuantity(defaultEvictionMiB*mebibyte, resource.BinarySI),
		corev1.ResourceEphemeralStorage: share(storage, defaultEvictionPercent),
	}
	hard := in.Class.Kubelet.EvictionHard
	for _, threshold := range []struct {
		signal   string
		resource corev1.ResourceName
		whole    int64
	}{
		{signalMemory, corev1.ResourceMemory, estimatedMemory(&in.Description, in.Settings)},
		{signalStorage, corev1.ResourceEphemeralStorage, storage},
	} {
		if value, ok := hard[threshold.signal]; ok {
			if amount, ok := evictionQuantity(value, threshold.whole); ok {
				out[threshold.resource] = amount
			}
		}
	}
	return out
}

// evictionQuantity is a threshold as a quantity; 100% disables the threshold. False for what is neither a
// percentage nor a quantity.
func evictionQuantity(value string, whole int64) (resource.Quantity, bool) {
	number, percentage := strings.CutSuffix(value, "%")
	if !percentage {
		amount, err := quantity.Parse(value)
		return amount, err == nil
	}
	percent, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return resource.Quantity{}, false
	}
	if percent == 100 {
		percent = 0
	}
	return share(whole, percent), true
}

// share is a percentage of a number, rounded up.
func share(whole int64, percent float64) resource.Quantity {
	return *resource.NewQuantity(int64(math.Ceil(float64(whole)*percent/100)), resource.BinarySI)
}
