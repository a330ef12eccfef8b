// Package virtualmachine builds the bodies of the requests that create a virtual machine of a node and its
// extensions. It calls nothing: the same input gives the same body.
//
// Source: Azure provider specification, VM body, extensions.
package virtualmachine

import (
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/zone"
)

// Image is the image of a virtual machine.
type Image struct {
	// ID is the ID of a version of an image definition.
	ID string
	// Community says that the image comes from a community gallery, which Azure addresses in another field than
	// the image of a shared gallery.
	Community bool
}

// Spec is what a virtual machine is launched with.
type Spec struct {
	// Name is the name of the virtual machine, its computer and its disk, as in aks-general-abcde.
	Name string
	// Location is the Azure location, as in westus2; Zone is the value of the zone label, "0" for regional placement.
	Location, Zone string
	// Size is the VM size, as in Standard_D4s_v3.
	Size string
	// Spot says that Azure may evict the virtual machine.
	Spot bool
	// UltraSSD says that the launch requires ultra disks, not only that it allows them.
	UltraSSD bool
	// Tags are the tags of the virtual machine.
	Tags map[string]string
	// Identities are the resource IDs of the user-assigned identities.
	Identities []string
	// Image is the image of the node.
	Image Image
	// EphemeralPlacement is where an ephemeral OS disk lies, as in CacheDisk. Empty for a managed disk.
	EphemeralPlacement string
	// DiskEncryptionSet is the resource ID of the disk encryption set of the OS disk, if any.
	DiskEncryptionSet string
	// NetworkInterface is the resource ID of the network interface.
	NetworkInterface string
	// AdminUser may log in with SSHKey, a public key.
	AdminUser, SSHKey string
	// CustomData is what the node runs at its first boot, in base64.
	CustomData string
}

// Body returns the body of the request that creates a virtual machine. The class decides the size of the disk and
// security. It fails if the zone is not a zone of Azure.
func Body(class *v1beta1.AKSNodeClass, spec *Spec) (armcompute.VirtualMachine, error) {
	// Regional placement is an empty list; Azure takes an absent one for a request that leaves zones alone.
	zones, err := zone.Numbers(spec.Zone)
	if err != nil {
		return armcompute.VirtualMachine{}, fmt.Errorf("creating the body of virtual machine %q: %w", spec.Name, err)
	}
	properties := &armcompute.VirtualMachineProperties{
		HardwareProfile: &armcompute.HardwareProfile{VMSize: to.Ptr(armcompute.VirtualMachineSizeTypes(spec.Size))},
		StorageProfile:  &armcompute.StorageProfile{OSDisk: disk(class, spec), ImageReference: image(spec.Image)},
		NetworkProfile: &armcompute.NetworkProfile{NetworkInterfaces: []*armcompute.NetworkInterfaceReference{{
			ID: &spec.NetworkInterface,
			Properties: &armcompute.NetworkInterfaceReferenceProperties{
				Primary: to.Ptr(true), DeleteOption: to.Ptr(armcompute.DeleteOptionsDelete),
			},
		}}},
		OSProfile:       operatingSystem(spec),
		Priority:        to.Ptr(armcompute.VirtualMachinePriorityTypesRegular),
		SecurityProfile: security(class),
	}
	if spec.Spot {
		properties.Priority = to.Ptr(armcompute.VirtualMachinePriorityTypesSpot)
		properties.EvictionPolicy = to.Ptr(armcompute.VirtualMachineEvictionPolicyTypesDelete)
		// -1 is up to the on-demand price: a virtual machine is never evicted for its price.
		properties.BillingProfile = &armcompute.BillingProfile{MaxPrice: to.Ptr(-1.0)}
	}
	if spec.UltraSSD {
		properties.AdditionalCapabilities = &armcompute.AdditionalCapabilities{UltraSSDEnabled: to.Ptr(true)}
	}
	return armcompute.VirtualMachine{
		Location: &spec.Location, Zones: to.SliceOfPtrs(zones...), Tags: pointers(spec.Tags),
		Identity: identity(spec.Identities), Properties: properties,
	}, nil
}

// disk returns the OS disk, which Azure deletes with the virtual machine.
func disk(class *v1beta1.AKSNodeClass, spec *Spec) *armcompute.OSDisk {
	disk := &armcompute.OSDisk{
		Name:         &spec.Name,
		DiskSizeGB:   to.Ptr(class.OSDiskSizeGB()),
		CreateOption: to.Ptr(armcompute.DiskCreateOptionTypesFromImage),
		DeleteOption: to.Ptr(armcompute.DiskDeleteOptionTypesDelete),
	}
	if spec.EphemeralPlacement != "" {
		disk.Caching = to.Ptr(armcompute.CachingTypesReadOnly)
		disk.DiffDiskSettings = &armcompute.DiffDiskSettings{
			Option:    to.Ptr(armcompute.DiffDiskOptionsLocal),
			Placement: to.Ptr(armcompute.DiffDiskPlacement(spec.EphemeralPlacement)),
		}
	}
	if spec.DiskEncryptionSet != "" {
		disk.ManagedDisk = &armcompute.ManagedDiskParameters{
			DiskEncryptionSet: &armcompute.DiskEncryptionSetParameters{ID: &spec.DiskEncryptionSet},
		}
	}
	return disk
}

func image(image Image) *armcompute.ImageReference {
	if image.Community {
		return &armcompute.ImageReference{CommunityGalleryImageID: &image.ID}
	}
	return &armcompute.ImageReference{ID: &image.ID}
}

func operatingSystem(spec *Spec) *armcompute.OSProfile {
	return &armcompute.OSProfile{
		AdminUsername: &spec.AdminUser,
		ComputerName:  &spec.Name,
		CustomData:    &spec.CustomData,
		LinuxConfiguration: &armcompute.LinuxConfiguration{
			DisablePasswordAuthentication: to.Ptr(true),
			SSH: &armcompute.SSHConfiguration{PublicKeys: []*armcompute.SSHPublicKey{{
				KeyData: &spec.SSHKey,
				Path:    to.Ptr("/home/" + spec.AdminUser + "/.ssh/authorized_keys"),
			}}},
		},
	}
}

// security returns the security profile of a class; nil for a class without one. A class that sets both fields of
// trusted launch to false does not use it.
func security(class *v1beta1.AKSNodeClass) *armcompute.SecurityProfile {
	var profile armcompute.SecurityProfile
	if class.Spec.Security != nil {
		profile.EncryptionAtHost = class.Spec.Security.EncryptionAtHost
	}
	if class.TrustedLaunch() {
		profile.SecurityType = to.Ptr(armcompute.SecurityTypesTrustedLaunch)
		// What the class does not set is sent as false: Azure's own default may be another one.
		profile.UefiSettings = &armcompute.UefiSettings{
			SecureBootEnabled: to.Ptr(class.SecureBoot()), VTpmEnabled: to.Ptr(class.VTPM()),
		}
	}
	if profile.EncryptionAtHost == nil && profile.SecurityType == nil {
		return nil
	}
	return &profile
}

func identity(ids []string) *armcompute.VirtualMachineIdentity {
	if len(ids) == 0 {
		return nil
	}
	assigned := make(map[string]*armcompute.UserAssignedIdentitiesValue, len(ids))
	for _, id := range ids {
		assigned[id] = &armcompute.UserAssignedIdentitiesValue{}
	}
	return &armcompute.VirtualMachineIdentity{
		Type: to.Ptr(armcompute.ResourceIdentityTypeUserAssigned), UserAssignedIdentities: assigned,
	}
}

// pointers returns tags as the SDK takes them.
func pointers(tags map[string]string) map[string]*string {
	if tags == nil {
		return nil
	}
	result := make(map[string]*string, len(tags))
	for key, value := range tags {
		result[key] = &value
	}
	return result
}
