package machineinstance

import (
	"context"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineapi"
	"github.com/karpenter-anew/karpenter/cloud/azure/operation"
)

// cleanupTimeout is how long the deletion of what a failed launch left behind may take.
const cleanupTimeout = 10 * time.Minute

// Delete deletes the AKSMachine of a virtual machine with it, and waits until both are gone. It returns without a request if this process deletes
// it already, and does nothing if Azure deletes it already. The error is cloud.NodeClaimNotFoundError if there is none.
func (c *Client) Delete(ctx context.Context, vm string) error {
	name, err := c.nameOf(vm)
	if err != nil {
		return err
	}
	if !c.deletions.begin(name) {
		return nil
	}
	defer c.deletions.end(name)
	found, err := c.fetch(ctx, name)
	if err != nil {
		return readError(name, err)
	}
	i, err := c.asVM(found, vm)
	if err != nil || i.Deleting {
		return err
	}
	return c.remove(ctx, name)
}

// remove deletes an AKSMachine; one that does not exist is no error.
func (c *Client) remove(ctx context.Context, name string) error {
	c.cache.drop(name)
	defer c.cache.drop(name)
	err := operation.Run(ctx, c.Clock, func(ctx context.Context) (*runtime.Poller[struct{}], error) { return c.API.BeginDelete(ctx, name) })
	if err != nil && !machineapi.IsNotFound(err) {
		return fmt.Errorf("deleting AKSMachine %q: %w", name, err)
	}
	return nil
}

// Cleanup deletes the AKSMachine of a failed launch, if there is one and it is that of the NodeClaim, and waits for it, for ten minutes at most. It
// does not end with the context.
func (c *Client) Cleanup(ctx context.Context, name, nodeClaim string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	found, err := c.fetch(ctx, name)
	if machineapi.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("getting AKSMachine %q: %w", name, err)
	}
	if !belongs(found, nodeClaim) || found.Properties.ProvisioningState == machineapi.StateDeleting {
		return nil
	}
	return c.remove(ctx, name)
}

// belongs reports whether an AKSMachine was launched for a NodeClaim.
func belongs(m *machineapi.AKSMachine, nodeClaim string) bool {
	return m.Properties != nil && m.Properties.Tags[label.TagAKSMachineNodeClaim] == nodeClaim
}
