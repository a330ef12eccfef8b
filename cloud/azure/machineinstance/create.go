package machineinstance

import (
	"context"
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/cloud/azure/aksmachine"
	"github.com/karpenter-anew/karpenter/cloud/azure/azureerrors"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineapi"
	"github.com/karpenter-anew/karpenter/cloud/azure/machinebatch"
	"github.com/karpenter-anew/karpenter/cloud/azure/operation"
	"github.com/karpenter-anew/karpenter/cloud/azure/unavailableofferings"
)

// Request is what to launch.
type Request struct {
	// Name is that of the AKSMachine, NodeClaim that of the NodeClaim, which a tag in the body has.
	Name, NodeClaim string
	Body            *aksmachine.Body
	// Attempt is the offering, for the classification of errors.
	Attempt azureerrors.Attempt
}

// Launch is a launch that Azure has accepted.
type Launch struct {
	// Instance is what AKS says of it.
	Instance *instance.Instance
	// Existing says that an earlier request created the AKSMachine.
	Existing bool

	client  *Client
	request Request
	// creation is the operation of the request; nil if the AKSMachine exists, or was requested with others.
	creation *operation.Operation[machineapi.AKSMachine]
}

// Create requests an AKSMachine. It returns when Azure has accepted the request; Wait does the rest. An AKSMachine that has the name already is used as
// it is if it is that of the NodeClaim: an earlier request created it. Errors are of type instance.LaunchError; what a failed launch left
// behind is deleted, and an error of that is joined.
//
// If the context ends, nothing is deleted: the next Create of the NodeClaim continues, or garbage collection deletes.
func (c *Client) Create(ctx context.Context, r Request) (*Launch, error) {
	launch, err := c.launch(ctx, r)
	if err == nil || ctx.Err() != nil || errors.Is(err, machinebatch.ErrShuttingDown) {
		return launch, err
	}
	return nil, errors.Join(err, c.Cleanup(ctx, r.Name, r.NodeClaim))
}

func (c *Client) launch(ctx context.Context, r Request) (*Launch, error) {
	existing, err := c.lookup(ctx, r.Name)
	if err == nil {
		return c.reuse(existing, r)
	}
	if !machineapi.IsNotFound(err) {
		return nil, notLaunched(instance.PhasePrepare, fmt.Errorf("getting AKSMachine %q: %w", r.Name, err))
	}
	creation, err := c.request(ctx, r)
	if machineapi.AlreadyExists(err) {
		// A request was repeated whose answer was lost, or another process sent one.
		if existing, readErr := c.fetch(ctx, r.Name); readErr == nil {
			return c.reuse(existing, r)
		}
	}
	if err != nil {
		code, text := machineapi.CodeOf(err)
		return nil, instance.NewLaunchError(instance.PhaseSync, code, azureerrors.ClassifyRequest(code, text, r.Attempt), fmt.Errorf("creating AKSMachine %q: %w", r.Name, err))
	}
	made, err := c.fetch(ctx, r.Name)
	if err != nil {
		return nil, notLaunched(instance.PhaseAsync, fmt.Errorf("getting AKSMachine %q after it was requested: %w", r.Name, err))
	}
	launch := &Launch{client: c, request: r, creation: creation}
	if launch.Instance, err = c.instanceOf(made); made.Properties != nil && made.Properties.ProvisioningState == machineapi.StateFailed {
		return nil, launch.failure(made)
	}
	if err != nil {
		return nil, notLaunched(instance.PhaseAsync, err)
	}
	return launch, nil
}

// Follow returns the launch of an AKSMachine that an earlier request created, without a request. The body of the request is not needed.
func (c *Client) Follow(r Request, i *instance.Instance) *Launch {
	return &Launch{Instance: i, Existing: true, client: c, request: r}
}

// request requests an AKSMachine, alone or together with others.
func (c *Client) request(ctx context.Context, r Request) (*operation.Operation[machineapi.AKSMachine], error) {
	if c.Batcher != nil {
		return nil, c.Batcher.Create(ctx, r.Name, r.Body)
	}
	return operation.Begin(ctx, c.Clock, func(ctx context.Context) (*runtime.Poller[machineapi.AKSMachine], error) {
		return c.API.BeginCreate(ctx, r.Name, r.Body)
	})
}

// reuse returns the launch of an AKSMachine that exists.
func (c *Client) reuse(m *machineapi.AKSMachine, r Request) (*Launch, error) {
	if !belongs(m, r.NodeClaim) {
		owner := ""
		if m.Properties != nil {
			owner = m.Properties.Tags[label.TagAKSMachineNodeClaim]
		}
		return nil, notLaunched(instance.PhasePrepare, fmt.Errorf("AKSMachine %q exists, for nodeclaim %q: nodeclaim %q needs another name", r.Name, owner, r.NodeClaim))
	}
	found, err := c.instanceOf(m)
	launch := c.Follow(r, found)
	switch m.Properties.ProvisioningState {
	case machineapi.StateFailed:
		return nil, launch.failure(m)
	case machineapi.StateDeleting:
		return nil, notLaunched(instance.PhasePrepare, fmt.Errorf("AKSMachine %q of an earlier launch is being deleted", r.Name))
	}
	if err != nil {
		return nil, notLaunched(instance.PhasePrepare, err)
	}
	return launch, nil
}

// notLaunched is an error from which nothing follows about capacity.
func notLaunched(phase instance.Phase, err error) *instance.LaunchError {
	code, _ := machineapi.CodeOf(err)
	return instance.NewLaunchError(phase, code, azureerrors.Failure{Reason: azureerrors.ReasonCreateInstanceFailed}, err)
}

// failure returns the error of an AKSMachine that AKS could not create.
func (l *Launch) failure(m *machineapi.AKSMachine) *instance.LaunchError {
	err := fmt.Errorf("creating AKSMachine %q: AKS does not say why it failed", m.Name)
	if p := m.Properties; p != nil && p.Status != nil && p.Status.ProvisioningError != nil {
		err = fmt.Errorf("creating AKSMachine %q: %w", m.Name, p.Status.ProvisioningError.Cause())
	}
	return l.classified(err, m)
}

// classified returns the error of a launch that Azure had accepted. An error of an AKSMachine that is not what this launch would have requested
// says nothing about the offering of the launch.
func (l *Launch) classified(err error, m *machineapi.AKSMachine) *instance.LaunchError {
	code, text := machineapi.CodeOf(err)
	failure := azureerrors.Classify(code, text, l.request.Attempt)
	if m != nil && !failure.Unavailable.Spot && l.Existing && !l.attempted(m) {
		failure.Unavailable = unavailableofferings.Mark{}
	}
	return instance.NewLaunchError(instance.PhaseAsync, code, failure, err)
}

// attempted reports whether an AKSMachine is of the offering of the launch.
func (l *Launch) attempted(m *machineapi.AKSMachine) bool {
	i, err := l.client.instanceOf(m)
	at := l.request.Attempt
	return err == nil && i.Size == at.InstanceType.Name && i.Zone == at.Zone && i.CapacityType == at.CapacityType
}
