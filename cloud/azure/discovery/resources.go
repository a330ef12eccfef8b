package discovery

import (
	"context"
	"fmt"
	"slices"

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

// Subnet reads a subnet, and returns how many of its addresses are free, or subnet.UnknownFree. Used are those of all configurations that Azure
// lists: of nodes and of whatever else is in the subnet.
func (r *Resources) Subnet(ctx context.Context, id subnet.ID) (free int, _ error) {
	found, err := r.Subnets.Get(ctx, id.ResourceGroup, id.VirtualNetwork, id.Name, nil)
	if err != nil {
		return subnet.UnknownFree, err
	}
	properties := found.Properties
	if properties == nil {
		return subnet.UnknownFree, nil
	}
	var prefixes []string
	for _, prefix := range append(properties.AddressPrefixes, properties.AddressPrefix) {
		if prefix != nil && !slices.Contains(prefixes, *prefix) {
			prefixes = append(prefixes, *prefix)
		}
	}
	return subnet.Free(prefixes, len(properties.IPConfigurations)), nil
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
