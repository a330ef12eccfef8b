package launcher

import (
	"context"
	"time"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/cloud/azure/naming"
	"github.com/karpenter-anew/karpenter/cloud/azure/request"
	"github.com/karpenter-anew/karpenter/cloud/azure/resourcetags"
	"github.com/karpenter-anew/karpenter/cloud/azure/telemetry"
)

// Path is a way to get an instance from Azure: VMs creates virtual machines, AKSMachines lets AKS create them.
//
// Source: Azure provider specification, provisioning modes.
type Path interface {
	// Create asks Azure for an instance, and returns when Azure has accepted it. Repeated, it finds the same instance. What a launch that
	// fails leaves behind is deleted.
	Create(context.Context, request.Launch) (Accepted, error)
	// Follow returns the launch of an instance that exists, without asking Azure for one. Parts of the request may be missing, see complete.
	Follow(context.Context, request.Launch, *instance.Instance) Accepted
	// Get returns the instance with the name of a virtual machine. The error is cloud.NodeClaimNotFoundError if there is none.
	Get(ctx context.Context, vm string) (*instance.Instance, error)
}

// Accepted is a launch that Azure has accepted.
type Accepted struct {
	Instance *instance.Instance
	// Existing says that an earlier request created the instance.
	Existing bool
	// Created are the labels of the launch in metrics.
	Created telemetry.Created
	// InPlace is what can be changed without replacing the node.
	InPlace resourcetags.InPlace
	// Wait waits until the instance runs. It deletes nothing.
	Wait func(context.Context) error
	// Cleanup deletes what the launch leaves behind.
	Cleanup func(context.Context) error

	// class is what the instance is launched from, nil if it is not known; began is when, the zero value if an earlier request did.
	class *v1beta1.AKSNodeClass
	began time.Time
}

// complete reports whether a launch can be requested: the class still leads to the offering, and Azure lists the size.
func complete(order *request.Launch) bool {
	return order.Class != nil && order.Choice.InstanceType != nil && order.Choice.Offering != nil && order.SKU.Name != ""
}

// HasAKSMachine reports whether the instance of a NodeClaim has an AKSMachine: its annotation names one, or its virtual machine has the name that
// AKS gives to those of an agent pool. The claim may be nil.
func HasAKSMachine(claim *v1.NodeClaim, vm, pool string) bool {
	if claim != nil && claim.Annotations[label.AnnotationAKSMachineResourceID] != "" {
		return true
	}
	_, named := naming.AKSMachineOfVM(vm, pool)
	return named
}

// createdOf are the labels of an instance in metrics.
func createdOf(claim *v1.NodeClaim, i *instance.Instance) telemetry.Created {
	return telemetry.Created{Image: i.ImageID, Size: i.Size, Zone: i.Zone, CapacityType: i.CapacityType, NodePool: claim.Labels[v1.NodePoolLabelKey]}
}
