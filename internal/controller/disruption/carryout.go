package disruption

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// pollInterval is how long a command waits before it checks its replacements again, or retries failed deletions.
const pollInterval = time.Second

// carryOut carries out one command: taint its nodes, check their pods again, launch the replacements, wait until these are ready,
// delete. It returns when the command has succeeded or failed, or when ctx ends. The marks of nodes that it abandoned are removed
// immediately or in the next pass.
//
// Source: disruption specification, orchestration queue.
func (c *Controller) carryOut(ctx context.Context, cmd command) {
	ctx = observe.WithController(ctx, "disruption.queue")
	giveBack := sync.OnceFunc(cmd.reservation.giveBack)
	defer giveBack()
	planned := cmd.plan.Candidates
	if err := c.withinLimits(ctx, cmd); err != nil {
		c.Log.Info("cannot launch replacements, leaving the nodes alone", "command", cmd.plan.Text(cmd.id), "error", err)
		c.backOff(planned)
		return
	}
	c.logStart(cmd)
	cmd = c.closeNodes(ctx, cmd)
	if marked := len(cmd.plan.Candidates); marked == 0 || marked < len(planned) && cmd.plan.Launches() > 0 || ctx.Err() != nil {
		c.backOff(planned)
		return
	}
	if cmd.method.DropsOccupied {
		verdict := disrupt.DropOccupied(cmd.plan, c.Store.Snapshot())
		c.reportDropped(cmd, verdict.Dropped)
		if cmd.plan = verdict.Command; len(cmd.plan.Candidates) == 0 {
			return
		}
	}
	if cmd.plan.Static {
		c.Store.Pools.BeginReplacement(cmd.plan.IDs()...)
	}
	var err error
	if cmd.launched, err = c.launch(ctx, cmd); err != nil {
		c.giveUp(ctx, cmd, cmd.plan.Candidates, err)
		return
	}
	giveBack() // the replacements themselves count against the limit now
	// Only now may the provisioner schedule pods of these nodes elsewhere: it knows the replacements already.
	c.Store.Mark(cmd.plan.IDs()...)
	c.nominate(cmd.plan)
	c.countStart(cmd)
	cmd.launchesWritten = true
	c.queue.put(cmd)
	c.wake()
	if c.await(ctx, cmd) {
		for _, pool := range cmd.launchesFrom() {
			c.poolBackoffs.succeed(pool)
		}
		c.deleteAll(ctx, cmd)
	}
}

// deleteAll deletes the NodeClaims of a command, and retries those that could not be deleted.
func (c *Controller) deleteAll(ctx context.Context, cmd command) {
	left := cmd.plan.Candidates
	policies := c.policies(ctx, cmd)
	for {
		var err error
		if left, err = c.deleteClaims(ctx, cmd, left, policies); len(left) == 0 {
			for _, candidate := range cmd.plan.Candidates {
				c.nodeBackoffs.succeed(candidate.Node.ClaimName)
			}
			return
		}
		// Success is checked before the timeout: a deletion in the last moment counts.
		if c.timedOut(cmd) {
			c.giveUp(ctx, cmd, left, errors.Join(errTimeout, err))
			return
		}
		c.Log.Debug("retrying to delete nodeclaims", "command-id", cmd.id, "left", len(left), "error", err)
		if !c.sleep(ctx, pollInterval) {
			return
		}
	}
}

// errTimeout is the error of a command that exceeded its timeout.
var errTimeout = errors.New("command reached its timeout")

// timedOut reports whether a command exceeded its timeout. It counts the queue only for commands older than the minimum timeout,
// because each of possibly thousands of commands calls it every second.
func (c *Controller) timedOut(cmd command) bool {
	age := c.Clock.Since(cmd.started)
	return age > minTimeout && age > commandTimeout(len(c.queue.nodes("")))
}

// closeNodes marks the nodes and drops those that cannot be marked from the command.
func (c *Controller) closeNodes(ctx context.Context, cmd command) command {
	errs := forEach(ctx, c, cmd.plan.Candidates, func(candidate disrupt.Candidate) error {
		return c.mark(ctx, candidate.Node, cmd.method.Reason)
	})
	var marked []disrupt.Candidate
	for i, err := range errs {
		if err == nil {
			marked = append(marked, cmd.plan.Candidates[i])
		}
	}
	if err := errors.Join(errs...); err != nil && ctx.Err() == nil {
		c.Log.Error("cannot mark all nodes for disruption, leaving the others alone", "command-id", cmd.id,
			"marked", len(marked), "failed", len(cmd.plan.Candidates)-len(marked), "error", err)
	}
	cmd.plan.Candidates = marked
	return cmd
}

// deleteClaims deletes the NodeClaims in parallel and returns the candidates that are left, with the reasons.
func (c *Controller) deleteClaims(ctx context.Context, cmd command, candidates []disrupt.Candidate, policies map[string]string) ([]disrupt.Candidate, error) {
	defer c.WriteGate.Begin()()
	errs := forEach(ctx, c, candidates, func(candidate disrupt.Candidate) error {
		return c.deleteClaim(ctx, cmd, candidate, policies[candidate.Node.Pool])
	})
	var left []disrupt.Candidate
	for i, err := range errs {
		if err != nil {
			left = append(left, candidates[i])
		}
	}
	return left, errors.Join(errs...)
}

// deleteClaim deletes one NodeClaim, publishes events and counts it. A claim that is gone or being deleted is neither published
// nor counted.
func (c *Controller) deleteClaim(ctx context.Context, cmd command, candidate disrupt.Candidate, policy string) error {
	claim := &v1.NodeClaim{}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: candidate.Node.ClaimName}, claim); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !claim.DeletionTimestamp.IsZero() {
		return nil
	}
	switch err := c.Client.Delete(ctx, claim, client.Preconditions{UID: &claim.UID}); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	node := &corev1.Node{}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: candidate.Node.NodeName}, node); err != nil {
		node = nil
	}
	c.Recorder.Publish(observe.DisruptionTerminating(node, claim, string(cmd.method.Reason))...)
	labels := []string{
		observe.SnakeCase(string(cmd.method.Reason)), claim.Labels[v1.NodePoolLabelKey], claim.Labels[v1.CapacityTypeLabelKey],
		policy, observe.TerminationMode(claim.Spec.TerminationGracePeriod),
	}
	c.Metrics.NodeClaims.Disrupted.WithLabelValues(labels...).Inc()
	c.Metrics.Pods.DisruptionInitiated.WithLabelValues(labels...).Add(float64(len(candidate.PodsToMove)))
	return nil
}

// policies are the consolidation policies of the command's pools, as metrics spell them; none for drift.
func (c *Controller) policies(ctx context.Context, cmd command) map[string]string {
	out := map[string]string{}
	if cmd.method.Reason == disrupt.Drifted {
		return out
	}
	for _, name := range cmd.plan.Pools() {
		pool := &v1.NodePool{}
		if err := c.Client.Get(ctx, client.ObjectKey{Name: name}, pool); err == nil {
			out[name] = observe.SnakeCase(string(pool.Spec.Disruption.ConsolidationPolicy))
		}
	}
	return out
}

// giveUp ends a command that failed: it unmarks the nodes and deletes replacements that are not needed.
func (c *Controller) giveUp(ctx context.Context, cmd command, left []disrupt.Candidate, cause error) {
	if ctx.Err() != nil {
		return
	}
	nodes := make([]*model.Node, len(left))
	ids := make([]string, len(left))
	for i, candidate := range left {
		nodes[i], ids[i] = candidate.Node, candidate.Node.ID
	}
	unready := c.withdraw(ctx, cmd.launched)
	if unready > 0 {
		for _, pool := range cmd.launchesFrom() {
			c.poolBackoffs.fail(pool, c.Clock.Now())
		}
	}
	c.Metrics.Disruption.QueueFailures.WithLabelValues(cmd.plan.Decision(), observe.SnakeCase(string(cmd.method.Reason)), cmd.method.Type).
		Add(float64(unready))
	c.Store.Unmark(ids...)
	c.Store.Pools.EndReplacement(ids...)
	errs := forEach(ctx, c, nodes, func(n *model.Node) error { return c.unmark(ctx, n) })
	c.backOff(cmd.plan.Candidates)
	c.Log.Error("failed to disrupt nodes", "command", cmd.plan.Text(cmd.id), "command-id", cmd.id,
		"left", len(left), "error", errors.Join(append(errs, cause)...))
}

// backOff puts the nodes of a failed command into backoff.
func (c *Controller) backOff(candidates []disrupt.Candidate) {
	for _, candidate := range candidates {
		c.nodeBackoffs.fail(candidate.Node.ClaimName, c.Clock.Now())
	}
}

// describeNodes returns the nodes of a command as log fields.
func describeNodes(plan disrupt.Command) []map[string]string {
	nodes := make([]map[string]string, len(plan.Candidates))
	for i, candidate := range plan.Candidates {
		n := candidate.Node
		nodes[i] = map[string]string{
			"Node": n.NodeName, "NodeClaim": n.ClaimName,
			"instance-type": n.Labels[corev1.LabelInstanceTypeStable], "capacity-type": n.Labels[v1.CapacityTypeLabelKey],
		}
	}
	return nodes
}

func (c *Controller) logStart(cmd command) {
	nodes := describeNodes(cmd.plan)
	args := []any{
		"command", cmd.plan.Text(cmd.id), "command-id", cmd.id, "reason", label(cmd.method.Reason),
		"decision", cmd.plan.Decision(), "disrupted-node-count", len(nodes), "replacement-node-count", cmd.plan.Launches(),
		"pod-count", cmd.plan.Pods(), "disrupted-nodes", nodes,
	}
	if replacements := describeReplacements(cmd.plan); len(replacements) > 0 {
		args = append(args, "replacement-nodes", replacements)
	}
	rounds := 1
	for _, candidate := range cmd.plan.Candidates {
		rounds = max(rounds, candidate.DrainRounds)
	}
	if rounds > 1 {
		args = append(args, "drain-rounds", rounds)
	}
	c.Log.Info("disrupting node(s)", args...)
}

func (c *Controller) countStart(cmd command) {
	decision, reason := cmd.plan.Decision(), label(cmd.method.Reason)
	c.Metrics.Disruption.Decisions.WithLabelValues(decision, reason, cmd.method.Type).Inc()
	for _, pool := range cmd.plan.Pools() {
		c.Metrics.Disruption.DecisionsByNodePool.WithLabelValues(pool, decision, reason, cmd.method.Type).Inc()
	}
}
