package provider_test

import (
	"context"
	"testing"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/cloudtest"
)

func TestContract(t *testing.T) {
	cloudtest.Run(t, func(t *testing.T) cloudtest.Subject {
		w := newWorld(t, "m5.large", "m5.xlarge", "c5.large", "m6g.large")
		return cloudtest.Subject{
			Cloud: w.Cloud(), NodePool: w.pool,
			NewNodeClaim: func(context.Context) (*v1.NodeClaim, error) { return w.claim(), nil },
			Launched:     func(context.Context, *v1.NodeClaim) error { w.clock.Step(time.Second); return nil },
			Pass:         func(context.Context) error { w.clock.Step(10 * time.Second); return nil },
		}
	})
}
