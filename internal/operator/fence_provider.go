package operator

import (
	"context"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// provider wraps inner so that no instance begins or ends on the strength of a lease that may be lost: what another replica launches
// meanwhile would be there twice, and what it has just taken into use would be gone. Questions are answered all the same.
func (f *fence) provider(inner cloud.Provider) cloud.Provider {
	return &fencedProvider{Provider: inner, fence: f}
}

// fencedProvider is a provider that changes nothing while the lease cannot be trusted. The embedded one answers questions.
type fencedProvider struct {
	cloud.Provider
	fence *fence
}

func (p *fencedProvider) Create(ctx context.Context, claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	if err := p.fence.refuse(time.Now()); err != nil {
		return nil, err
	}
	return p.Provider.Create(ctx, claim)
}

func (p *fencedProvider) Delete(ctx context.Context, claim *v1.NodeClaim) error {
	if err := p.fence.refuse(time.Now()); err != nil {
		return err
	}
	return p.Provider.Delete(ctx, claim)
}
