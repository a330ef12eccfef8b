package operator

import (
	"context"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// instrument wraps a provider so that the duration and the errors of each call are counted under the provider's name and the controller
// of the context. It does not change the calls.
func instrument(provider cloud.Provider, name string, m *observe.Metrics) cloud.Provider {
	return &instrumentedProvider{inner: provider, name: name, metrics: m.CloudProvider}
}

// instrumentedProvider counts calls.
type instrumentedProvider struct {
	inner   cloud.Provider
	name    string
	metrics observe.CloudProviderMetrics
}

// observe starts the timing of a call and returns what ends it; use it as: defer p.observe(ctx, "Create")(&err).
func (p *instrumentedProvider) observe(ctx context.Context, method string) func(*error) {
	start, controller := time.Now(), observe.ControllerName(ctx)
	return func(err *error) {
		p.metrics.Duration.WithLabelValues(controller, method, p.name).Observe(time.Since(start).Seconds())
		if *err != nil {
			p.metrics.Errors.WithLabelValues(controller, method, p.name, cloud.ErrorLabel(*err)).Inc()
		}
	}
}

func (p *instrumentedProvider) Create(ctx context.Context, claim *v1.NodeClaim) (_ *v1.NodeClaim, err error) {
	defer p.observe(ctx, "Create")(&err)
	return p.inner.Create(ctx, claim)
}

func (p *instrumentedProvider) Delete(ctx context.Context, claim *v1.NodeClaim) (err error) {
	defer p.observe(ctx, "Delete")(&err)
	return p.inner.Delete(ctx, claim)
}

func (p *instrumentedProvider) Get(ctx context.Context, providerID string) (_ *v1.NodeClaim, err error) {
	defer p.observe(ctx, "Get")(&err)
	return p.inner.Get(ctx, providerID)
}

func (p *instrumentedProvider) List(ctx context.Context) (_ []*v1.NodeClaim, err error) {
	defer p.observe(ctx, "List")(&err)
	return p.inner.List(ctx)
}

func (p *instrumentedProvider) InstanceTypes(ctx context.Context, pool *v1.NodePool) (_ []*cloud.InstanceType, err error) {
	defer p.observe(ctx, "GetInstanceTypes")(&err)
	return p.inner.InstanceTypes(ctx, pool)
}

func (p *instrumentedProvider) IsDrifted(ctx context.Context, claim *v1.NodeClaim) (_ cloud.DriftReason, err error) {
	defer p.observe(ctx, "IsDrifted")(&err)
	return p.inner.IsDrifted(ctx, claim)
}
