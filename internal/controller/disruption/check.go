package disruption

import (
	"context"
	"errors"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// checkDue gives the commands whose wait is over their second look, and starts what is left of them.
//
// Commands that move pods are started one after the other: each is checked in a picture in which the one before has got its
// nodes marked and its machines asked for.
func (c *Controller) checkDue(ctx context.Context) {
	due := c.queue.due(c.Clock.Now())
	if len(due) == 0 {
		return
	}
	s, err := c.gather(ctx)
	if err != nil {
		// Nothing was touched yet; the next pass finds the same nodes again.
		for _, cmd := range due {
			c.queue.drop(cmd.id)
		}
		c.Log.Error("cannot check disruption commands, dropping them", "commands", len(due), "error", err)
		return
	}
	candidates, obstacles := disrupt.Qualify(s.world(nil))
	c.prices.set(ctx, s.pools, candidates)
	moving := c.queue.starting()
	for _, cmd := range due {
		if !cmd.simulated() {
			c.check(ctx, s, cmd, candidates, obstacles)
		}
	}
	var shared *room
	for _, cmd := range due {
		if cmd.simulated() && !moving {
			moving = c.checkMove(ctx, s, cmd, candidates, obstacles, &shared)
		}
	}
}

// check holds one command against the scene. Other commands count against the budgets, the command itself does not.
func (c *Controller) check(ctx context.Context, s scene, cmd command, candidates []disrupt.Candidate, obstacles []disrupt.Obstacle) {
	wanted, refused := cmd.method.FilterNodes(among(candidates, cmd.work))
	fit, blocked := cmd.method.FilterPods(wanted, c.podBlocks(ctx, s, wanted))
	budgets := remaining(s.budgetsFor(cmd.method.Reason, c.pledged(s, cmd)))
	verdict := disrupt.Validate(cmd.work, fit, append(append(refused, blocked...), obstacles...), budgets)
	c.reportDropped(cmd, verdict.Dropped)
	if len(verdict.Command.Candidates) == 0 {
		c.queue.drop(cmd.id)
		c.Log.Debug("abandoning disruption attempt due to pod churn, the command is no longer valid", "command-id", cmd.id)
		return
	}
	cmd.work, cmd.started = verdict.Command, s.now
	c.begin(ctx, cmd)
}

// checkMove holds one command that was found by simulation against the scene, and reports whether it was started.
func (c *Controller) checkMove(
	ctx context.Context, s scene, cmd command, candidates []disrupt.Candidate, obstacles []disrupt.Obstacle, shared **room,
) bool {
	own := among(candidates, cmd.work)
	wanted, refused := cmd.method.FilterNodes(own)
	fit, blocked := cmd.method.FilterPods(wanted, c.podBlocks(ctx, s, wanted))
	s.countRounds(fit)
	if *shared == nil {
		var err error
		if *shared, err = c.room(ctx, s, candidates, c.queue.beginning()); err != nil {
			c.queue.drop(cmd.id)
			c.Log.Error("cannot check a disruption command, dropping it", "command-id", cmd.id, "error", err)
			return false
		}
		(*shared).labs[cmd.method.Consolidates] = []*disrupt.Simulator{(*shared).study.Simulator(candidates, cmd.method.Consolidates)}
	}
	lab := (*shared).labs[cmd.method.Consolidates][0]
	budgets := remaining(s.budgetsFor(cmd.method.Reason, c.pledged(s, cmd)))
	verdict := lab.Validate(cmd.work, fit, append(append(refused, blocked...), obstacles...), budgets)
	if len(verdict.Dropped) == 0 {
		// Pods may have been bound while the simulation ran.
		verdict.Dropped = c.stillFit(ctx, cmd)
	}
	if len(verdict.Dropped) > 0 {
		c.reject(s, cmd, verdict.Dropped)
		return false
	}
	cmd.work, cmd.started = verdict.Command, s.now
	c.begin(ctx, cmd)
	return true
}

// stillFit looks at the candidates of a command once more.
func (c *Controller) stillFit(ctx context.Context, cmd command) []disrupt.Obstacle {
	s, err := c.gather(ctx)
	if err != nil {
		return []disrupt.Obstacle{{Code: disrupt.PodsUnknown, Node: cmd.work.Candidates[0].Node, Cause: err.Error()}}
	}
	candidates, obstacles := disrupt.Qualify(s.world(nil))
	own := among(candidates, cmd.work)
	c.prices.set(ctx, s.pools, own)
	wanted, refused := cmd.method.FilterNodes(own)
	fit, blocked := cmd.method.FilterPods(wanted, c.podBlocks(ctx, s, wanted))
	budgets := remaining(s.budgetsFor(cmd.method.Reason, c.pledged(s, cmd)))
	return disrupt.Validate(cmd.work, fit, append(append(refused, blocked...), obstacles...), budgets).Dropped
}

// reject ends a command that did not pass its check. Its nodes rest for a while, so that others get their turn; where there
// were several, each may still go alone.
func (c *Controller) reject(s scene, cmd command, dropped []disrupt.Obstacle) {
	c.queue.drop(cmd.id)
	class := dropped[0].Failure()
	if class != disrupt.Scheduling {
		c.Metrics.Disruption.FailedValidations.WithLabelValues(cmd.method.Type).Add(float64(len(cmd.work.Candidates)))
	}
	for _, o := range dropped {
		c.Log.Debug("node is no longer valid for disruption", "command-id", cmd.id, "Node", o.Node.Name,
			"class", string(class), "code", string(o.Code), "error", errors.New(o.String()))
	}
	rest := c.setbacks
	if len(cmd.work.Candidates) > 1 {
		rest = c.partings
		defer c.wake()
	}
	for _, candidate := range cmd.work.Candidates {
		n := candidate.Node
		rest.fail(n.ClaimName, c.Clock.Now())
		if cmd.method.Reason == disrupt.Underutilized {
			c.Recorder.Publish(observe.ConsolidationRejected(s.nodes[n.NodeName], s.claims[n.ClaimName],
				cmd.work.TextFor(n.Name), string(class), cmd.work.Savings())...)
		}
	}
}

// reportDropped counts and logs candidates that did not pass the check.
func (c *Controller) reportDropped(cmd command, dropped []disrupt.Obstacle) {
	for _, o := range dropped {
		c.Metrics.Disruption.FailedValidations.WithLabelValues(cmd.method.Type).Inc()
		c.Log.Debug("node is no longer valid for disruption", "command-id", cmd.id, "Node", o.Node.Name,
			"class", string(o.Failure()), "code", string(o.Code), "error", errors.New(o.String()))
	}
}
