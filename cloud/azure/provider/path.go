package provider

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/drift"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/cloud/azure/launcher"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineinstance"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// Path has the instances that were launched on one of the paths of package launcher. Instances are named as their virtual machines.
type Path interface {
	// Get returns an instance. The error is cloud.NodeClaimNotFoundError if there is none.
	Get(ctx context.Context, vm string) (*instance.Instance, error)
	// List returns all instances of the cluster. One without an ID exists and cannot be read. complete is false if there may be others.
	List(context.Context) (found []*instance.Instance, complete bool, err error)
	// Delete deletes an instance and waits until it is gone.
	Delete(ctx context.Context, vm string) error
	// Drift returns why an instance differs from its class; empty if it does not. The node is nil if there is none.
	Drift(ctx context.Context, vm string, d Drifting) (cloud.DriftReason, error)
}

// Drifting is what an instance is compared by.
type Drifting struct {
	Class *v1beta1.AKSNodeClass
	Claim *v1.NodeClaim
	Node  *corev1.Node
}

// VMs is the Path of virtual machines that the provider created.
type VMs struct {
	*instance.Client
	// KubeletIdentity is the client id of the managed identity of kubelets.
	KubeletIdentity string
}

// Delete implements Path. It also deletes the network interface in case that it did not go with the virtual machine; garbage collection
// deletes it otherwise.
func (v VMs) Delete(ctx context.Context, vm string) error {
	if err := v.Client.Delete(ctx, vm); err != nil {
		return err
	}
	if err := v.DeleteNIC(ctx, vm); err != nil {
		observe.Log(ctx).InfoContext(ctx, "cannot delete a network interface yet, garbage collection will", logfield.Error(err))
	}
	return nil
}

// Drift implements Path.
func (v VMs) Drift(_ context.Context, _ string, d Drifting) (cloud.DriftReason, error) {
	return drift.OfVM(d.Class, d.Claim, d.Node, v.KubeletIdentity)
}

// AKSMachines is the Path of virtual machines that AKS created.
type AKSMachines struct{ *machineinstance.Client }

// Drift implements Path. An instance that does not exist has none.
func (m AKSMachines) Drift(ctx context.Context, vm string, d Drifting) (cloud.DriftReason, error) {
	i, err := m.Get(ctx, vm)
	if cloud.IsNodeClaimNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return drift.OfAKSMachine(d.Class, d.Claim, d.Node, i.DriftAction)
}

// checkPool fails if the AKSMachine of a NodeClaim is in another agent pool than that of the settings. It must not seem to be gone.
func (p *Provider) checkPool(claim *v1.NodeClaim) error {
	id := claim.Annotations[label.AnnotationAKSMachineResourceID]
	if id == "" || p.AKSMachinesPool == "" || strings.Contains(strings.ToLower(id), strings.ToLower("/agentPools/"+p.AKSMachinesPool+"/")) {
		return nil
	}
	return fmt.Errorf("nodeclaim %q has AKSMachine %q, which is not in agent pool %q: set AKS_MACHINES_POOL_NAME to the agent pool that it is in", claim.Name, id, p.AKSMachinesPool)
}

// pathOf returns the path on which an instance was launched. The claim may be nil.
func (p *Provider) pathOf(claim *v1.NodeClaim, vm string) Path {
	if launcher.HasAKSMachine(claim, vm, p.AKSMachinesPool) {
		return p.AKSMachines
	}
	return p.VMs
}
