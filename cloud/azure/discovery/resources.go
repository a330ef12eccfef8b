package discovery

import (
	"context"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"

	"github.com/karpenter-anew/karpenter/cloud/azure/subnet"
)

// Resources reads what classes and settings refer to by id, in the subscription of the clients.
type Resources struct {
	Subnets            *armnetwork.SubnetsClient
	DiskEncryptionSets *armcompute.DiskEncryptionSetsClient
}

// Subnet reads a subnet.
func (r *Resources) Subnet(ctx context.Context, id subnet.ID) error {
	_, err := r.Subnets.Get(ctx, id.ResourceGroup, id.VirtualNetwork, id.Name, nil)
	return err
}

// DiskEncryptionSet reads a disk encryption set.
func (r *Resources) DiskEncryptionSet(ctx context.Context, id string) error {
	parts, err := arm.ParseResourceID(id)
	if err != nil {
		return fmt.Errorf("parsing the id of a disk encryption set: %w", err)
	}
	_, err = r.DiskEncryptionSets.Get(ctx, parts.ResourceGroupName, parts.Name, nil)
	return err
}
