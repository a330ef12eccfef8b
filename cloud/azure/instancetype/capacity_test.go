package instancetype_test

import (
	"maps"
	"math"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/gpu"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
)

// TestReservedCPU holds reservations against the conformance vectors. The numbers of the second list lose a milli to floating point
// numbers, all others do not.
func TestReservedCPU(t *testing.T) {
	t.Attr("covers", "Z054 Z195")
	for vcpus, want := range map[int64]int64{
		1: 60, 2: 100, 3: 120, 4: 140, 6: 160, 8: 180, 10: 200, 12: 220, 16: 260, 20: 300, 24: 340, 32: 420, 36: 460, 40: 500, 44: 540, 48: 580, 60: 700, 64: 740,
		72: 820, 80: 900, 96: 1060, 104: 1140, 112: 1220, 120: 1299, 128: 1380, 176: 1859, 192: 2020, 208: 2180, 416: 4260, 832: 8420,
	} {
		if got := instancetype.ReservedCPU(vcpus).MilliValue(); got != want {
			t.Errorf("%d vCPUs: %dm, want %dm", vcpus, got, want)
		}
	}
	var lossy []int64
	for vcpus := int64(4); vcpus <= 400; vcpus++ {
		switch got, exact := instancetype.ReservedCPU(vcpus).MilliValue(), 140+10*(vcpus-4); got {
		case exact:
		case exact - 1:
			lossy = append(lossy, vcpus)
		default:
			t.Errorf("%d vCPUs: %dm", vcpus, got)
		}
	}
	if want := []int64{101, 120, 122, 124, 126, 145, 147, 149, 151, 172, 174, 176, 392, 396}; !slices.Equal(lossy, want) {
		t.Errorf("a milli is lost for %d, want %d", lossy, want)
	}
}

func TestReservedMemory(t *testing.T) {
	t.Attr("covers", "Z054")
	for gib, want := range map[float64]int64{
		3.5: 896, 4: 1024, 7: 1638, 8: 1843, 14: 2457, 15.25: 2585, 16: 2662, 28: 3399, 32: 3645, 56: 5120, 64: 5611, 110: 8437, 112: 8560, 128: 9543, 192: 10854,
		218.75: 11402, 220: 11427, 256: 12165, 384: 14786, 448: 16097, 512: 17408, 900: 25354, 1024: 27893, 1900: 45834, 2048: 48865, 3892: 86630,
	} {
		if got := instancetype.ReservedMemory(gib); got.Value() != want*1<<20 {
			t.Errorf("%g GiB: %s, want %dMi", gib, got, want)
		}
	}
	for gib, want := range map[float64]string{8: "1843Mi", 56: "5Gi", 512: "17Gi"} {
		if got := instancetype.ReservedMemory(gib).String(); got != want {
			t.Errorf("%g GiB: %s, want %s", gib, got, want)
		}
	}
}

// TestMemory holds capacity and allocatable memory against the conformance vectors.
func TestMemory(t *testing.T) {
	t.Attr("covers", "Z054 Z196")
	for _, test := range []struct {
		gib, overhead         float64
		capacity, allocatable int64
	}{
		{3.5, 0.075, 2979633561, 1253677465},
		{4, 0.075, 3972844748, 2112670924},
		{7, 0.075, 6952478310, 4448478822},
		{8, 0.075, 7945689497, 5226731929},
		{16, 0.075, 15891378995, 12313637683},
		{32, 0.075, 31782757990, 27174266470},
		{64, 0.075, 63565515980, 56895524044},
		{110, 0.075, 109253230592, 99619962880},
		{256, 0.075, 254262063923, 240719704883},
		{512, 0.075, 508524127846, 489484084838},
		{8, 0, 8589934592, 5870977024},
		{8, 0.1, 7730941132, 5011983564},
	} {
		in := input()
		in.SKU.MemoryGiB, in.Settings.VMMemoryOverheadPercent = test.gib, test.overhead
		it := resolve(t, in)
		allocatable := it.Allocatable()
		if got := it.Capacity.Memory().Value(); got != test.capacity {
			t.Errorf("%g GiB, overhead %g: the capacity is %d, want %d", test.gib, test.overhead, got, test.capacity)
		}
		if got := allocatable.Memory().Value(); got != test.allocatable {
			t.Errorf("%g GiB, overhead %g: allocatable is %d, want %d", test.gib, test.overhead, got, test.allocatable)
		}
	}
}

func TestCapacity(t *testing.T) {
	gpus := map[string]string{"Standard_NC64as_T4_v3": "nvidia.com/gpu", "Standard_NV4ads_V710_v5": "amd.com/gpu"}
	for _, name := range slices.Sorted(maps.Keys(gpus)) {
		in := input()
		in.SKU.GPU, _ = gpu.Of(name)
		in.SKU.GPUs, in.Class.InstallsGPUDriver = 4, false
		in.Class.OSDiskSizeGB = 256
		it := resolve(t, in)
		want := map[string]string{"cpu": "4", "ephemeral-storage": "256G", "pods": "250", "nvidia.com/gpu": "0", "amd.com/gpu": "0"}
		want[gpus[name]] = "4"
		for resource, amount := range want {
			if got := it.Capacity[corev1.ResourceName(resource)]; got.String() != amount {
				t.Errorf("%s: %s is %s, want %s", name, resource, &got, amount)
			}
		}
		if len(it.Capacity) != len(want)+1 {
			t.Errorf("%s: the capacity is %v", name, it.Capacity)
		}
		if cpu := it.Allocatable()[corev1.ResourceCPU]; cpu.String() != "3860m" {
			t.Errorf("%s: allocatable CPU is %s", name, &cpu)
		}
	}
}

// TestMaxPods holds the number of pods against the conformance vectors.
func TestMaxPods(t *testing.T) {
	t.Attr("covers", "Z055")
	for network, want := range map[instancetype.Network]int32{
		{Plugin: "azure", Mode: "overlay"}: 250, {Plugin: "azure"}: 30, {Plugin: "none"}: 250, {Plugin: "kubenet"}: 110, {Plugin: "kubenet", Mode: "overlay"}: 110,
		{Plugin: "azure", Mode: "other"}: 110, {}: 110,
	} {
		class := &v1beta1.AKSNodeClass{}
		if got := instancetype.ClassOf(class, network).MaxPods; got != want {
			t.Errorf("%+v: %d pods, want %d", network, got, want)
		}
		pods := int32(42)
		class.Spec.MaxPods = &pods
		if got := instancetype.ClassOf(class, network).MaxPods; got != pods {
			t.Errorf("%+v: %d pods although the class has %d", network, got, pods)
		}
	}
}

// TestReservationsGrow checks that larger hardware never has less reserved, nor less left.
func TestReservationsGrow(t *testing.T) {
	for n := int64(1); n < 2000; n++ {
		cpu, more := instancetype.ReservedCPU(n).MilliValue(), instancetype.ReservedCPU(n+1).MilliValue()
		memory, moreMemory := instancetype.ReservedMemory(float64(n)).Value(), instancetype.ReservedMemory(float64(n+1)).Value()
		if more < cpu || more-cpu >= 1000 || moreMemory < memory || moreMemory-memory >= 1<<30 {
			t.Fatalf("from %d on: %dm to %dm, %d to %d bytes", n, cpu, more, memory, moreMemory)
		}
	}
	if got := instancetype.ReservedMemory(math.Nextafter(4, 0)).Value(); got != 1023<<20 {
		t.Errorf("just below 4 GiB: %d bytes", got)
	}
}
