package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// market is n instance types like those of a large cloud: families of ten sizes that differ in memory per CPU, architecture
// and price level, each type on demand and as spot in three zones, that is, with six offerings.
func market(n int) []*cloud.InstanceType {
	sizes := []int64{1, 2, 4, 8, 16, 24, 32, 48, 64, 96}
	memoryPerCPU := []int64{2, 4, 8}
	zones := []string{"zone-1", "zone-2", "zone-3"}
	overhead := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("80m"), corev1.ResourceMemory: resource.MustParse("600Mi")}
	out := make([]*cloud.InstanceType, 0, n)
	for i := range n {
		family, cpus := i/len(sizes), sizes[i%len(sizes)]
		memory := cpus * memoryPerCPU[family%len(memoryPerCPU)]
		// Prices differ by family and zone by a few percent, in a way that repeats itself only after many families.
		level := 1 + float64(family*7%11)/50
		arch := "amd64"
		if family%4 == 3 {
			arch, level = "arm64", 0.85*level
		}
		price := level * (float64(cpus)*dollarsPerCPU + float64(memory)*dollarsPerGiB)
		name := fmt.Sprintf("family-%02d.%d", family, cpus)
		it := &cloud.InstanceType{
			Name: name,
			Requirements: []v1.NodeSelectorRequirementWithMinValues{
				cloud.In(corev1.LabelInstanceTypeStable, name),
				cloud.In(corev1.LabelArchStable, arch),
				cloud.In(corev1.LabelOSStable, string(corev1.Linux)),
				cloud.In(corev1.LabelTopologyZone, zones...),
				cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand, v1.CapacityTypeSpot),
				cloud.DoesNotExist(corev1.LabelTopologyRegion),
				cloud.DoesNotExist(corev1.LabelWindowsBuild),
			},
			Capacity: corev1.ResourceList{
				corev1.ResourceCPU:              *resource.NewQuantity(cpus, resource.DecimalSI),
				corev1.ResourceMemory:           *resource.NewQuantity(memory<<30, resource.BinarySI),
				corev1.ResourcePods:             *resource.NewQuantity(min(110, 10+10*cpus), resource.DecimalSI),
				corev1.ResourceEphemeralStorage: *resource.NewQuantity(100<<30, resource.BinarySI),
			},
			Overhead: overhead,
		}
		for z, zone := range zones {
			it.Offerings = append(it.Offerings,
				offer(zone, v1.CapacityTypeOnDemand, price),
				offer(zone, v1.CapacityTypeSpot, price*(spotShare+float64((family+3*z)%5)/50)))
		}
		out = append(out, it)
	}
	return out
}
