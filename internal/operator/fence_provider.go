package operator

import (
	"context"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// provider wraps inner so that no instance is launched or terminated while the lease may be lost: another replica may launch the same
// instance, or have started to use the one that is terminated. Reads are not affected.
func (f *fence) provider(inner cloud.Provider) cloud.Provider {
	return &fencedProvider{Provider: inner, fence: f}
}

// fencedProvider is a provider that rejects changes while the lease is not trusted. The embedded provider serves reads.
type fencedProvider struct {
	cloud.Provider
	fence *fence
}

func (p *fencedProvider) Create(ctx context.Context, claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	if err := p.fence.Refuse(time.Now()); err != nil {
		return nil, err
	}
	return p.Provider.Create(ctx, claim)
}

func (p *fencedProvider) Delete(ctx context.Context, claim *v1.NodeClaim) error {
	if err := p.fence.Refuse(time.Now()); err != nil {
		return err
	}
	return p.Provider.Delete(ctx, claim)
}

// rebooter wraps inner, as provider does: no instance is rebooted while the lease may be lost.
func (f *fence) rebooter(inner cloud.Rebooter) cloud.Rebooter {
	if inner == nil {
		return nil
	}
	return rebooterFunc(func(ctx context.Context, claim *v1.NodeClaim, operationID string) error {
		if err := f.Refuse(time.Now()); err != nil {
			return err
		}
		return inner.Reboot(ctx, claim, operationID)
	})
}
