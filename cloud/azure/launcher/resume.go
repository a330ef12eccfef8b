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
	"github.com/karpenter-anew/karpenter/cloud/azure/telemetry"
	"github.com/karpenter-anew/karpenter/cloud/azure/virtualmachine"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// Resume goes on with the launch of a NodeClaim that an earlier process began: it waits until the virtual machine runs, creates the
// extensions that it lacks, and ends the NodeClaim if the launch failed. A NodeClaim without a virtual machine is left to garbage collection.
// What the launch was made with is read from the virtual machine: nothing has to be stored before a crash.
func (l *Launcher) Resume(ctx context.Context, claim *v1.NodeClaim) error {
	id, err := naming.ParseProviderID(claim.Status.ProviderID)
	if err != nil {
		return fmt.Errorf("reading the provider ID of nodeclaim %q: %w", claim.Name, err)
	}
	found, err := l.Instances.Get(ctx, id.Name)
	if cloud.IsNodeClaimNotFound(err) {
		return nil
	}
	if err != nil || found.Deleting {
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
	p := l.made(ctx, claim, class, types, found)
	l.goFollow(claim, l.Instances.Follow(p.request, found), p.created)
	return nil
}

// made is the launch that an instance was made with. The class may be nil. Where the class does not lead to such a launch any more, because
// it was changed or is not ready, only what the instance itself says is known; that is enough to follow it.
func (l *Launcher) made(ctx context.Context, claim *v1.NodeClaim, class *v1beta1.AKSNodeClass, types []*cloud.InstanceType, i *instance.Instance) prepared {
	chosen, ok := choice.Made(claim, types, l.Catalog.SKU, choice.Instance{Size: i.Size, Zone: i.Zone, CapacityType: i.CapacityType})
	order := request.Launch{Claim: claim, Class: class, Choice: chosen}
	if ok {
		if p, err := l.prepare(ctx, order); err == nil {
			p.created.Image = i.ImageID
			p.request.VM.Tags = i.Tags
			return p
		}
	}
	return prepared{
		order: order,
		request: instance.Request{
			Class: class, VM: virtualmachine.Spec{Name: i.Name, Location: l.Catalog.Location, Tags: i.Tags}, Attempt: chosen.Attempt, Cloud: l.Cloud,
		},
		created: telemetry.Created{Image: i.ImageID, Size: i.Size, Zone: i.Zone, CapacityType: i.CapacityType, NodePool: claim.Labels[v1.NodePoolLabelKey]},
	}
}
