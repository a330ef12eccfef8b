package disruption

import (
	"context"
	"errors"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
)

// validation is how long a command waits for pods on their way to its nodes before it is checked again. It is longer
// than the ten seconds within which pod events are written down once.
const validation = 15 * time.Second

// pass is one round: take back stray marks, then let one method after the other look for nodes, until one proposes
// something. What fails does not keep the rest from being tried.
//
// There is no memory of passes that found nothing: a pass over a snapshot costs less than knowing when it is needed.
func (c *Controller) pass(ctx context.Context) error {
	s, err := c.gather(ctx)
	if err != nil {
		return err
	}
	survey := s.now.Sub(c.surveyed) >= idle
	if survey {
		c.surveyed = s.now
		c.logBudgetErrors(s)
	}
	err = c.clean(ctx, s)
	candidates, obstacles := disrupt.Qualify(s.world(c.queue.nodes("")))
	c.report(s, obstacles)
	for _, m := range methods() {
		if c.propose(ctx, s, m, candidates, survey) {
			break
		}
	}
	return err
}

// propose lets a method compose commands, and queues them for their second look. It reports whether there were any.
//
// Pods are looked at on the nodes that the method wants. A survey looks at those of all candidates, only to tell users
// what would be in the way; it is made once per idle period, however often passes are triggered.
func (c *Controller) propose(ctx context.Context, s scene, m disrupt.Method, candidates []disrupt.Candidate, survey bool) bool {
	started := c.Clock.Now()
	wanted, refused := m.Want(candidates)
	c.report(s, refused)
	look := wanted
	if survey {
		look = candidates
	}
	blocks := c.podBlocks(ctx, s, look)
	for _, candidate := range look {
		if o, blocked := blocks[candidate.Node.ID]; blocked {
			c.report(s, []disrupt.Obstacle{o})
		}
	}
	fit, _ := m.Admit(wanted, blocks)
	c.prices.set(ctx, s.pools, fit)
	allowances := s.budgetsFor(m.Reason, c.queue.nodes(""))
	c.reportBudgets(s, m.Reason, allowances)
	commands := m.Pick(fit, remaining(allowances))
	for _, work := range commands {
		cmd := command{id: string(uuid.NewUUID()), method: m, work: work, due: s.now.Add(validation)}
		c.queue.put(cmd)
		c.Log.Debug("proposing disruption", "command", work.Text(cmd.id), "check-at", cmd.due)
	}
	reason := label(m.Reason)
	c.Metrics.Disruption.EligibleNodes.WithLabelValues(reason).Set(float64(len(fit)))
	c.Metrics.Disruption.EvaluationDuration.WithLabelValues(reason, m.Type).Observe(c.Clock.Since(started).Seconds())
	return len(commands) > 0
}

// checkDue gives the commands whose wait is over their second look, and starts what is left of them.
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
	for _, cmd := range due {
		c.check(ctx, s, cmd, candidates, obstacles)
	}
}

// check holds one command against the scene. Other commands count against the budgets, the command itself does not.
func (c *Controller) check(ctx context.Context, s scene, cmd command, candidates []disrupt.Candidate, obstacles []disrupt.Obstacle) {
	wanted, refused := cmd.method.Want(among(candidates, cmd.work))
	fit, blocked := cmd.method.Admit(wanted, c.podBlocks(ctx, s, wanted))
	c.prices.set(ctx, s.pools, fit)
	budgets := remaining(s.budgetsFor(cmd.method.Reason, c.queue.nodes(cmd.id)))
	verdict := disrupt.Check(cmd.work, fit, append(append(refused, blocked...), obstacles...), budgets)
	c.reportDropped(cmd, verdict.Dropped)
	if len(verdict.Command.Candidates) == 0 {
		c.queue.drop(cmd.id)
		c.Log.Debug("abandoning disruption attempt due to pod churn, the command is no longer valid", "command-id", cmd.id)
		return
	}
	cmd.work, cmd.started = verdict.Command, s.now
	c.queue.put(cmd)
	c.running.Go(func() {
		defer c.wake()
		defer c.queue.drop(cmd.id)
		c.carryOut(ctx, cmd)
	})
}

// among keeps the candidates that belong to the command.
func among(candidates []disrupt.Candidate, work disrupt.Command) []disrupt.Candidate {
	own := map[string]bool{}
	for _, id := range work.IDs() {
		own[id] = true
	}
	var out []disrupt.Candidate
	for _, candidate := range candidates {
		if own[candidate.Node.ID] {
			out = append(out, candidate)
		}
	}
	return out
}

// label is a reason as most metrics spell it.
func label(reason disrupt.Reason) string { return strings.ToLower(string(reason)) }

// reportDropped counts and logs candidates that did not pass the check.
func (c *Controller) reportDropped(cmd command, dropped []disrupt.Obstacle) {
	for _, o := range dropped {
		c.Metrics.Disruption.FailedValidations.WithLabelValues(cmd.method.Type).Inc()
		c.Log.Debug("node is no longer valid for disruption", "command-id", cmd.id, "Node", o.Node.Name,
			"class", string(o.Failure()), "code", string(o.Code), "error", errors.New(o.String()))
	}
}
