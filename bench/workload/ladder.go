package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

const (
	// dollarsPerCPU and dollarsPerGiB make up the on-demand price of a rung; spotShare is what spot costs of it.
	dollarsPerCPU = 0.04
	dollarsPerGiB = 0.005
	spotShare     = 0.7
)

// ladder is n instance types with 1, 2, 3, … n CPUs, 2 GiB and 10 pods a CPU, on demand in three zones and as spot in two.
func ladder(n int) []*cloud.InstanceType {
	overhead := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("10Mi")}
	var out []*cloud.InstanceType
	for cpus := range int64(n) {
		cpus++
		name := fmt.Sprintf("rung-%d", cpus)
		price := float64(cpus)*dollarsPerCPU + float64(2*cpus)*dollarsPerGiB
		out = append(out, &cloud.InstanceType{
			Name: name,
			Requirements: []v1.NodeSelectorRequirementWithMinValues{
				cloud.In(corev1.LabelInstanceTypeStable, name),
				cloud.In(corev1.LabelArchStable, "amd64"),
				cloud.In(corev1.LabelOSStable, string(corev1.Linux)),
				cloud.In(corev1.LabelTopologyZone, "zone-1", "zone-2", "zone-3"),
				cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand, v1.CapacityTypeSpot),
				cloud.DoesNotExist(corev1.LabelTopologyRegion),
				cloud.DoesNotExist(corev1.LabelWindowsBuild),
			},
			Capacity: corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewQuantity(cpus, resource.DecimalSI),
				corev1.ResourceMemory: *resource.NewQuantity(2*cpus<<30, resource.BinarySI),
				corev1.ResourcePods:   *resource.NewQuantity(10*cpus, resource.DecimalSI),
			},
			Overhead: overhead,
			Offerings: []cloud.Offering{
				offer("zone-1", v1.CapacityTypeOnDemand, price), offer("zone-2", v1.CapacityTypeOnDemand, price), offer("zone-3", v1.CapacityTypeOnDemand, price),
				offer("zone-1", v1.CapacityTypeSpot, price*spotShare), offer("zone-2", v1.CapacityTypeSpot, price*spotShare),
			},
		})
	}
	return out
}

// offer is an offering of a synthetic type.
func offer(zone, capacityType string, price float64) cloud.Offering {
	return cloud.Offering{Price: price, Available: true, Requirements: []v1.NodeSelectorRequirementWithMinValues{
		cloud.In(v1.CapacityTypeLabelKey, capacityType), cloud.In(corev1.LabelTopologyZone, zone),
	}}
}
