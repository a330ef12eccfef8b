package disruption

import (
	"context"
	"errors"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// validateDue validates the commands that are due, and starts those that remain valid.
//
// Commands that move pods are started one after the other: each is validated in a view in which the nodes of the one before are
// marked and its replacements exist.
func (c *Controller) validateDue(ctx context.Context) {
	due := c.queue.due(c.Clock.Now())
	if len(due) == 0 {
		return
	}
	v, err := c.gather(ctx)
	if err != nil {
		// Nothing was changed yet; the next pass finds the same nodes again.
		for _, cmd := range due {
			c.queue.drop(cmd.id)
		}
		c.Log.Error("cannot validate disruption commands, dropping them", "commands", len(due), "error", err)
		return
	}
	candidates, obstacles := disrupt.Qualify(v.qualifyInput(nil))
	c.prices.set(ctx, v.pools, candidates)
	moving := c.queue.starting()
	for _, cmd := range due {
		if !cmd.simulated() {
			c.validateEmpty(ctx, v, cmd, candidates, obstacles)
		}
	}
	var shared *simContext
	for _, cmd := range due {
		if cmd.simulated() && !moving {
			moving = c.validateSimulated(ctx, v, cmd, candidates, obstacles, &shared)
		}
	}
}

// validateEmpty validates one command that was found without simulation. Other commands count against the budgets, the command
// itself does not.
func (c *Controller) validateEmpty(ctx context.Context, v view, cmd command, candidates []disrupt.Candidate, obstacles []disrupt.Obstacle) {
	wanted, refused := cmd.method.FilterNodes(among(candidates, cmd.plan))
	fit, blocked := cmd.method.FilterPods(wanted, c.podBlocks(ctx, v, wanted))
	budgets := remaining(v.budgetsFor(cmd.method.Reason, c.pledged(v, cmd)))
	verdict := disrupt.Validate(cmd.plan, fit, append(append(refused, blocked...), obstacles...), budgets)
	c.reportDropped(cmd, verdict.Dropped)
	if len(verdict.Command.Candidates) == 0 {
		c.queue.drop(cmd.id)
		c.Log.Debug("abandoning disruption attempt due to pod churn, the command is no longer valid", "command-id", cmd.id)
		return
	}
	cmd.plan, cmd.started = verdict.Command, v.now
	c.startCommand(ctx, cmd)
}

// validateSimulated validates one command that was found by simulation, and reports whether it was started.
func (c *Controller) validateSimulated(
	ctx context.Context, v view, cmd command, candidates []disrupt.Candidate, obstacles []disrupt.Obstacle, shared **simContext,
) bool {
	own := among(candidates, cmd.plan)
	wanted, refused := cmd.method.FilterNodes(own)
	fit, blocked := cmd.method.FilterPods(wanted, c.podBlocks(ctx, v, wanted))
	v.setDrainRounds(fit)
	if *shared == nil {
		var err error
		if *shared, err = c.simContext(ctx, v, candidates, c.queue.validated()); err != nil {
			c.queue.drop(cmd.id)
			c.Log.Error("cannot validate a disruption command, dropping it", "command-id", cmd.id, "error", err)
			return false
		}
	}
	sim := (*shared).simulator(cmd.method.Simulates)
	budgets := remaining(v.budgetsFor(cmd.method.Reason, c.pledged(v, cmd)))
	verdict := sim.Validate(cmd.plan, fit, append(append(refused, blocked...), obstacles...), budgets)
	if len(verdict.Dropped) == 0 {
		// Pods may have been bound while the simulation ran.
		verdict.Dropped = c.validateCandidates(ctx, cmd)
	}
	if len(verdict.Dropped) > 0 {
		c.reject(v, cmd, verdict.Dropped)
		return false
	}
	cmd.plan, cmd.started = verdict.Command, v.now
	c.startCommand(ctx, cmd)
	return true
}

// validateCandidates validates the candidates of a command again, without a simulation.
func (c *Controller) validateCandidates(ctx context.Context, cmd command) []disrupt.Obstacle {
	v, err := c.gather(ctx)
	if err != nil {
		return []disrupt.Obstacle{{Code: disrupt.PodsUnknown, Node: cmd.plan.Candidates[0].Node, Cause: err.Error()}}
	}
	candidates, obstacles := disrupt.Qualify(v.qualifyInput(nil))
	own := among(candidates, cmd.plan)
	c.prices.set(ctx, v.pools, own)
	wanted, refused := cmd.method.FilterNodes(own)
	fit, blocked := cmd.method.FilterPods(wanted, c.podBlocks(ctx, v, wanted))
	budgets := remaining(v.budgetsFor(cmd.method.Reason, c.pledged(v, cmd)))
	return disrupt.Validate(cmd.plan, fit, append(append(refused, blocked...), obstacles...), budgets).Dropped
}

// reject ends a command that did not pass its validation. Its nodes are put into backoff, so that other nodes are considered; nodes of
// a command for several may still be disrupted one by one.
func (c *Controller) reject(v view, cmd command, dropped []disrupt.Obstacle) {
	c.queue.drop(cmd.id)
	class := dropped[0].Failure()
	if class != disrupt.Scheduling {
		c.Metrics.Disruption.FailedValidations.WithLabelValues(cmd.method.Type).Add(float64(len(cmd.plan.Candidates)))
	}
	for _, o := range dropped {
		c.Log.Debug("node is no longer valid for disruption", "command-id", cmd.id, "Node", o.Node.Name,
			"class", string(class), "code", string(o.Code), "error", errors.New(o.String()))
	}
	rest := c.nodeBackoffs
	if len(cmd.plan.Candidates) > 1 {
		rest = c.groupBackoffs
		defer c.wake()
	}
	for _, candidate := range cmd.plan.Candidates {
		n := candidate.Node
		rest.fail(n.ClaimName, c.Clock.Now())
		if cmd.method.Reason == disrupt.Underutilized {
			c.Recorder.Publish(observe.ConsolidationRejected(v.nodes[n.NodeName], v.claims[n.ClaimName],
				cmd.plan.TextFor(n.Name), string(class), cmd.plan.Savings())...)
		}
	}
}

// reportDropped counts and logs candidates that did not pass the validation.
func (c *Controller) reportDropped(cmd command, dropped []disrupt.Obstacle) {
	for _, o := range dropped {
		c.Metrics.Disruption.FailedValidations.WithLabelValues(cmd.method.Type).Inc()
		c.Log.Debug("node is no longer valid for disruption", "command-id", cmd.id, "Node", o.Node.Name,
			"class", string(o.Failure()), "code", string(o.Code), "error", errors.New(o.String()))
	}
}
