package disruption

import (
	"errors"
	"maps"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/observe"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// report tells users what stands in the way of disrupting nodes, once per node and obstacle.
func (c *Controller) report(s scene, obstacles []disrupt.Obstacle) {
	for _, o := range obstacles {
		node, claim := s.nodes[o.Node.NodeName], s.claims[o.Node.ClaimName]
		switch o.Code.Audience() {
		case disrupt.Blocked:
			c.Recorder.Publish(observe.DisruptionBlocked(node, claim, o.String())...)
		case disrupt.Unconsolidatable:
			c.Recorder.Publish(observe.Unconsolidatable(node, claim, o.String())...)
		case disrupt.Nobody:
		}
	}
}

// reportBudgets tells what the budgets of every pool allow.
func (c *Controller) reportBudgets(s scene, reason disrupt.Reason, allowances map[string]allowance) {
	gauges := make(map[string][]observe.Sample, len(allowances))
	for name, a := range allowances {
		gauges[string(reason)+"/"+name] = []observe.Sample{
			{Gauge: c.Metrics.NodePools.AllowedDisruptions, Labels: []string{name, string(reason)}, Value: float64(a.allowed)},
			{Gauge: c.Metrics.NodePools.NodesConsumingBudgets, Labels: []string{name, string(reason)}, Value: float64(a.usage.Disrupting)},
		}
		if a.usage.Nodes > 0 && a.allowed == 0 {
			c.Recorder.Publish(observe.NodePoolDisruptionBlocked(s.pools[name], string(reason)))
		}
	}
	c.perPool.ReplaceAll(gauges)
}

// sampleNodes is the number of nodes that budgets are evaluated with when only their errors matter.
const sampleNodes = 100

// logBudgetErrors logs the pools whose budgets cannot be evaluated.
func (c *Controller) logBudgetErrors(s scene) {
	var errs []error
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.pools)) {
		if _, err := s.pools[name].AllowedDisruptions(s.now, sampleNodes, v1.DisruptionReasonEmpty); err != nil {
			errs, names = append(errs, err), append(names, name)
		}
	}
	if len(errs) > 0 {
		c.Log.Error("detected disruption budget errors", "NodePools", names, "error", errors.Join(errs...))
	}
}
