package upstream

import (
	corev1 "k8s.io/api/core/v1"
	upstreamv1 "sigs.k8s.io/karpenter/pkg/apis/v1" //nolint:depguard // it is what we measure
	"sigs.k8s.io/karpenter/pkg/cloudprovider"      //nolint:depguard // it is what we measure
	"sigs.k8s.io/karpenter/pkg/scheduling"         //nolint:depguard // it is what we measure

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// instanceTypes are types as a provider of upstream would list them.
func instanceTypes(types []*cloud.InstanceType) []*cloudprovider.InstanceType {
	out := make([]*cloudprovider.InstanceType, 0, len(types))
	for _, t := range types {
		translated := &cloudprovider.InstanceType{
			Name:         t.Name,
			Requirements: requirements(t.Requirements),
			Capacity:     t.Capacity,
			Overhead:     overhead(t.Overhead),
		}
		for _, o := range t.Offerings {
			translated.Offerings = append(translated.Offerings, &cloudprovider.Offering{
				Requirements:        requirements(o.Requirements),
				Price:               o.Price,
				Available:           o.Available,
				ReservationCapacity: o.ReservationCapacity,
				CapacityOverride:    o.CapacityOverride,
				OverheadOverride:    overhead(o.OverheadOverride),
			})
		}
		out = append(out, translated)
	}
	return out
}

func overhead(list corev1.ResourceList) *cloudprovider.InstanceTypeOverhead {
	if list == nil {
		return nil
	}
	return &cloudprovider.InstanceTypeOverhead{KubeReserved: list}
}

func requirements(entries []v1.NodeSelectorRequirementWithMinValues) scheduling.Requirements {
	out := make([]upstreamv1.NodeSelectorRequirementWithMinValues, 0, len(entries))
	for _, e := range entries {
		out = append(out, upstreamv1.NodeSelectorRequirementWithMinValues{Key: e.Key, Operator: e.Operator, Values: e.Values, MinValues: e.MinValues})
	}
	return scheduling.NewNodeSelectorRequirementsWithMinValues(out...)
}
