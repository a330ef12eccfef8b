package disruption

import (
	"context"
	"log/slog"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// validator validates commands that waited. Only the loop uses it.
type validator struct {
	reads    *gatherer
	queue    *queue
	backoffs *backoffSet
	exec     *executor
	reports  *reporter
	wake     signal
	clock    clock.Clock
	log      *slog.Logger
}

// validateDue validates commands that are due, and starts those that remain valid.
//
// Commands that move pods are started one after the other: each is validated in a view in which the nodes of the one before are
// marked and its replacements exist.
func (vr *validator) validateDue(ctx context.Context, due []command) {
	if len(due) == 0 {
		return
	}
	moving := vr.queue.writing() // before the view is gathered, which shows what was written before only
	v, err := vr.reads.gather(ctx)
	if err != nil {
		// Nothing was changed yet; the next pass finds the same nodes again.
		for _, cmd := range due {
			vr.queue.drop(cmd.id)
			vr.reports.outcome(cmd, ledger.CommandFailed, nil, err)
		}
		vr.log.Error("cannot validate disruption commands, dropping them", logfield.CommandCount(len(due)), logfield.Error(err))
		return
	}
	candidates, obstacles := disrupt.Qualify(v.qualifyInput(nil))
	vr.reads.prices.set(ctx, v.pools, candidates)
	for _, cmd := range due {
		if !cmd.simulated() && vr.validateEmpty(ctx, v, cmd, candidates, obstacles) {
			moving = true
		}
	}
	var shared *simContext
	for _, cmd := range due {
		if cmd.simulated() && !moving {
			moving = vr.validateSimulated(ctx, v, cmd, candidates, obstacles, &shared)
		}
	}
}

// validateEmpty validates one command that was found without simulation. Other commands count against the budgets, the command
// itself does not. It reports whether the command was started.
func (vr *validator) validateEmpty(ctx context.Context, v view, cmd command, candidates []disrupt.Candidate, obstacles []disrupt.Obstacle) bool {
	wanted, refused := cmd.method.FilterNodes(among(candidates, cmd.plan))
	fit, blocked := cmd.method.FilterPods(wanted, vr.reads.podBlocks(ctx, v, wanted))
	budgets := v.allowancesFor(cmd.method.Reason, vr.reads.pledged(v, cmd)).Budgets()
	verdict := disrupt.Validate(cmd.plan, fit, append(append(refused, blocked...), obstacles...), budgets)
	vr.reports.dropped(cmd, verdict.Dropped)
	if len(verdict.Command.Candidates) == 0 {
		vr.queue.drop(cmd.id)
		vr.reports.outcome(cmd, ledger.CommandRejected, verdict.Dropped, nil)
		vr.log.Debug("abandoning disruption attempt due to pod churn, the command is no longer valid", logfield.CommandID(cmd.id))
		return false
	}
	cmd.plan, cmd.started = verdict.Command, v.now
	vr.exec.start(ctx, cmd)
	return true
}

// validateSimulated validates one command that was found by simulation, and reports whether it was started.
func (vr *validator) validateSimulated(
	ctx context.Context, v view, cmd command, candidates []disrupt.Candidate, obstacles []disrupt.Obstacle, shared **simContext,
) bool {
	own := among(candidates, cmd.plan)
	wanted, refused := cmd.method.FilterNodes(own)
	fit, blocked := cmd.method.FilterPods(wanted, vr.reads.podBlocks(ctx, v, wanted))
	v.setDrainRounds(fit)
	if *shared == nil {
		var err error
		if *shared, err = vr.reads.simContext(ctx, v, candidates, vr.queue.validated()); err != nil {
			vr.queue.drop(cmd.id)
			vr.reports.outcome(cmd, ledger.CommandFailed, nil, err)
			vr.log.Error("cannot validate a disruption command, dropping it", logfield.CommandID(cmd.id), logfield.Error(err))
			return false
		}
	}
	sim := (*shared).simulator(cmd.method.Simulates)
	budgets := v.allowancesFor(cmd.method.Reason, vr.reads.pledged(v, cmd)).Budgets()
	verdict := sim.Validate(cmd.plan, fit, append(append(refused, blocked...), obstacles...), budgets)
	if len(verdict.Dropped) == 0 {
		// Pods may have been bound while the simulation ran.
		verdict.Dropped = vr.validateCandidates(ctx, cmd)
	}
	if len(verdict.Dropped) > 0 {
		vr.reject(v, cmd, verdict.Dropped)
		return false
	}
	cmd.plan, cmd.started = verdict.Command, v.now
	vr.exec.start(ctx, cmd)
	return true
}

// validateCandidates validates the candidates of a command again, without a simulation.
func (vr *validator) validateCandidates(ctx context.Context, cmd command) []disrupt.Obstacle {
	v, err := vr.reads.gather(ctx)
	if err != nil {
		return []disrupt.Obstacle{{Code: disrupt.PodsUnknown, Node: cmd.plan.Candidates[0].Node, Cause: err.Error()}}
	}
	candidates, obstacles := disrupt.Qualify(v.qualifyInput(nil))
	own := among(candidates, cmd.plan)
	vr.reads.prices.set(ctx, v.pools, own)
	wanted, refused := cmd.method.FilterNodes(own)
	fit, blocked := cmd.method.FilterPods(wanted, vr.reads.podBlocks(ctx, v, wanted))
	budgets := v.allowancesFor(cmd.method.Reason, vr.reads.pledged(v, cmd)).Budgets()
	return disrupt.Validate(cmd.plan, fit, append(append(refused, blocked...), obstacles...), budgets).Dropped
}

// reject ends a command that did not pass its validation. Its nodes are put into backoff, so that other nodes are considered; nodes of
// a command for several may still be disrupted one by one.
func (vr *validator) reject(v view, cmd command, dropped []disrupt.Obstacle) {
	vr.queue.drop(cmd.id)
	vr.reports.rejected(v, cmd, dropped)
	rest := vr.backoffs.nodes
	if len(cmd.plan.Candidates) > 1 {
		rest = vr.backoffs.groups
		defer vr.wake.send()
	}
	for _, candidate := range cmd.plan.Candidates {
		rest.Fail(candidate.Node.ClaimName, vr.clock.Now())
	}
}
