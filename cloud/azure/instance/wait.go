package instance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/karpenter-anew/karpenter/cloud/azure/azureerrors"
	"github.com/karpenter-anew/karpenter/cloud/azure/operation"
	"github.com/karpenter-anew/karpenter/cloud/azure/virtualmachine"
)

// failedStatus begins the code of the status of a virtual machine whose creation failed; the error code follows.
const failedStatus = "ProvisioningState/failed/"

// Wait waits until the virtual machine runs and creates its extensions, each of which it waits for. It deletes nothing:
// see Cleanup. Errors are of type LaunchError. The context should end at shutdown and have a deadline.
//
// After a restart, Create finds the virtual machine, and Wait continues: it reads the provisioning state, and creates those
// extensions that the virtual machine does not have. It does so instead of resuming the operation by a token, because a token would
// have to be stored before a crash, and the virtual machine itself always knows.
func (l *Launch) Wait(ctx context.Context) error {
	var present []*armcompute.VirtualMachineExtension
	var err error
	if l.creation != nil {
		if err = l.creation.Wait(ctx); err != nil {
			err = failed(PhaseAsync, fmt.Errorf("creating virtual machine %q: %w", l.request.VM.Name, err), l.request.Attempt)
		}
	} else {
		present, err = l.awaitExisting(ctx)
	}
	if err != nil {
		return err
	}
	for _, extension := range virtualmachine.Extensions(&l.request.VM, l.request.Cloud, l.request.Command) {
		if has(present, extension.Name) {
			continue
		}
		if err := l.createExtension(ctx, extension); err != nil {
			return failed(PhaseAsync, err, l.request.Attempt)
		}
	}
	return nil
}

func (l *Launch) createExtension(ctx context.Context, extension virtualmachine.Extension) error {
	c, vm := l.client, l.request.VM.Name
	err := operation.Run(ctx, c.Clock, func(ctx context.Context) (*runtime.Poller[armcompute.VirtualMachineExtensionsClientCreateOrUpdateResponse], error) {
		return c.Extensions.BeginCreateOrUpdate(ctx, c.ResourceGroup, vm, extension.Name, extension.Body, nil)
	})
	if err != nil {
		return fmt.Errorf("creating extension %q of virtual machine %q: %w", extension.Name, vm, err)
	}
	return nil
}

// has reports whether an extension exists and did not fail.
func has(present []*armcompute.VirtualMachineExtension, name string) bool {
	return slices.ContainsFunc(present, func(e *armcompute.VirtualMachineExtension) bool {
		return strings.EqualFold(value(e.Name), name) && (e.Properties == nil || value(e.Properties.ProvisioningState) != "Failed")
	})
}

// awaitExisting reads a virtual machine until it is no longer being created, and returns its extensions.
func (l *Launch) awaitExisting(ctx context.Context) ([]*armcompute.VirtualMachineExtension, error) {
	c, name := l.client, l.request.VM.Name
	for {
		vm, err := c.VirtualMachines.Get(ctx, c.ResourceGroup, name,
			&armcompute.VirtualMachinesClientGetOptions{Expand: to.Ptr(armcompute.InstanceViewTypesInstanceView)})
		if err != nil {
			return nil, failed(PhaseAsync, fmt.Errorf("getting virtual machine %q: %w", name, err), l.request.Attempt)
		}
		state := ""
		if vm.Properties != nil {
			state = value(vm.Properties.ProvisioningState)
		}
		switch state {
		case "Creating", "Updating":
		case "Failed", stateDeleting:
			return nil, l.ended(&vm.VirtualMachine, state)
		default:
			return vm.Resources, nil
		}
		timer := c.Clock.NewTimer(operation.Interval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, failed(PhaseAsync, fmt.Errorf("waiting for virtual machine %q: %w", name, ctx.Err()), l.request.Attempt)
		case <-timer.C():
		}
	}
}

// ended returns the error of a virtual machine that failed or is being deleted. Its status has the error code.
func (l *Launch) ended(vm *armcompute.VirtualMachine, state string) *LaunchError {
	out := &LaunchError{Phase: PhaseAsync, Failure: azureerrors.Failure{Reason: azureerrors.ReasonCreateInstanceFailed}}
	err := fmt.Errorf("virtual machine %q is in state %s", l.request.VM.Name, state)
	if view := vm.Properties.InstanceView; view != nil {
		for _, status := range view.Statuses {
			code, ok := strings.CutPrefix(value(status.Code), failedStatus)
			if !ok || state != "Failed" {
				continue
			}
			out.Code = code
			out.Failure = azureerrors.Classify(code, value(status.Message), l.request.Attempt)
			err = fmt.Errorf("%w: %s: %s", err, code, value(status.Message))
			break
		}
	}
	out.err = out.Failure.Error(err)
	return out
}
