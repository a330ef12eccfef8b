package machineinstance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineapi"
	"github.com/karpenter-anew/karpenter/cloud/azure/operation"
	"github.com/karpenter-anew/karpenter/cloud/azure/resourcetags"
)

// updateAttempts is how often an update is tried if the AKSMachine changes meanwhile.
const updateAttempts = 3

// Update replaces the tags of the AKSMachine of a virtual machine, and waits for it; without a request if it has them. Identities are ignored:
// AKS sets those. If the AKSMachine changes meanwhile, it is read again. The error is cloud.NodeClaimNotFoundError if there is none.
func (c *Client) Update(ctx context.Context, vm string, want resourcetags.InPlace) error {
	name, err := c.nameOf(vm)
	if err != nil {
		return err
	}
	for range updateAttempts {
		if err = c.updateTags(ctx, name, vm, want.Tags); !changed(err) {
			break
		}
	}
	return err
}

func (c *Client) updateTags(ctx context.Context, name, vm string, tags map[string]string) error {
	found, err := c.fetch(ctx, name)
	if err != nil {
		return readError(name, err)
	}
	i, err := c.asVM(found, vm)
	if err != nil || maps.Equal(i.Tags, tags) {
		return err
	}
	if !resourcetags.KeepsOwner(i.Tags, tags) {
		return fmt.Errorf("changing the tags of AKSMachine %q, whose tag %s is %q: it is not one of cluster %q", name, label.TagCluster, i.Tags[label.TagCluster], tags[label.TagCluster])
	}
	c.cache.drop(name)
	defer c.cache.drop(name)
	err = operation.Run(ctx, c.Clock, func(ctx context.Context) (*runtime.Poller[machineapi.AKSMachine], error) {
		return c.API.BeginSetTags(ctx, found, tags)
	})
	if err != nil {
		return fmt.Errorf("changing the tags of AKSMachine %q: %w", name, err)
	}
	return nil
}

// changed reports whether an update was refused because the AKSMachine is not as it was read.
func changed(err error) bool {
	var response *azcore.ResponseError
	return errors.As(err, &response) && response.StatusCode == http.StatusPreconditionFailed
}
