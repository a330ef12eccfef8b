package inplaceupdate

import (
	"context"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/naming"
	"github.com/karpenter-anew/karpenter/cloud/azure/resourcetags"
)

// VMs updates virtual machines.
type VMs struct {
	// Instances are the virtual machines by name; instance.Client has them.
	Instances interface {
		Update(ctx context.Context, name string, want resourcetags.InPlace) error
	}
}

// Update implements Updater. It fails if the provider ID of the NodeClaim is not that of a virtual machine.
func (v VMs) Update(ctx context.Context, claim *v1.NodeClaim, wanted resourcetags.InPlace) error {
	id, err := naming.ParseProviderID(claim.Status.ProviderID)
	if err != nil {
		return err
	}
	return v.Instances.Update(ctx, id.Name, wanted)
}
