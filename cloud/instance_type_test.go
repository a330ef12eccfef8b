package cloud_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-anew/karpenter/cloud"
)

// list makes a resource list of name, quantity pairs.
func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

// diff compares resource lists by amount.
func diff(want, got corev1.ResourceList) string {
	return cmp.Diff(want, got, cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }))
}

func TestAllocatable(t *testing.T) {
	t.Attr("covers", "L114")
	tests := []struct {
		name                     string
		capacity, overhead, want corev1.ResourceList
	}{
		{
			"overhead is taken off", list("cpu", "2", "memory", "4Gi"), list("cpu", "100m", "memory", "1Gi"),
			list("cpu", "1900m", "memory", "3Gi"),
		},
		{
			"only resources of the capacity", list("cpu", "2"), list("memory", "1Gi", "ephemeral-storage", "1Gi"),
			list("cpu", "2"),
		},
		{
			"huge pages are no ordinary memory", list("memory", "4Gi", "hugepages-2Mi", "1Gi", "hugepages-1Gi", "2Gi"), nil,
			list("memory", "1Gi", "hugepages-2Mi", "1Gi", "hugepages-1Gi", "2Gi"),
		},
		{
			"huge pages leave at least nothing", list("memory", "1Gi", "hugepages-1Gi", "2Gi"), list("memory", "10Mi"),
			list("memory", "0", "hugepages-1Gi", "2Gi"),
		},
		{
			"huge pages without memory", list("hugepages-1Gi", "2Gi"), nil, list("hugepages-1Gi", "2Gi"),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			it := &cloud.InstanceType{Capacity: tt.capacity, Overhead: tt.overhead}
			if d := diff(tt.want, it.Allocatable()); d != "" {
				t.Errorf("allocatable (-want +got):\n%s", d)
			}
		})
	}
}

func TestOfferingOverrides(t *testing.T) {
	t.Attr("covers", "N237")
	it := &cloud.InstanceType{
		Capacity: list("cpu", "4", "memory", "8Gi"), Overhead: list("cpu", "100m"),
		Offerings: []cloud.Offering{
			{},
			{CapacityOverride: list("memory", "6Gi", "nvidia.com/gpu", "1"), OverheadOverride: list("memory", "1Gi")},
		},
	}
	for i, want := range []struct{ capacity, allocatable corev1.ResourceList }{
		{list("cpu", "4", "memory", "8Gi"), list("cpu", "3900m", "memory", "8Gi")},
		{list("cpu", "4", "memory", "6Gi", "nvidia.com/gpu", "1"), list("cpu", "3900m", "memory", "5Gi", "nvidia.com/gpu", "1")},
	} {
		if d := diff(want.capacity, it.CapacityOf(&it.Offerings[i])); d != "" {
			t.Errorf("capacity of offering %d (-want +got):\n%s", i, d)
		}
		if d := diff(want.allocatable, it.AllocatableOf(&it.Offerings[i])); d != "" {
			t.Errorf("allocatable of offering %d (-want +got):\n%s", i, d)
		}
	}
	if d := diff(list("cpu", "4", "memory", "8Gi"), it.Capacity); d != "" {
		t.Errorf("the type's capacity changed (-want +got):\n%s", d)
	}
}
