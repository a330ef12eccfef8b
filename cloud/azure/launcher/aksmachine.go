package launcher

import (
	"context"
	"path"

	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineinstance"
	"github.com/karpenter-anew/karpenter/cloud/azure/request"
	"github.com/karpenter-anew/karpenter/cloud/azure/resourcetags"
)

// AKSMachineRequests makes the requests of a launch; request.AKSMachines is one.
type AKSMachineRequests interface {
	Of(request.Launch) (request.AKSMachine, error)
}

// AKSMachineInstances creates AKSMachines; machineinstance.Client is one.
type AKSMachineInstances interface {
	Get(ctx context.Context, vm string) (*instance.Instance, error)
	Create(context.Context, machineinstance.Request) (*machineinstance.Launch, error)
	Follow(machineinstance.Request, *instance.Instance) *machineinstance.Launch
	Cleanup(ctx context.Context, name, nodeClaim string) error
}

// AKSMachines is the Path of virtual machines that AKS creates.
type AKSMachines struct {
	Requests  AKSMachineRequests
	Instances AKSMachineInstances
}

// Get implements Path.
func (m *AKSMachines) Get(ctx context.Context, vm string) (*instance.Instance, error) {
	return m.Instances.Get(ctx, vm)
}

// Create implements Path.
func (m *AKSMachines) Create(ctx context.Context, order request.Launch) (Accepted, error) {
	made, err := m.Requests.Of(order)
	if err != nil {
		return Accepted{}, err
	}
	r := machineinstance.Request{Name: made.Name, NodeClaim: order.Claim.Name, Body: made.Body, Attempt: order.Choice.Attempt}
	launch, err := m.Instances.Create(ctx, r)
	if err != nil {
		return Accepted{}, err
	}
	return m.accepted(&order, r, launch, made.Spec.Tags), nil
}

// Follow implements Path. It needs nothing that the class says.
func (m *AKSMachines) Follow(_ context.Context, order request.Launch, i *instance.Instance) Accepted {
	r := machineinstance.Request{Name: path.Base(i.AKSMachineID), NodeClaim: order.Claim.Name, Attempt: order.Choice.Attempt}
	return m.accepted(&order, r, m.Instances.Follow(r, i), i.Tags)
}

func (m *AKSMachines) accepted(order *request.Launch, r machineinstance.Request, launch *machineinstance.Launch, tags map[string]string) Accepted {
	return Accepted{
		Instance: launch.Instance, Existing: launch.Existing, Created: createdOf(order.Claim, launch.Instance), InPlace: resourcetags.InPlace{Tags: tags},
		Wait:    launch.Wait,
		Cleanup: func(ctx context.Context) error { return m.Instances.Cleanup(ctx, r.Name, r.NodeClaim) },
	}
}
