package instancetype

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
	"github.com/karpenter-anew/karpenter/cloud/azure/zone"
)

// UnknownPrice is the price in dollars per hour of offerings whose price is not known. They can be launched, but only if there is nothing
// else.
const UnknownPrice = 999.0

// Market is the known prices and capacity of an instance type. The zero value knows no prices, and everything is available.
type Market struct {
	// Price returns the price in dollars per hour with a capacity type, and false if it is not known. Nil means that none is known.
	Price func(capacityType string) (float64, bool)
	// Unavailable reports offerings that recently had insufficient capacity or quota. Nil means none.
	Unavailable func(capacityType, zone string) bool
	// QuotaExceeded says that the subscription has no quota left for an on-demand instance of the type.
	QuotaExceeded bool
}

// offerings are on-demand and spot in every zone of the type, and with regional placement.
func (in *Input) offerings() []cloud.Offering {
	places := append(make([]sku.Zone, 0, len(in.SKU.Zones)+1), in.SKU.Zones...)
	places = append(places, sku.Zone{Name: label.ZoneRegional, UltraSSD: in.SKU.UltraSSD})
	var out []cloud.Offering
	for _, place := range places {
		for _, capacityType := range []string{v1.CapacityTypeOnDemand, v1.CapacityTypeSpot} {
			out = append(out, cloud.Offering{
				Requirements: offeringLabels(capacityType, place), Price: in.price(capacityType), Available: in.available(capacityType, place.Name),
			})
		}
	}
	return out
}

// offeringLabels are the labels of an offering. Where ultra disks can be used, a NodeClaim decides whether they are.
func offeringLabels(capacityType string, place sku.Zone) []v1.NodeSelectorRequirementWithMinValues {
	priority, ultraSSD := label.PriorityRegular, []string{label.False}
	if capacityType == v1.CapacityTypeSpot {
		priority = label.PrioritySpot
	}
	if place.UltraSSD {
		ultraSSD = []string{label.False, label.True}
	}
	return []v1.NodeSelectorRequirementWithMinValues{
		cloud.In(v1.CapacityTypeLabelKey, capacityType),
		cloud.In(corev1.LabelTopologyZone, place.Name),
		cloud.In(label.PlacementScope, zone.PlacementScope(place.Name)),
		cloud.In(label.AKSScaleSetPriority, priority),
		cloud.In(label.AKSPriority, priority),
		cloud.In(label.SKUUltraSSD, ultraSSD...),
	}
}

// price is the price with a capacity type.
func (in *Input) price(capacityType string) float64 {
	if in.Market.Price == nil {
		return UnknownPrice
	}
	price, known := in.Market.Price(capacityType)
	if !known || price <= 0 {
		return UnknownPrice
	}
	return price
}

// available reports whether an offering can be launched. Spot instances have a separate quota, which only launches show.
func (in *Input) available(capacityType, zone string) bool {
	if in.Market.Unavailable != nil && in.Market.Unavailable(capacityType, zone) {
		return false
	}
	if capacityType == v1.CapacityTypeSpot {
		return in.SKU.Spot
	}
	return !in.Market.QuotaExceeded
}
