package instancetype

import (
	"slices"
	"strings"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/devices"
	"github.com/karpenter-anew/karpenter/cloud/aws/family"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubelet"
)

// Class is the part of a resolved node class on which instance types depend.
type Class struct {
	Family awsv1.Family
	// Subnets are those of the class's status.
	Subnets []awsv1.Subnet
	// Kubelet is the kubelet block. Expressions in it are ignored; ResolveKubelet evaluates them.
	Kubelet kubelet.Config
	// BlockDevices are the disks of the class; without any, those of the family apply.
	BlockDevices []*awsv1.BlockDeviceMapping
	// RAID0 says that ephemeral storage is on the instance store volumes.
	RAID0             bool
	NetworkInterfaces []*awsv1.NetworkInterface
	// NestedVirtualization requires processors that support it.
	NestedVirtualization bool
	// Enclaves requires types that support Nitro Enclaves.
	Enclaves bool
	// TracksConnections says that the class sets connection tracking timeouts.
	TracksConnections bool
	// Reservations are those of the class's status; none where reserved capacity is off.
	Reservations []awsv1.CapacityReservation
	// PlacementGroup is nil for none.
	PlacementGroup *PlacementGroup
	// GPUSharing is how claims share GPUs; GPUs of a class that does not say so correctly are exclusive.
	GPUSharing devices.Sharing
}

// ClassOf returns the part of a node class on which instance types depend. It omits reservations and placement group, because which of
// them apply does not depend on the class alone.
func ClassOf(class *awsv1.EC2NodeClass) (Class, error) {
	config, err := kubelet.Parse(class.Spec.Kubelet)
	if err != nil {
		return Class{}, err
	}
	out := Class{
		Family: class.Family(), Subnets: byID(class.Status.Subnets), Kubelet: config, BlockDevices: class.Spec.BlockDeviceMappings,
		RAID0:             class.Spec.InstanceStorePolicy != nil && *class.Spec.InstanceStorePolicy == awsv1.InstanceStorePolicyRAID0,
		NetworkInterfaces: class.Spec.NetworkInterfaces, TracksConnections: class.Spec.ConnectionTracking != nil,
	}
	if o := class.Spec.CPUOptions; o != nil && o.NestedVirtualization != nil {
		out.NestedVirtualization = *o.NestedVirtualization == "enabled"
	}
	out.GPUSharing, _ = devices.ParseSharing(class.Annotations[devices.SharingAnnotation]) // nothing is launched for a wrong one
	out.Enclaves = class.Spec.EnclaveOptions != nil && class.Spec.EnclaveOptions.Enabled
	return out, nil
}

// byID sorts subnets by ID: the status sorts them by free addresses, which change constantly.
func byID(subnets []awsv1.Subnet) []awsv1.Subnet {
	return slices.SortedFunc(slices.Values(subnets), func(a, b awsv1.Subnet) int { return strings.Compare(a.ID, b.ID) })
}

// PlacementGroup is the placement group of a class's instances.
type PlacementGroup struct {
	ID string
	// Strategy is cluster, partition or spread.
	Strategy string
	// Partitions is the number of partitions of a partition group.
	Partitions int
}

// Settings are the installation's settings on which instance types depend.
type Settings struct {
	Region string
	// VMMemoryOverheadPercent is the fraction of the memory that the hypervisor is assumed to use, for instance 0.075.
	VMMemoryOverheadPercent float64
	// ReservedENIs is the number of interfaces that provide no pod addresses.
	ReservedENIs int64
	// Devices are the DRA drivers whose devices are predicted.
	Devices devices.Settings
}

// traits are the traits of the class's family.
func (c *Class) traits() family.Traits { return family.TraitsOf(c.Family) }

// fabricOnly counts the fabric-only interfaces, on one card or, if card is negative, on all.
func (c *Class) fabricOnly(card int32) int64 {
	var n int64
	for _, i := range c.NetworkInterfaces {
		if i.InterfaceType == awsv1.InterfaceTypeEFAOnly && (card < 0 || i.NetworkCardIndex == card) {
			n++
		}
	}
	return n
}

// reservationsOf are the class's reservations for a type, in their order.
func (c *Class) reservationsOf(name string) []awsv1.CapacityReservation {
	var out []awsv1.CapacityReservation
	for _, r := range c.Reservations {
		if r.InstanceType == name {
			out = append(out, r)
		}
	}
	return out
}

// zoneID is the ID of a zone in which the class has a subnet; empty for others.
func (c *Class) zoneID(zone string) string {
	for _, s := range c.Subnets {
		if s.Zone == zone && s.ZoneID != "" {
			return s.ZoneID
		}
	}
	return ""
}

// hasZone reports whether the class has a subnet in a zone.
func (c *Class) hasZone(zone string) bool {
	for _, s := range c.Subnets {
		if s.Zone == zone {
			return true
		}
	}
	return false
}
