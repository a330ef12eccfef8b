package disruption

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/bookkeeper"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// reporter publishes what passes decide and commands do, as events, metrics and logs.
type reporter struct {
	recorder *observe.Recorder
	metrics  *observe.Metrics
	books    *bookkeeper.Books
	notifier Notifier
	log      *slog.Logger
	// plans are told what becomes of the commands of approved plans.
	plans *plans
	// perPool are the budget gauges, which are deleted with their pool.
	perPool *observe.GaugeStore
	// budgetProblem is what was last logged about budgets that cannot be evaluated.
	budgetProblem string
}

// with returns a reporter with another logger.
func (r *reporter) with(log *slog.Logger) *reporter {
	out := *r
	out.log = log
	return &out
}

// note records the obstacle to publish for each node: the first obstacle to all methods, or else the first one that a method
// found.
func (p *pass) note(obstacles []disrupt.Obstacle) {
	for _, o := range obstacles {
		told, known := p.notes[o.Node.ID]
		switch audience := o.Code.Event(); {
		case audience == disrupt.NoEvent:
		case !known, audience == disrupt.DisruptionBlocked && told.Code.Event() != disrupt.DisruptionBlocked:
			p.notes[o.Node.ID] = o
		}
	}
}

// obstacles publishes the obstacles to disrupting nodes: one for each node, however many methods considered it.
func (r *reporter) obstacles(p *pass, snapshot func() *model.Snapshot) {
	now := snapshot().Nodes
	for _, notes := range []map[string]disrupt.Obstacle{p.notes, p.repairNotes} {
		for _, id := range slices.Sorted(maps.Keys(notes)) {
			o := notes[id]
			if n, ok := now.Get(id); !ok || n.Deleting && !o.Node.Deleting {
				continue // the obstacle is outdated
			}
			r.obstacle(p, o)
		}
	}
}

// obstacle publishes one obstacle.
func (r *reporter) obstacle(p *pass, o disrupt.Obstacle) {
	node, claim := p.nodes[o.Node.NodeName], p.claims[o.Node.ClaimName]
	switch o.Code.Event() {
	case disrupt.DisruptionBlocked:
		switch {
		case o.Code.OfPool():
			r.recorder.Publish(observe.PoolRepairBlocked(node, claim, p.pools[o.Node.Pool], o.Node.Pool)...)
		case o.Code.Verbatim():
			r.recorder.Publish(observe.RepairRefused(node, claim, string(o.Code), o.String())...)
		default:
			r.recorder.Publish(observe.DisruptionBlocked(node, claim, string(o.Code), o.String())...)
		}
	case disrupt.Unconsolidatable:
		r.recorder.Publish(observe.Unconsolidatable(node, claim, o.String())...)
	case disrupt.NoEvent:
	}
}

// budgets exports what the budgets of every pool allow; those for repair only if nodes are repaired, and with an event only for pools
// with unhealthy nodes. Those for expiry only if nodes expire softly.
func (r *reporter) budgets(p *pass, repairs, expires bool) {
	reasons, unhealthy := disrupt.Reasons(), map[string]bool{}
	if expires {
		reasons = append(reasons, disrupt.Expired)
	}
	if repairs {
		reasons = append(reasons, disrupt.Unhealthy)
	}
	for _, c := range p.unhealthy {
		unhealthy[c.Node.Pool] = true
	}
	gauges := map[string][]observe.Sample{}
	for _, reason := range reasons {
		for name, a := range p.allowancesFor(reason, nil) {
			gauges[string(reason)+"/"+name] = []observe.Sample{
				{Gauge: r.metrics.NodePools.AllowedDisruptions, Labels: []string{name, label(reason)}, Value: float64(a.Allowed)},
				{Gauge: r.metrics.NodePools.NodesConsumingBudgets, Labels: []string{name, label(reason)}, Value: float64(a.Usage.Disrupting)},
			}
			switch {
			case a.Usage.Nodes == 0 || a.Allowed > 0 || reason == disrupt.Unhealthy && !unhealthy[name]:
			case a.Closed:
				r.recorder.Publish(observe.NodePoolDisruptionClosed(p.pools[name], string(reason), a.Closure.Text(name, string(reason))))
			default:
				r.recorder.Publish(observe.NodePoolDisruptionBlocked(p.pools[name], string(reason)))
			}
		}
	}
	r.perPool.ReplaceAll(gauges)
}

// candidates publishes which nodes could replace the nodes of a command.
func (r *reporter) candidates(v view, work disrupt.Command) {
	for _, candidate := range work.Candidates {
		n := candidate.Node
		r.recorder.Publish(observe.ConsolidationCandidate(v.nodes[n.NodeName], v.claims[n.ClaimName], work.TextFor(n.Name), work.Savings())...)
	}
}

// judged counts scored commands by decision, and publishes approvals by pools with the policy Balanced: on the node for
// commands for one node, on the pool for commands for several.
func (r *reporter) judged(v view, m disrupt.Method, list []disrupt.ScoredCommand) {
	decision := func(approved bool) string {
		if approved {
			return "approved"
		}
		return "rejected"
	}
	for _, j := range list {
		for _, score := range j.Scoring.Scores {
			r.metrics.Disruption.ConsolidationMoves.WithLabelValues(decision(j.Scoring.Approved), score.Pool, score.Policy).Inc()
			if !score.Scored {
				continue
			}
			r.metrics.Disruption.ConsolidationScore.WithLabelValues(decision(score.Approved), score.Pool, score.Policy).Observe(score.Value)
			r.log.Debug("consolidation score", logfield.NodePool(score.Pool), logfield.Score(score.Value), logfield.Decision(decision(score.Approved)),
				logfield.Savings(score.Savings), logfield.DisruptionCost(score.Disruption))
			if !score.Approved {
				continue
			}
			told := observe.BalancedScore{
				Score: score.Value, Threshold: disrupt.Threshold, K: disrupt.BalanceFactor, Savings: score.Savings, Disruption: score.Disruption,
			}
			if m.Search == disrupt.EachCandidate {
				n := j.Command.Candidates[0].Node
				r.recorder.Publish(observe.ConsolidationApproved(v.nodes[n.NodeName], v.claims[n.ClaimName], told)...)
			} else if pool := v.pools[score.Pool]; pool != nil {
				r.recorder.Publish(observe.NodePoolConsolidationApproved(pool, told))
			}
		}
	}
}

// sampleNodes is the number of nodes that budgets are evaluated with when only their errors matter.
const sampleNodes = 100

// budgetErrors logs the pools whose budgets cannot be evaluated, once for as long as they stay the same.
func (r *reporter) budgetErrors(v view) {
	var errs []error
	var names []string
	for _, name := range slices.Sorted(maps.Keys(v.pools)) {
		if _, err := v.pools[name].AllowedDisruptions(v.now, sampleNodes, v1.DisruptionReasonEmpty); err != nil {
			errs, names = append(errs, err), append(names, name)
		}
	}
	problem := fmt.Sprint(names, errs)
	if len(errs) > 0 && problem != r.budgetProblem {
		r.log.Error("detected disruption budget errors", logfield.NodePools(strings.Join(names, ", ")), logfield.Error(errors.Join(errs...)))
	}
	r.budgetProblem = problem
}
