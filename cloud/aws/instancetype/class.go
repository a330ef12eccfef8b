package instancetype

import (
	"slices"
	"strings"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/family"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubelet"
)

// Class is what a node class comes to, as far as instance types depend on it.
type Class struct {
	Family awsv1.Family
	// Subnets are those of the class's status.
	Subnets []awsv1.Subnet
	// Kubelet is the kubelet block. Expressions in it do not count; ResolveKubelet works them out.
	Kubelet kubelet.Config
	// BlockDevices are the disks that the class names; the defaults of the family count where it names none.
	BlockDevices []*awsv1.BlockDeviceMapping
	// RAID0 says that built-in disks hold the files of pods.
	RAID0             bool
	NetworkInterfaces []*awsv1.NetworkInterface
	// NestedVirtualization asks for processors that can do it.
	NestedVirtualization bool
	// TracksConnections says that the class sets timeouts for connections.
	TracksConnections bool
	// Reservations are those of the class's status; none where reserved capacity is off.
	Reservations []awsv1.CapacityReservation
	// PlacementGroup is nil for none.
	PlacementGroup *PlacementGroup
}

// ClassOf is what a node class comes to by itself. Reservations and placement group are left out: what of them counts is not the
// class's to say.
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
	return out, nil
}

// byID are subnets by id: their order in the status is that of free addresses, which change all the time.
func byID(subnets []awsv1.Subnet) []awsv1.Subnet {
	return slices.SortedFunc(slices.Values(subnets), func(a, b awsv1.Subnet) int { return strings.Compare(a.ID, b.ID) })
}

// PlacementGroup is the group that instances of a class are put into.
type PlacementGroup struct {
	ID string
	// Strategy is cluster, partition or spread.
	Strategy string
	// Partitions is the number of partitions of a partition group.
	Partitions int
}

// Settings are the settings of the installation that matter here.
type Settings struct {
	Region string
	// VMMemoryOverheadPercent is the part of the memory that the host is thought to keep, for instance 0.075.
	VMMemoryOverheadPercent float64
	// ReservedENIs are interfaces that pods do not get addresses from.
	ReservedENIs int64
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

// zoneID is the id of a zone that the class has a subnet in; empty for others.
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
