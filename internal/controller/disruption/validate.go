package disruption

import (
	"context"
	"errors"
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
	plans    *plans
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
		if (!cmd.simulated() || cmd.plan.TerminateFirst != "") && vr.validateEmpty(ctx, v, cmd, candidates, obstacles) {
			moving = true
		}
	}
	var shared *simContext
	for _, cmd := range due {
		if cmd.simulated() && cmd.plan.TerminateFirst == "" && !moving {
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
	if len(verdict.Command.Candidates) == 0 || cmd.approvedBy != "" && len(verdict.Dropped) > 0 {
		vr.queue.drop(cmd.id)
		cmd.reservation.giveBack()
		vr.reports.outcome(cmd, ledger.CommandRejected, verdict.Dropped, nil)
		vr.log.Debug("abandoning disruption attempt due to pod churn, the command is no longer valid", logfield.CommandID(cmd.id))
		return false
	}
	return vr.start(ctx, v, cmd, verdict.Command)
}

// start starts a command that is valid, and reports whether it did: a policy may ask for approval since, or the approval may not count any more.
func (vr *validator) start(ctx context.Context, v view, cmd command, valid disrupt.Command) bool {
	var refused error
	if cmd.approvedBy != "" {
		valid.Static, valid.Whole, valid.Reboot, valid.TerminateFirst = cmd.plan.Static, cmd.plan.Whole, cmd.plan.Reboot, cmd.plan.TerminateFirst
		refused = vr.plans.begin(ctx, cmd)
	} else if _, _, asked, err := vr.plans.asks(ctx, v, valid); asked {
		refused = errors.Join(errApprovalRequired, err)
	}
	if refused != nil {
		vr.queue.drop(cmd.id)
		cmd.reservation.giveBack()
		vr.reports.outcome(cmd, ledger.CommandFailed, nil, refused)
		vr.log.Info("not starting a disruption command", logfield.CommandID(cmd.id), logfield.Error(refused))
		return false
	}
	cmd.plan, cmd.started = valid, v.now
	vr.exec.start(ctx, cmd)
	return true
}

// errApprovalRequired is the error of a command that waited while a policy began to ask for its approval.
var errApprovalRequired = errors.New("an operations policy asks for approval since the command was found")

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
	return vr.start(ctx, v, cmd, verdict.Command)
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
