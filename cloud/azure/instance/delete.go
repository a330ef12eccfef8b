package instance

import (
	"context"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/karpenter-anew/karpenter/cloud/azure/session"
)

// Delete deletes a virtual machine and waits until it is gone; its disk and its network interface go with it. It returns
// without a call if this process deletes it already, and does nothing if Azure deletes it already. The error is
// cloud.NodeClaimNotFoundError if the virtual machine does not exist: lists of Azure can still name it.
func (c *Client) Delete(ctx context.Context, name string) error {
	if !c.deletions.Begin(name) {
		return nil
	}
	defer c.deletions.End(name)
	vm, err := c.Get(ctx, name)
	if err != nil {
		return err
	}
	if vm.Deleting {
		return nil
	}
	return c.deleteVM(ctx, name)
}

// deleteVM deletes a virtual machine; one that does not exist is no error.
func (c *Client) deleteVM(ctx context.Context, name string) error {
	// Forced: the node is drained, and a graceful shutdown of the operating system would only keep its capacity longer.
	poller, err := c.VirtualMachines.BeginDelete(ctx, c.ResourceGroup, name,
		&armcompute.VirtualMachinesClientBeginDeleteOptions{ForceDeletion: to.Ptr(true)})
	if err == nil {
		_, err = poller.PollUntilDone(ctx, session.PollOptions())
	}
	if err != nil && !notFound(err) {
		return fmt.Errorf("deleting virtual machine %q: %w", name, err)
	}
	return nil
}

// DeleteNIC deletes a network interface and waits until it is gone. One that does not exist is no error. Azure refuses
// for some three minutes to delete an interface whose virtual machine is gone.
func (c *Client) DeleteNIC(ctx context.Context, name string) error {
	_, err := c.NetworkInterfaces.Get(ctx, c.ResourceGroup, name, nil)
	if notFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("getting network interface %q: %w", name, err)
	}
	poller, err := c.NetworkInterfaces.BeginDelete(ctx, c.ResourceGroup, name, nil)
	if err == nil {
		_, err = poller.PollUntilDone(ctx, session.PollOptions())
	}
	if err != nil && !notFound(err) {
		return fmt.Errorf("deleting network interface %q: %w", name, err)
	}
	return nil
}
