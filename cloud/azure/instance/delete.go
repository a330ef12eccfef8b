package instance

import (
	"context"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"

	"github.com/karpenter-anew/karpenter/cloud/azure/operation"
)

// Delete deletes a virtual machine and waits until it is gone; its disk and its network interface go with it. One that does not exist is no
// error: lists of Azure can still name it.
func (c *Client) Delete(ctx context.Context, name string) error {
	// Forced: the node is drained, and a graceful shutdown of the operating system would only keep its capacity longer.
	err := operation.Run(ctx, c.Clock, func(ctx context.Context) (*runtime.Poller[armcompute.VirtualMachinesClientDeleteResponse], error) {
		return c.VirtualMachines.BeginDelete(ctx, c.ResourceGroup, name, &armcompute.VirtualMachinesClientBeginDeleteOptions{ForceDeletion: to.Ptr(true)})
	})
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
	err = operation.Run(ctx, c.Clock, func(ctx context.Context) (*runtime.Poller[armnetwork.InterfacesClientDeleteResponse], error) {
		return c.NetworkInterfaces.BeginDelete(ctx, c.ResourceGroup, name, nil)
	})
	if err != nil && !notFound(err) {
		return fmt.Errorf("deleting network interface %q: %w", name, err)
	}
	return nil
}
