package launcher

import (
	"context"
	"fmt"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/choice"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/cloud/azure/naming"
	"github.com/karpenter-anew/karpenter/cloud/azure/request"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// Resume goes on with the launch of a NodeClaim that an earlier process began: it waits until the virtual machine runs, creates the
// extensions that it lacks, and ends the NodeClaim if the launch failed. That is also so if there is no virtual machine, or if Azure is deleting
// it: Azure had accepted the request, and the earlier process deleted what failed but not yet the NodeClaim. Garbage collection leaves that to the
// registration timeout.
// What the launch was made with is read from the virtual machine: nothing has to be stored before a crash.
func (l *Launcher) Resume(ctx context.Context, claim *v1.NodeClaim) error {
	id, err := naming.ParseProviderID(claim.Status.ProviderID)
	if err != nil {
		return fmt.Errorf("reading the provider ID of nodeclaim %q: %w", claim.Name, err)
	}
	path := l.VMs
	if HasAKSMachine(claim, id.Name, l.AKSMachinesPool) {
		path = l.AKSMachines
	}
	found, err := path.Get(ctx, id.Name)
	if cloud.IsNodeClaimNotFound(err) || err == nil && found.Deleting {
		observe.Log(ctx).InfoContext(ctx, "deleting a nodeclaim whose launch failed in an earlier process", logfield.NodeClaim(claim.Name))
		return l.end(ctx, claim, claim.Labels[v1.CapacityTypeLabelKey])
	}
	if err != nil {
		return err
	}
	var class *v1beta1.AKSNodeClass
	var types []*cloud.InstanceType
	if ref := claim.Spec.NodeClassRef; ref != nil {
		if class, err = l.Catalog.Class(ctx, ref.Name); err == nil {
			types, err = l.types(ctx, claim, class)
		}
	}
	if err != nil {
		observe.Log(ctx).InfoContext(ctx, "following the launch of an earlier process without its node class", logfield.NodeClaim(claim.Name), logfield.Error(err))
	}
	accepted := path.Follow(ctx, l.made(claim, class, types, found), found)
	accepted.class = class
	l.goFollow(claim, &accepted)
	return nil
}

// made is the launch that an instance was made with. The class may be nil, and the class may not lead to such a launch any more.
func (l *Launcher) made(claim *v1.NodeClaim, class *v1beta1.AKSNodeClass, types []*cloud.InstanceType, i *instance.Instance) request.Launch {
	chosen, _ := choice.Made(claim, types, l.Catalog.SKU, choice.Instance{Size: i.Size, Zone: i.Zone, CapacityType: i.CapacityType})
	d, _ := l.Catalog.SKU(i.Size)
	return request.Launch{Claim: claim, Class: class, Choice: chosen, SKU: d}
}
