package provider

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/catalog"
	"github.com/karpenter-anew/karpenter/cloud/aws/instance"
	"github.com/karpenter-anew/karpenter/cloud/aws/launcher"
)

// claimOf is the claim that describes an instance. Fields that depend on a deleted class or type are omitted.
func (p *Provider) claimOf(ctx context.Context, i *instance.Instance) (*v1.NodeClaim, error) {
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(i.Launched)}}
	class, err := p.Catalog.ClassIfAny(ctx, i.Tags[awsv1.TagNodeClass])
	if err != nil {
		return nil, err
	}
	var t *cloud.InstanceType
	if class != nil {
		// A class that is not ready has no types; its instances are there all the same.
		if types, err := p.Catalog.Types(ctx, class); err == nil {
			t = catalog.Named(types, i.Type)
		}
	}
	claim.Labels = launcher.Labels(i, class, t)
	if pool := i.Tags[awsv1.TagNodePool]; pool != "" {
		claim.Labels[v1.NodePoolLabelKey] = pool
	}
	if i.Ending {
		now := metav1.NewTime(p.Clock.Now())
		claim.DeletionTimestamp = &now
	}
	claim.UID, _ = p.started.Get(i.ProviderID())
	claim.Status.ProviderID, claim.Status.ImageID = i.ProviderID(), i.ImageID
	if t != nil {
		claim.Status.Capacity, claim.Status.Allocatable = launcher.WithoutZeros(t.Capacity, i.EFAs), launcher.WithoutZeros(t.Allocatable(), i.EFAs)
	}
	return claim, nil
}
