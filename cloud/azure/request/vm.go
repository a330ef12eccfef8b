package request

import (
	"context"
	"fmt"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/customdata"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/naming"
	"github.com/karpenter-anew/karpenter/cloud/azure/network"
	"github.com/karpenter-anew/karpenter/cloud/azure/resourcetags"
	"github.com/karpenter-anew/karpenter/cloud/azure/subnet"
	"github.com/karpenter-anew/karpenter/cloud/azure/virtualmachine"
)

// Attacher finds what nodes are connected to; network.Attachments is one.
type Attacher interface {
	Of(context.Context, *v1beta1.AKSNodeClass) (network.Attachment, error)
}

// GroupFinder finds the network security group of nodes; network.SecurityGroups is one.
type GroupFinder interface {
	Get(context.Context) (network.SecurityGroup, error)
}

// VMs makes the requests for virtual machines.
type VMs struct {
	// Cluster is what custom data needs to know, but for the network security group, which Groups finds.
	Cluster customdata.Cluster
	// Name is that of the cluster, in tags.
	Name        string
	Groups      GroupFinder
	Attachments Attacher
	Starter     Starter
	// Tags are those of the settings, Identities the ARM ids of the user-assigned identities of nodes.
	Tags       map[string]string
	Identities []string
	// DiskEncryptionSet is the ARM id of the disk encryption set of disks; empty for none.
	DiskEncryptionSet string
	// AdminUser may log in to nodes with SSHKey.
	AdminUser, SSHKey string
}

// VM is what Azure is asked for.
type VM struct {
	// Interface is the network interface; it is created first. Its id is then that of Spec.NetworkInterface.
	Interface network.InterfaceSpec
	Spec      virtualmachine.Spec
	// Command is that of the bootstrap extension; empty if there is none. It may hold the bootstrap token.
	Command string
}

// Of returns the requests of a launch.
func (v *VMs) Of(ctx context.Context, l Launch) (VM, error) {
	on, err := systemOf(&l)
	if err != nil {
		return VM{}, err
	}
	attachment, err := v.Attachments.Of(ctx, l.Class)
	if err != nil {
		return VM{}, err
	}
	boot, err := v.boot(ctx, &l, on, attachment.SubnetID)
	if err != nil {
		return VM{}, err
	}
	customData, command, err := v.Starter.Start(ctx, boot)
	if err != nil {
		return VM{}, fmt.Errorf("preparing the first boot of nodeclaim %q: %w", l.Claim.Name, err)
	}
	name, tags := naming.VM(l.Claim.Name), resourcetags.OfVM(v.Tags, l.Class.Spec.Tags, l.owner(v.Name))
	return VM{
		Interface: network.InterfaceSpec{
			Name: name, Location: v.Cluster.Location, Tags: tags, Attachment: attachment, Accelerated: l.SKU.AcceleratedNetworking,
			Plugin: v.Cluster.Network, MaxPods: boot.MaxPods,
		},
		Spec: virtualmachine.Spec{
			Name: name, Location: v.Cluster.Location, Zone: l.Choice.Offering.Zone(), Size: l.SKU.Name, Spot: l.spot(), UltraSSD: l.Choice.UltraSSD,
			Tags: tags, Identities: v.Identities, Image: virtualmachine.Image{ID: on.image.String(), Community: on.image.Community()},
			EphemeralPlacement: l.ephemeralPlacement(), DiskEncryptionSet: v.DiskEncryptionSet,
			AdminUser: v.AdminUser, SSHKey: v.SSHKey, CustomData: customData,
		},
		Command: command,
	}, nil
}

// boot is the node of a launch before its first boot.
func (v *VMs) boot(ctx context.Context, l *Launch, on system, subnetID string) (Boot, error) {
	group, err := v.Groups.Get(ctx)
	if err != nil {
		return Boot{}, err
	}
	in, err := subnet.Parse(subnetID)
	if err != nil {
		return Boot{}, err
	}
	distro, ok := family.Distro(on.image.Definition)
	if !ok {
		return Boot{}, fmt.Errorf("image %s is none of AKS", on.image)
	}
	cluster := v.Cluster
	cluster.NetworkSecurityGroup = group.Name
	return Boot{
		Input: customdata.Input{
			Cluster: cluster, Class: l.Class, Family: on.family, KubernetesVersion: on.version, SKU: l.SKU, Launch: l.launch(),
			Subnet: customdata.Subnet{ResourceGroup: in.ResourceGroup, VirtualNetwork: in.VirtualNetwork, Name: in.Name},
		},
		Distro: distro, SubnetID: subnetID, EphemeralDisk: l.ephemeralPlacement() != "",
		MaxPods:        instancetype.ClassOf(l.Class, v.Cluster.Network).MaxPods,
		MemoryCapacity: l.Choice.InstanceType.Capacity.Memory().Value(),
	}, nil
}
