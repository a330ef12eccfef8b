// Package request makes of a NodeClaim and the offering that was chosen for it what Azure is asked for: a virtual machine with its network
// interface and extensions, or an AKSMachine.
//
// Source: Azure provider specification, launch of virtual machines, sequence; body of AKSMachines; which image a node gets.
package request

import (
	"context"
	"errors"
	"fmt"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/choice"
	"github.com/karpenter-anew/karpenter/cloud/azure/customdata"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
	"github.com/karpenter-anew/karpenter/cloud/azure/image"
	"github.com/karpenter-anew/karpenter/cloud/azure/resourcetags"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
)

// ErrNoImage says that no image of a class is for the instance type.
var ErrNoImage = errors.New("no compatible images")

// Launch is a NodeClaim with what was chosen for it.
type Launch struct {
	Claim  *v1.NodeClaim
	Class  *v1beta1.AKSNodeClass
	Choice choice.Choice
	// SKU is that of the chosen instance type.
	SKU sku.Description
}

// system is what runs on the node of a launch.
type system struct {
	image   image.ID
	family  family.Family
	version string
}

// systemOf chooses the image of a launch. The error wraps ErrNoImage if there is none; other errors say that the status of the class is not
// up to date, and that the launch is to be tried later.
func systemOf(l *Launch) (system, error) {
	version, err := l.Class.CurrentKubernetesVersion()
	if err != nil {
		return system{}, err
	}
	images, err := l.Class.CurrentImages()
	if err != nil {
		return system{}, err
	}
	chosen, ok := image.Choose(images, l.Choice.InstanceType.Requirements)
	if !ok {
		return system{}, fmt.Errorf("%w for %s among the %d of aksnodeclass %q", ErrNoImage, l.Choice.InstanceType.Name, len(images), l.Class.Name)
	}
	id, err := image.ParseID(chosen.ID)
	if err != nil {
		return system{}, err
	}
	f, err := family.Of(l.Class, version)
	if err != nil {
		return system{}, err
	}
	return system{image: id, family: f, version: version}, nil
}

// launch is the launch as labels follow from it.
func (l *Launch) launch() customdata.Launch {
	return customdata.Launch{
		Claim: l.Claim, InstanceType: l.Choice.InstanceType.Requirements, CapacityType: l.Choice.Offering.CapacityType(),
		PlacementScope: l.Choice.PlacementScope, UltraSSD: l.Choice.UltraSSD,
	}
}

// ephemeralPlacement is where the disk of the operating system lies; empty for a managed disk.
func (l *Launch) ephemeralPlacement() string {
	if l.SKU.Disk.Holds(int64(l.Class.OSDiskSizeGB())) {
		return l.SKU.Disk.Placement
	}
	return ""
}

// spot reports whether Azure may evict the virtual machine.
func (l *Launch) spot() bool { return l.Choice.Offering.CapacityType() == v1.CapacityTypeSpot }

// Starter says what a virtual machine starts with; Scriptless and Bootstrapping are such.
type Starter interface {
	// Start returns custom data in base64, and the command of the bootstrap extension, which is empty if there is none.
	Start(context.Context, Boot) (customData, command string, err error)
}

// Boot is a node before its first boot.
type Boot struct {
	customdata.Input
	// Distro is the name that the node bootstrapping service has for the image.
	Distro string
	// SubnetID is the ARM id of the subnet.
	SubnetID string
	MaxPods  int32
	// EphemeralDisk says that the disk of the operating system is not a managed one.
	EphemeralDisk bool
	// MemoryCapacity is the memory of the instance type in bytes.
	MemoryCapacity int64
}

// owner is what resources of a launch belong to.
func (l *Launch) owner(cluster string) resourcetags.Owner {
	return resourcetags.Owner{Cluster: cluster, NodeClaim: l.Claim}
}
