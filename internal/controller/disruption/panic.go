package disruption

import (
	"context"
	"errors"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/controller/recovery"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// safePass is pass; a panic is an error. After repeated panics the newest candidates are left alone, until those are found that cause
// them.
func (pl *planner) safePass(ctx context.Context) (acted bool, err error) {
	var tried []disrupt.Candidate
	err = recovery.Call(func() error {
		var err error
		acted, err = pl.pass(ctx, &tried)
		return err
	})
	items := pl.items(tried)
	var panicked *recovery.Panic
	if !errors.As(err, &panicked) {
		if tried != nil || err == nil {
			pl.aside.Succeeded(items)
		}
		return acted, err
	}
	pl.Metrics.Scheduler.Panics.WithLabelValues(name).Inc()
	if left := pl.aside.Panicked(items, pl.Clock.Now()); len(left) > 0 {
		pl.Log.Info("leaving nodes alone after a panic", logfield.NodeClaims(strings.Join(left, ", ")))
	}
	return false, err
}

// items are the candidates as objects of the quarantine, by NodeClaim: a node that comes back under its name is another one.
func (pl *planner) items(list []disrupt.Candidate) []recovery.Item {
	out := make([]recovery.Item, len(list))
	for i, candidate := range list {
		out[i] = recovery.Item{ID: candidate.Node.ClaimName, Created: newestPod(candidate)}
	}
	return out
}

// newestPod is when the newest pod of a candidate was created, in nanoseconds since the epoch.
func newestPod(candidate disrupt.Candidate) int64 {
	newest := int64(0)
	for _, pod := range candidate.PodsToMove {
		newest = max(newest, pod.Created)
	}
	return newest
}

// leaveAside takes the candidates out that passes leave alone because of panics. Their obstacle is that of nodes for which commands
// failed.
func (pl *planner) leaveAside(v view, candidates []disrupt.Candidate) (kept []disrupt.Candidate, obstacles []disrupt.Obstacle) {
	pl.aside.Keep(func(id string) bool { return v.claims[id] != nil })
	out := pl.aside.Out(v.now)
	if len(out) == 0 {
		return candidates, nil
	}
	for _, candidate := range candidates {
		if _, left := out[candidate.Node.ClaimName]; left {
			obstacles = append(obstacles, disrupt.Obstacle{Code: disrupt.NodeInBackoff, Node: candidate.Node})
		} else {
			kept = append(kept, candidate)
		}
	}
	return kept, obstacles
}

// withoutQuarantined takes the pods out of an input that provisioning leaves out because of panics.
func (g *gatherer) withoutQuarantined(pods []*model.Pod) []*model.Pod {
	if g.Quarantine == nil {
		return pods
	}
	out := g.Quarantine.Out(g.Clock.Now())
	if len(out) == 0 {
		return pods
	}
	var kept []*model.Pod
	for _, pod := range pods {
		if _, left := out[pod.UID]; !left {
			kept = append(kept, pod)
		}
	}
	return kept
}

// safeValidateDue is validateDue. After a panic the commands that were due are dropped, and their nodes are in backoff.
func (vr *validator) safeValidateDue(ctx context.Context) {
	due := vr.queue.due(vr.clock.Now())
	err := recovery.Call(func() error {
		vr.validateDue(ctx, due)
		return nil
	})
	if err == nil {
		return
	}
	for _, cmd := range vr.queue.due(vr.clock.Now()) { // those that were not started
		vr.queue.drop(cmd.id)
		for _, candidate := range cmd.plan.Candidates {
			vr.backoffs.nodes.Fail(candidate.Node.ClaimName, vr.clock.Now())
		}
	}
	vr.reports.panicked("validating disruption commands panicked, dropping them", err, logfield.CommandCount(len(due)))
}

// safeCarryOut is carryOut. After a panic the command is abandoned: the next pass removes the marks of its nodes, and consolidation
// removes replacements that are not needed.
func (e *executor) safeCarryOut(ctx context.Context, cmd command) {
	err := recovery.Call(func() error {
		e.carryOut(ctx, cmd)
		return nil
	})
	if err == nil {
		return
	}
	e.Store.Unmark(cmd.plan.IDs()...)
	e.Store.Pools.EndReplacement(cmd.plan.IDs()...)
	e.backOff(cmd.plan.Candidates)
	e.reports.panicked("carrying out a disruption command panicked, abandoning it", err, logfield.CommandID(cmd.id))
}

// panicked counts and logs a panic outside of passes.
func (r *reporter) panicked(message string, err error, args ...any) {
	args = append(args, logfield.Error(err))
	var p *recovery.Panic
	if errors.As(err, &p) {
		r.metrics.Scheduler.Panics.WithLabelValues(name).Inc()
		args = append(args, logfield.Stack(p.Stack))
	}
	r.log.Error(message, args...)
}
