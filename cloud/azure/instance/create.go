package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/azureerrors"
	"github.com/karpenter-anew/karpenter/cloud/azure/operation"
	"github.com/karpenter-anew/karpenter/cloud/azure/virtualmachine"
)

// cleanupTimeout is how long the deletion of what a failed launch left behind may take.
const cleanupTimeout = 10 * time.Minute

// Phase says which part of a launch failed. The values are those of the label phase of the metrics.
type Phase string

const (
	// PhasePrepare is everything before the request for the virtual machine: the network interface, the look for an
	// existing virtual machine. Such errors are not about capacity and not classified.
	PhasePrepare Phase = "prepare"
	// PhaseSync is the request for the virtual machine, which Azure refused.
	PhaseSync Phase = "sync"
	// PhaseAsync is what comes after Azure has accepted the request.
	PhaseAsync Phase = "async"
)

// LaunchError is a failed launch. It unwraps to the error that the NodeClaim gets: insufficient capacity, or a create
// error with a reason. The caller marks Failure.Unavailable.
type LaunchError struct {
	Phase Phase
	// Code is the error code of Azure, as in InsufficientSubnetSize; empty if the error is none of Azure.
	Code    string
	Failure azureerrors.Failure

	err error
}

// Error is the error of the NodeClaim.
func (e *LaunchError) Error() string { return e.err.Error() }

// Unwrap returns the error of the NodeClaim.
func (e *LaunchError) Unwrap() error { return e.err }

// Request is what to launch.
type Request struct {
	Class *v1beta1.AKSNodeClass
	// VM is what the virtual machine is launched with; Create fills in NetworkInterface. The network interface has its name.
	VM virtualmachine.Spec
	// NIC is the body of the network interface. Only its first configuration is in pools of load balancers.
	NIC armnetwork.Interface
	// RefreshPools reads the ids of the pools of load balancers again. It is called if one that NIC names is gone.
	RefreshPools func(context.Context) ([]string, error)
	// Attempt is the offering, for the classification of errors.
	Attempt azureerrors.Attempt
	// Cloud and Command decide the extensions; see virtualmachine.Extensions.
	Cloud, Command string
	// Requesting is called before the request for a virtual machine is sent, and not if one exists.
	Requesting func()
}

// Launch is a launch that Azure has accepted.
type Launch struct {
	// Instance is what is known of the virtual machine. A new one has a computed id, and is as old as the request.
	Instance *Instance
	// Existing says that an earlier request created the virtual machine.
	Existing bool

	client  *Client
	request Request
	// creation is the operation of the request; nil if the virtual machine exists.
	creation *operation.Operation[armcompute.VirtualMachinesClientCreateOrUpdateResponse]
}

// Create creates the network interface and requests the virtual machine. It returns when Azure has accepted the request;
// Wait does the rest. A virtual machine that has the name already is used as it is: the controller was restarted after it
// had requested that one. Errors are of type LaunchError; what a failed launch left behind is deleted, and an error of
// that is joined.
//
// If the context ends, nothing is deleted: the next Create of the NodeClaim continues, or garbage collection deletes.
func (c *Client) Create(ctx context.Context, r Request) (*Launch, error) {
	launch, err := c.request(ctx, r)
	if err == nil || ctx.Err() != nil {
		return launch, err
	}
	return nil, errors.Join(err, c.Cleanup(ctx, r.VM.Name))
}

// Cleanup deletes the virtual machine and then the network interface of a failed launch, as far as they exist, and waits
// for it, for ten minutes at most. It does not end with the context.
func (c *Client) Cleanup(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	_, err := c.VirtualMachines.Get(ctx, c.ResourceGroup, name, nil)
	switch {
	case notFound(err):
		err = nil
	case err == nil:
		err = c.Delete(ctx, name)
	default:
		err = fmt.Errorf("getting virtual machine %q: %w", name, err)
	}
	return errors.Join(err, c.DeleteNIC(ctx, name))
}

func (c *Client) request(ctx context.Context, r Request) (*Launch, error) {
	nic, err := c.createNIC(ctx, &r)
	if err != nil {
		return nil, failed(PhasePrepare, err, r.Attempt)
	}
	r.VM.NetworkInterface = nic
	existing, err := c.VirtualMachines.Get(ctx, c.ResourceGroup, r.VM.Name, nil)
	if err == nil {
		return c.existing(r, &existing.VirtualMachine)
	}
	if !notFound(err) {
		return nil, failed(PhasePrepare, fmt.Errorf("getting virtual machine %q: %w", r.VM.Name, err), r.Attempt)
	}
	body, err := virtualmachine.Body(r.Class, &r.VM)
	if err != nil {
		return nil, failed(PhasePrepare, err, r.Attempt)
	}
	if r.Requesting != nil {
		r.Requesting()
	}
	creation, err := operation.Begin(ctx, c.Clock, func(ctx context.Context) (*runtime.Poller[armcompute.VirtualMachinesClientCreateOrUpdateResponse], error) {
		return c.VirtualMachines.BeginCreateOrUpdate(ctx, c.ResourceGroup, r.VM.Name, body, nil)
	})
	if err != nil {
		return nil, failed(PhaseSync, fmt.Errorf("creating virtual machine %q: %w", r.VM.Name, err), r.Attempt)
	}
	body.ID, body.Name = to.Ptr(c.vmID(r.VM.Name)), &r.VM.Name
	made, err := c.instanceOf(&body)
	if err != nil {
		return nil, failed(PhasePrepare, err, r.Attempt)
	}
	return &Launch{Instance: made, client: c, request: r, creation: creation}, nil
}

// Follow returns the launch of a virtual machine that an earlier process has requested, without a call. The request is the one
// that it was created with, as far as it is known: name, location and tags of VM are needed for the extensions that are missing.
func (c *Client) Follow(r Request, i *Instance) *Launch {
	return &Launch{Instance: i, Existing: true, client: c, request: r}
}

// existing returns the launch of a virtual machine that exists. It counts as new, so that garbage collection spares it.
func (c *Client) existing(r Request, vm *armcompute.VirtualMachine) (*Launch, error) {
	found, err := c.instanceOf(vm)
	if err != nil {
		return nil, failed(PhasePrepare, err, r.Attempt)
	}
	found.Created = c.Clock.Now()
	return c.Follow(r, found), nil
}

func (c *Client) vmID(name string) string { return c.id("Microsoft.Compute/virtualMachines", name) }

// id is the ARM id of a resource in the group of the nodes.
func (c *Client) id(kind, name string) string {
	return "/subscriptions/" + c.Subscription + "/resourceGroups/" + c.ResourceGroup + "/providers/" + kind + "/" + name
}

// createNIC creates the network interface and returns its id. If a pool of a load balancer is gone, it tries once more
// with the pools of now.
func (c *Client) createNIC(ctx context.Context, r *Request) (string, error) {
	id, err := c.putNIC(ctx, r.VM.Name, r.NIC)
	if err == nil || !missesPool(err, pools(r.NIC)) {
		return id, err
	}
	fresh, refreshErr := r.RefreshPools(ctx)
	if refreshErr != nil {
		return "", errors.Join(err, refreshErr)
	}
	return c.putNIC(ctx, r.VM.Name, withPools(r.NIC, fresh))
}

func (c *Client) putNIC(ctx context.Context, name string, body armnetwork.Interface) (string, error) {
	err := operation.Run(ctx, c.Clock, func(ctx context.Context) (*runtime.Poller[armnetwork.InterfacesClientCreateOrUpdateResponse], error) {
		return c.NetworkInterfaces.BeginCreateOrUpdate(ctx, c.ResourceGroup, name, body, nil)
	})
	if err != nil {
		return "", fmt.Errorf("creating network interface %q: %w", name, err)
	}
	return c.id("Microsoft.Network/networkInterfaces", name), nil
}

// missesPool reports whether an error says that one of the pools does not exist.
func missesPool(err error, pools []string) bool {
	var response *azcore.ResponseError
	if !errors.As(err, &response) || !strings.EqualFold(response.ErrorCode, "InvalidResourceReference") {
		return false
	}
	message := strings.ToLower(response.Error())
	return slices.ContainsFunc(pools, func(id string) bool { return strings.Contains(message, strings.ToLower(id)) })
}

// pools returns the ids of the pools that a network interface is in.
func pools(nic armnetwork.Interface) []string {
	var out []string
	if nic.Properties == nil {
		return nil
	}
	for _, configuration := range nic.Properties.IPConfigurations {
		if configuration.Properties == nil {
			continue
		}
		for _, pool := range configuration.Properties.LoadBalancerBackendAddressPools {
			out = append(out, value(pool.ID))
		}
	}
	return out
}

// withPools returns a network interface whose configurations that are in pools are in these instead.
func withPools(nic armnetwork.Interface, ids []string) armnetwork.Interface {
	properties := *nic.Properties
	properties.IPConfigurations = slices.Clone(properties.IPConfigurations)
	for i, configuration := range properties.IPConfigurations {
		if configuration.Properties == nil || len(configuration.Properties.LoadBalancerBackendAddressPools) == 0 {
			continue
		}
		changed, changedProperties := *configuration, *configuration.Properties
		changedProperties.LoadBalancerBackendAddressPools = nil
		for _, id := range ids {
			changedProperties.LoadBalancerBackendAddressPools = append(changedProperties.LoadBalancerBackendAddressPools, &armnetwork.BackendAddressPool{ID: &id})
		}
		changed.Properties = &changedProperties
		properties.IPConfigurations[i] = &changed
	}
	nic.Properties = &properties
	return nic
}

// failed returns the error of a launch.
func failed(phase Phase, err error, attempt azureerrors.Attempt) *LaunchError {
	var response *azcore.ResponseError
	out := &LaunchError{Phase: phase, Failure: azureerrors.Failure{Reason: azureerrors.ReasonCreateInstanceFailed}}
	if errors.As(err, &response) {
		out.Code = response.ErrorCode
		if phase != PhasePrepare {
			out.Failure = azureerrors.Classify(response.ErrorCode, response.Error(), attempt)
		}
	}
	out.err = out.Failure.Error(err)
	return out
}
