package cloud

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Offering is one way to buy an instance type: a zone, a capacity type and a price.
//
// Source: scheduling specification, offering.
type Offering struct {
	// Requirements are the labels that distinguish this offering from others. Capacity type and zone are always present, each with
	// one value; reserved offerings also name their reservation.
	Requirements []v1.NodeSelectorRequirementWithMinValues
	// Price in dollars (or any one currency) per hour; 0 while the cloud does not know it, and the offering is then not available.
	Price float64
	// Available is false while the cloud is out of it.
	Available bool
	// ReservationCapacity is how many more instances the reservation holds; only meaningful for reserved offerings.
	ReservationCapacity int
	// CapacityOverride replaces or adds single resources of the type's capacity.
	CapacityOverride corev1.ResourceList
	// OverheadOverride replaces or adds single resources of the type's overhead.
	OverheadOverride corev1.ResourceList
	// PriceOverlaid says that a user corrected the price.
	PriceOverlaid bool
}

// CapacityType is the offering's capacity type: spot, on-demand or reserved.
func (o *Offering) CapacityType() string { return o.Label(v1.CapacityTypeLabelKey) }

// Zone is the offering's zone.
func (o *Offering) Zone() string { return o.Label(corev1.LabelTopologyZone) }

// Label is the single value the offering has for a label, or "" when it has none or several.
func (o *Offering) Label(key string) string { return onlyValue(o.Requirements, key) }

// PriceKnown reports whether Price is a price: 0 is one only if the offering is available for it, or a user set it.
func (o *Offering) PriceKnown() bool {
	return !math.IsNaN(o.Price) && (o.Price != 0 || o.Available || o.PriceOverlaid)
}

// Launchable reports whether an instance could be bought now: the offering is available and, if reserved, not used up.
func (o *Offering) Launchable() bool {
	return o.Available && (o.CapacityType() != v1.CapacityTypeReserved || o.ReservationCapacity > 0)
}
