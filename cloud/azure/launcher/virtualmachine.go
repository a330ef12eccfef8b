package launcher

import (
	"context"
	"errors"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/cloud/azure/naming"
	"github.com/karpenter-anew/karpenter/cloud/azure/network"
	"github.com/karpenter-anew/karpenter/cloud/azure/request"
	"github.com/karpenter-anew/karpenter/cloud/azure/resourcetags"
	"github.com/karpenter-anew/karpenter/cloud/azure/telemetry"
	"github.com/karpenter-anew/karpenter/cloud/azure/virtualmachine"
)

// Requests makes the requests of a launch; request.VMs is one.
type Requests interface {
	Of(context.Context, request.Launch) (request.VM, error)
}

// Instances creates virtual machines; instance.Client is one.
type Instances interface {
	Get(ctx context.Context, name string) (*instance.Instance, error)
	Create(context.Context, instance.Request) (*instance.Launch, error)
	Follow(instance.Request, *instance.Instance) *instance.Launch
	Cleanup(ctx context.Context, name string) error
}

// Pools reads the pools of load balancers again; network.BackendPools is one.
type Pools interface {
	Refresh(context.Context, network.Pools) (network.Pools, error)
}

// VMs is the Path of virtual machines that the provider creates.
type VMs struct {
	Requests  Requests
	Instances Instances
	Pools     Pools
	// Cloud is the name of the Azure environment, Location that of the cluster.
	Cloud, Location string
	// Identities are the ARM ids of the user-assigned identities of nodes.
	Identities []string
	Metrics    *telemetry.Metrics
}

// Get implements Path.
func (v *VMs) Get(ctx context.Context, vm string) (*instance.Instance, error) {
	return v.Instances.Get(ctx, vm)
}

// Create implements Path.
func (v *VMs) Create(ctx context.Context, order request.Launch) (Accepted, error) {
	if err := naming.CheckVM(order.Claim.Name); err != nil {
		return Accepted{}, cloud.NewCreateError(err, "NameTooLong", err.Error())
	}
	r, created, err := v.prepare(ctx, order)
	if err != nil {
		return Accepted{}, err
	}
	launch, err := v.Instances.Create(ctx, r)
	if err != nil {
		v.count(err, created)
		return Accepted{}, err
	}
	return v.accepted(r, launch, created), nil
}

// Follow implements Path. Where the class does not lead to such a launch any more, because it was changed or is not ready, only what the
// instance itself says is known; that is enough to follow it.
func (v *VMs) Follow(ctx context.Context, order request.Launch, i *instance.Instance) Accepted {
	r := instance.Request{
		Class: order.Class, VM: virtualmachine.Spec{Name: i.Name, Location: v.Location}, Attempt: order.Choice.Attempt, Cloud: v.Cloud,
	}
	if complete(&order) {
		if prepared, _, err := v.prepare(ctx, order); err == nil {
			r = prepared
		}
	}
	r.VM.Tags = i.Tags
	return v.accepted(r, v.Instances.Follow(r, i), createdOf(order.Claim, i))
}

// prepare makes the request of a launch.
func (v *VMs) prepare(ctx context.Context, order request.Launch) (instance.Request, telemetry.Created, error) {
	vm, err := v.Requests.Of(ctx, order)
	if err != nil {
		return instance.Request{}, telemetry.Created{}, err
	}
	created := telemetry.Created{
		Image: vm.Spec.Image.ID, Size: vm.Spec.Size, Zone: vm.Spec.Zone, CapacityType: order.Choice.Offering.CapacityType(),
		NodePool: order.Claim.Labels[v1.NodePoolLabelKey],
	}
	pools := vm.Interface.Attachment.Pools
	return instance.Request{
		Class: order.Class, VM: vm.Spec, NIC: network.InterfaceBody(&vm.Interface), Attempt: order.Choice.Attempt, Cloud: v.Cloud, Command: vm.Command,
		RefreshPools: func(ctx context.Context) ([]string, error) {
			fresh, err := v.Pools.Refresh(ctx, pools)
			return fresh.IDs, err
		},
		Requesting: func() { v.Metrics.Started(created) },
	}, created, nil
}

func (v *VMs) accepted(r instance.Request, launch *instance.Launch, created telemetry.Created) Accepted {
	return Accepted{
		Instance: launch.Instance, Existing: launch.Existing, Created: created, InPlace: resourcetags.InPlace{Tags: r.VM.Tags, Identities: v.Identities},
		Wait: func(ctx context.Context) error {
			err := launch.Wait(ctx)
			if !errors.Is(ctx.Err(), context.Canceled) {
				v.count(err, created)
			}
			return err
		},
		Cleanup: func(ctx context.Context) error { return v.Instances.Cleanup(ctx, launch.Instance.Name) },
	}
}

// count counts a launch that failed after Azure was asked for the virtual machine.
func (v *VMs) count(err error, created telemetry.Created) {
	var failed *instance.LaunchError
	if !errors.As(err, &failed) {
		return
	}
	switch failed.Phase {
	case instance.PhaseSync:
		v.Metrics.Failed(created, telemetry.PhaseSync, failed.Code)
	case instance.PhaseAsync:
		v.Metrics.Failed(created, telemetry.PhaseAsync, failed.Code)
	}
}
