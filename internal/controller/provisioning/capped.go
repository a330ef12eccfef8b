package provisioning

import (
	"context"
	"errors"
	"log/slog"

	"github.com/karpenter-anew/karpenter/internal/core/policy"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// reportCapped publishes for the pods of a NodeClaim that it was not created because of a cap on cost; false if err is about something else.
// Plans keep to the caps of each pool, but pools and controllers share the cap of the cluster: what it leaves goes to those that come first.
// The pods are planned again when pods that are still unschedulable trigger the next pass.
func reportCapped(ctx context.Context, p *Provisioner, claim solve.NodeClaim, err error) bool {
	var exceeded *policy.ExceededError
	if !errors.As(err, &exceeded) {
		return false
	}
	pods := realPods(claim.Pods)
	level := p.level(slog.LevelWarn, "capped "+claim.Pool+exceeded.Cap.Policy)
	p.Log.Log(ctx, level, "not creating a nodeclaim, it would exceed a cost cap", logfield.NodePool(claim.Pool), logfield.Pods(names(pods)), logfield.Error(exceeded))
	for _, pod := range pods {
		p.Recorder.Publish(observe.FailedScheduling(reference(pod), exceeded, string(unschedulable.CostCapExceeded)))
	}
	return true
}
