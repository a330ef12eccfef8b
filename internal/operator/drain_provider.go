package operator

import (
	"context"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// provider wraps inner so that its calls continue for the grace time after the stop: a launch whose response is dropped is an instance that
// garbage collection has to find.
func (d *drain) provider(inner cloud.Provider) cloud.Provider {
	return &drainingProvider{inner: inner, drain: d}
}

// drainingProvider is a provider whose calls continue after the stop.
type drainingProvider struct {
	inner cloud.Provider
	drain *drain
}

func (p *drainingProvider) Create(ctx context.Context, claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	ctx, done := p.drain.detach(ctx)
	defer done()
	return p.inner.Create(ctx, claim)
}

func (p *drainingProvider) Delete(ctx context.Context, claim *v1.NodeClaim) error {
	ctx, done := p.drain.detach(ctx)
	defer done()
	return p.inner.Delete(ctx, claim)
}

func (p *drainingProvider) Get(ctx context.Context, providerID string) (*v1.NodeClaim, error) {
	ctx, done := p.drain.reading(ctx)
	defer done()
	return p.inner.Get(ctx, providerID)
}

func (p *drainingProvider) List(ctx context.Context) ([]*v1.NodeClaim, error) {
	ctx, done := p.drain.reading(ctx)
	defer done()
	return p.inner.List(ctx)
}

func (p *drainingProvider) InstanceTypes(ctx context.Context, pool *v1.NodePool) ([]*cloud.InstanceType, error) {
	ctx, done := p.drain.reading(ctx)
	defer done()
	return p.inner.InstanceTypes(ctx, pool)
}

func (p *drainingProvider) IsDrifted(ctx context.Context, claim *v1.NodeClaim) (cloud.DriftReason, error) {
	ctx, done := p.drain.reading(ctx)
	defer done()
	return p.inner.IsDrifted(ctx, claim)
}
