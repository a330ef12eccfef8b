package operator

import (
	"context"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// rebooterFunc is a function that implements cloud.Rebooter.
type rebooterFunc func(ctx context.Context, claim *v1.NodeClaim, operationID string) error

// Reboot implements cloud.Rebooter.
func (f rebooterFunc) Reboot(ctx context.Context, claim *v1.NodeClaim, operationID string) error {
	return f(ctx, claim, operationID)
}

// rebooter wraps inner, as provider does: a call continues for the grace time after the stop.
func (d *drain) rebooter(inner cloud.Rebooter) cloud.Rebooter {
	if inner == nil {
		return nil
	}
	return rebooterFunc(func(ctx context.Context, claim *v1.NodeClaim, operationID string) error {
		ctx, done := d.detach(ctx)
		defer done()
		return inner.Reboot(ctx, claim, operationID)
	})
}

// instrumentRebooter wraps inner, as instrument does with a provider.
func instrumentRebooter(inner cloud.Rebooter, name string, m *observe.Metrics) cloud.Rebooter {
	if inner == nil {
		return nil
	}
	calls := &instrumentedProvider{name: name, metrics: m.CloudProvider}
	return rebooterFunc(func(ctx context.Context, claim *v1.NodeClaim, operationID string) (err error) {
		defer calls.observe(ctx, "Reboot")(&err)
		return inner.Reboot(ctx, claim, operationID)
	})
}
