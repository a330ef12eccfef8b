// Package catalog holds instance types, their offerings and their allocatable resources. All values are immutable once built.
//
// Source: scheduling specification, cloud-provider contract (InstanceType, Offering).
package catalog

import (
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
	// Offerings are all of them, available or not.
	Offerings []Offering
	// Attachable is the expected number of volumes that can be attached to a node of this type, by driver.
	Attachable volume.Limits
	// Devices are those that drivers will publish on a node of this type; nil for none.
	Devices *device.Template
	// PriceOverlaid is set if a NodeOverlay changes the price of an offering, CapacityOverlaid if one changes the capacity.
	// Neither affects scheduling; NodeClaims pass them on to the cloud.
	PriceOverlaid, CapacityOverlaid bool
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
}

// Unavailable is the group of offerings that are currently unavailable.
const Unavailable = -1

// Available reports whether the offering is currently available.
func (o *Offering) Available() bool { return o.Group != Unavailable }

// Kind is the part that offerings of different instance types have in common. The offerings of one catalog share it.
type Kind struct {
	// Requirements are the labels that a node gets from the offering: zone, capacity type, reservation.
	Requirements requirement.Set
}

// Catalog is the instance types that one pool may use, in the provider's order.
type Catalog []*InstanceType
