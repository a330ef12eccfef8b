// Package catalog holds what can be bought: instance types, the offerings they come in, and what they leave for pods.
// Everything in it is immutable once built.
//
// Source: scheduling specification, cloud-provider contract (InstanceType, Offering).
package catalog

import (
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

// InstanceType is one kind of machine.
type InstanceType struct {
	// Name is the value of the instance-type label.
	Name string
	// Requirements are the labels a node of this type can carry, zone and capacity type included.
	Requirements requirement.Set
	// Capacity is the machine's full size.
	Capacity resource.Vector
	// Groups are the ways to get this type. Offerings that leave the same room for pods share a group; group 0 is the
	// type without overrides and exists even when nothing in it is on offer.
	Groups []Group
	// Offerings are all of them, available or not.
	Offerings []Offering
	// Attachable is how many volumes of each driver a node of this type is expected to take.
	Attachable volume.Limits
	// Devices are those that drivers will publish on a node of this type; nil for none.
	Devices *device.Template
	// PriceOverlaid says that the price of some offering was corrected by a user, CapacityOverlaid that the capacity was.
	// Neither has a bearing on where pods go; claims pass them on to the cloud.
	PriceOverlaid, CapacityOverlaid bool
}

// Group is a set of offerings of one type that leave the same room for pods.
type Group struct {
	// Allocatable is what the node offers to pods, daemons included.
	Allocatable resource.Vector
}

// Offering is one way to buy an instance type: a zone, a capacity type, a price in dollars an hour.
type Offering struct {
	*Kind
	Price               float64
	ReservationCapacity int32
	// Group indexes InstanceType.Groups; Unavailable for an offering that cannot be had now.
	Group int32
}

// Unavailable stands for the group of offerings that cannot be had now.
const Unavailable = -1

// Available reports whether the offering can be had now.
func (o *Offering) Available() bool { return o.Group != Unavailable }

// Kind is what offerings have in common that differ in instance type and price only. Those of one catalog share it.
type Kind struct {
	// Requirements are the labels that a node has by the offering: its zone, its capacity type, its reservation.
	Requirements requirement.Set
}

// Catalog is the instance types one pool may use, in the provider's order.
type Catalog []*InstanceType
