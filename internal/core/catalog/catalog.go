// Package catalog holds instance types, their offerings and their allocatable resources. All values are immutable once built.
//
// Source: scheduling specification, cloud-provider contract (InstanceType, Offering).
package catalog

import (
	"maps"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

// InstanceType is an instance type as the engine sees it.
type InstanceType struct {
	// Name is the value of the instance-type label.
	Name string
	// Requirements are the labels a node of this type can carry, zone and capacity type included.
	Requirements requirement.Set
	// Capacity is the total capacity of a node of this type.
	Capacity resource.Vector
	// Groups are the sets of offerings with equal allocatable resources; group 0 is the type without overrides and exists even
	// if no offering belongs to it.
	Groups []Group
	// Offerings are all of them, launchable or not.
	Offerings []Offering
	// Attachable is the expected number of volumes that can be attached to a node of this type, by driver.
	Attachable volume.Limits
	// Devices are those that drivers will publish on a node of this type; nil for none.
	Devices *device.Template
	// PriceOverlaid is set if a NodeOverlay changes the price of an offering, CapacityOverlaid if one changes the capacity.
	// Neither affects scheduling; NodeClaims pass them on to the cloud.
	PriceOverlaid, CapacityOverlaid bool
	// Exotic is set if the cloud launches the type only where no other type can be, whatever it costs.
	Exotic bool
}

// Group is a set of offerings of one type with equal allocatable resources.
type Group struct {
	// Allocatable are the resources for pods, before DaemonSets.
	Allocatable resource.Vector
}

// Offering is one offering of an instance type: a zone and capacity type with a price in dollars per hour.
type Offering struct {
	*Kind
	Price               float64
	ReservationCapacity int32
	// Group indexes InstanceType.Groups, or is Unavailable.
	Group int32
	// Full is set for an available offering whose reservation has no instance left.
	Full bool
}

// Unavailable is the group of offerings that are currently unavailable.
const Unavailable = -1

// Available reports whether the offering is healthy: the cloud offers it, and launches of it did not fail recently. The reservation of an
// available offering may be full.
func (o *Offering) Available() bool { return o.Group != Unavailable }

// Launchable reports whether an instance could be launched now: the offering is available and its reservation, if any, is not full.
func (o *Offering) Launchable() bool { return o.Available() && !o.Full }

// CapacityTypeReserved is the capacity type of offerings that draw on a reservation.
const CapacityTypeReserved = "reserved"

// Reservation is the ID of the capacity reservation that the offering draws on, in the label that has it; empty if it draws on none.
func (o *Offering) Reservation(label string) string {
	if !o.Requirements.Get(requirement.CapacityTypeLabel).Has(CapacityTypeReserved) {
		return ""
	}
	if id := o.Requirements.Get(label); id.Len() == 1 {
		return id.Values()[0]
	}
	return ""
}

// Kind is the part that offerings of different instance types have in common. The offerings of one catalog share it.
type Kind struct {
	// Requirements are the labels that a node gets from the offering: zone, capacity type, reservation.
	Requirements requirement.Set
}

// Catalog is the instance types that one pool may use, in the provider's order.
type Catalog []*InstanceType

// Values lists the values of a label that the instance types have, sorted. Types that may have any value do not count.
func (c Catalog) Values(key string) []string {
	seen := map[string]bool{}
	for _, t := range c {
		if have := t.Requirements.Get(key); t.Requirements.Has(key) && !have.Complement() {
			for _, v := range have.Values() {
				seen[v] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// Meets reports whether some instance type has an offering, available or not, that meets the requirements. Labels that types and offerings do
// not define do not count.
func (c Catalog) Meets(want requirement.Set) bool {
	for _, t := range c {
		if !want.Intersects(t.Requirements) {
			continue
		}
		for i := range t.Offerings {
			if want.Intersects(t.Offerings[i].Requirements) {
				return true
			}
		}
	}
	return false
}
