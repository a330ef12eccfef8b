// Package instance launches, finds, updates and deletes the virtual machines of nodes that the provider itself creates, with their
// network interfaces. It decides nothing about capacity: errors of launches are returned with what follows from them.
//
// Source: Azure provider specification, launch of virtual machines, calls.
package instance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	"k8s.io/utils/clock"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/naming"
	"github.com/karpenter-anew/karpenter/cloud/azure/resourcetags"
	"github.com/karpenter-anew/karpenter/cloud/azure/zone"
)

// stateDeleting is the provisioning state of a virtual machine that is being deleted.
const stateDeleting = "Deleting"

// VirtualMachines are the calls about virtual machines.
type VirtualMachines interface {
	Get(ctx context.Context, group, name string, options *armcompute.VirtualMachinesClientGetOptions) (armcompute.VirtualMachinesClientGetResponse, error)
	BeginCreateOrUpdate(ctx context.Context, group, name string, body armcompute.VirtualMachine,
		options *armcompute.VirtualMachinesClientBeginCreateOrUpdateOptions) (*runtime.Poller[armcompute.VirtualMachinesClientCreateOrUpdateResponse], error)
	BeginUpdate(ctx context.Context, group, name string, body armcompute.VirtualMachineUpdate,
		options *armcompute.VirtualMachinesClientBeginUpdateOptions) (*runtime.Poller[armcompute.VirtualMachinesClientUpdateResponse], error)
	BeginDelete(ctx context.Context, group, name string,
		options *armcompute.VirtualMachinesClientBeginDeleteOptions) (*runtime.Poller[armcompute.VirtualMachinesClientDeleteResponse], error)
}

// Extensions are the calls about extensions of virtual machines.
type Extensions interface {
	BeginCreateOrUpdate(ctx context.Context, group, vm, name string, body armcompute.VirtualMachineExtension,
		options *armcompute.VirtualMachineExtensionsClientBeginCreateOrUpdateOptions,
	) (*runtime.Poller[armcompute.VirtualMachineExtensionsClientCreateOrUpdateResponse], error)
	BeginUpdate(ctx context.Context, group, vm, name string, body armcompute.VirtualMachineExtensionUpdate,
		options *armcompute.VirtualMachineExtensionsClientBeginUpdateOptions,
	) (*runtime.Poller[armcompute.VirtualMachineExtensionsClientUpdateResponse], error)
}

// NetworkInterfaces are the calls about network interfaces.
type NetworkInterfaces interface {
	Get(ctx context.Context, group, name string, options *armnetwork.InterfacesClientGetOptions) (armnetwork.InterfacesClientGetResponse, error)
	BeginCreateOrUpdate(ctx context.Context, group, name string, body armnetwork.Interface,
		options *armnetwork.InterfacesClientBeginCreateOrUpdateOptions) (*runtime.Poller[armnetwork.InterfacesClientCreateOrUpdateResponse], error)
	UpdateTags(ctx context.Context, group, name string, tags armnetwork.TagsObject,
		options *armnetwork.InterfacesClientUpdateTagsOptions) (armnetwork.InterfacesClientUpdateTagsResponse, error)
	BeginDelete(ctx context.Context, group, name string,
		options *armnetwork.InterfacesClientBeginDeleteOptions) (*runtime.Poller[armnetwork.InterfacesClientDeleteResponse], error)
}

// Options configure a Client.
type Options struct {
	VirtualMachines   VirtualMachines
	Extensions        Extensions
	NetworkInterfaces NetworkInterfaces
	Graph             Graph
	// Cluster is the name of the cluster, which tags have.
	Cluster string
	// Subscription is the id of the subscription, ResourceGroup the name of the group that holds the nodes.
	Subscription, ResourceGroup string
	Clock                       clock.Clock
}

// Client launches, reads, updates and deletes virtual machines. Make one with NewClient. It is safe for concurrent use.
type Client struct{ Options }

// NewClient returns a client for the virtual machines of a resource group.
func NewClient(o Options) *Client { return &Client{o} }

// Instance is a virtual machine of a node.
type Instance struct {
	// ID is the ARM id, Name the name.
	ID, Name string
	// Size is the VM size, Zone the value of the zone label, CapacityType v1.CapacityTypeSpot or v1.CapacityTypeOnDemand.
	Size, Zone, CapacityType string
	// ImageID is the id of the image; empty if it is not known.
	ImageID string
	Tags    map[string]string
	// Created is when Azure created the virtual machine, or when it was read if Azure does not say: an instance of an
	// unknown age counts as new, so that garbage collection spares it.
	Created time.Time
	// Deleting says that Azure is deleting it.
	Deleting bool
	// AKSMachineID is the ARM id of the AKSMachine for which AKS created the virtual machine; empty for the others. DriftAction is what AKS
	// would do about that AKSMachine because of drift.
	AKSMachineID, DriftAction string
}

// OwnedBy reports whether the virtual machine is one of a node of a cluster, by its tags.
func (i *Instance) OwnedBy(cluster string) bool { return resourcetags.OwnedBy(i.Tags, cluster) }

// ProviderID returns the provider ID of the node. It fails if the id is not that of a virtual machine.
func (i *Instance) ProviderID() (string, error) {
	id, err := naming.ParseVMID(i.ID)
	if err != nil {
		return "", err
	}
	return id.ProviderID(), nil
}

// Get returns the virtual machine with a name. The error is cloud.NodeClaimNotFoundError if there is none.
func (c *Client) Get(ctx context.Context, name string) (*Instance, error) {
	vm, err := c.VirtualMachines.Get(ctx, c.ResourceGroup, name, nil)
	if notFound(err) {
		return nil, cloud.NewNodeClaimNotFoundError(fmt.Errorf("getting virtual machine %q: %w", name, err))
	}
	if err != nil {
		return nil, fmt.Errorf("getting virtual machine %q: %w", name, err)
	}
	return c.instanceOf(&vm.VirtualMachine)
}

// instanceOf reads what Azure says of a virtual machine. It fails if that is in several zones.
func (c *Client) instanceOf(vm *armcompute.VirtualMachine) (*Instance, error) {
	numbers := make([]string, len(vm.Zones))
	for i, number := range vm.Zones {
		numbers[i] = value(number)
	}
	place, err := zone.Label(value(vm.Location), numbers)
	if err != nil {
		return nil, fmt.Errorf("reading virtual machine %q: %w", value(vm.Name), err)
	}
	out := &Instance{
		ID: value(vm.ID), Name: value(vm.Name), Zone: place, CapacityType: v1.CapacityTypeOnDemand,
		Tags: make(map[string]string, len(vm.Tags)), Created: c.Clock.Now(),
	}
	for key, tag := range vm.Tags {
		out.Tags[key] = value(tag)
	}
	p := vm.Properties
	if p == nil {
		return out, nil
	}
	if p.HardwareProfile != nil {
		out.Size = string(value(p.HardwareProfile.VMSize))
	}
	if value(p.Priority) == armcompute.VirtualMachinePriorityTypesSpot {
		out.CapacityType = v1.CapacityTypeSpot
	}
	if p.StorageProfile != nil {
		out.ImageID = imageID(p.StorageProfile.ImageReference)
	}
	if p.TimeCreated != nil {
		out.Created = *p.TimeCreated
	}
	out.Deleting = value(p.ProvisioningState) == stateDeleting
	return out, nil
}

// imageID returns the first id that is set: of a shared, a community, a directly shared gallery, or of the marketplace.
func imageID(image *armcompute.ImageReference) string {
	if image == nil {
		return ""
	}
	for _, id := range []*string{image.ID, image.CommunityGalleryImageID, image.SharedGalleryImageID} {
		if value(id) != "" {
			return *id
		}
	}
	if image.Publisher == nil {
		return ""
	}
	return value(image.Publisher) + ":" + value(image.Offer) + ":" + value(image.SKU) + ":" + value(image.Version)
}

// value returns what a pointer of the SDK points to, and the zero value for nil.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// notFound reports whether Azure answered that a resource does not exist.
func notFound(err error) bool {
	var response *azcore.ResponseError
	return errors.As(err, &response) && response.StatusCode == http.StatusNotFound
}
