package disruption

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// again is how long a command waits before it repeats deletions that failed.
const again = time.Second

// carryOut brings one command to its end: close its nodes, look once more, delete. It returns when the command is over,
// for better or worse, or when ctx ends. Nodes it gave up on lose their marks in the pass that follows.
//
// Source: disruption specification, orchestration queue.
func (c *Controller) carryOut(ctx context.Context, cmd command) {
	ctx = observe.WithController(ctx, "disruption.queue")
	c.logStart(cmd)
	if cmd = c.closeNodes(ctx, cmd); len(cmd.work.Candidates) == 0 || ctx.Err() != nil {
		return
	}
	verdict := cmd.method.Recheck(cmd.work, c.Store.Snapshot())
	c.reportDropped(cmd, verdict.Dropped)
	if cmd.work = verdict.Command; len(cmd.work.Candidates) == 0 {
		return
	}
	c.queue.put(cmd)
	// From here on the provisioner looks for other places for pods of these nodes.
	c.Store.Mark(cmd.work.IDs()...)
	c.countStart(cmd)
	left := cmd.work.Candidates
	policies := c.policies(ctx, cmd)
	for {
		var err error
		if left, err = c.deleteClaims(ctx, cmd, left, policies); len(left) == 0 {
			return
		}
		// Success counts before time: what was deleted in the last moment is deleted.
		age, limit := c.Clock.Since(cmd.started), patience(len(c.queue.nodes("")))
		if age > limit {
			c.giveUp(ctx, cmd, left, err)
			return
		}
		c.Log.Debug("retrying to delete nodeclaims", "command-id", cmd.id, "left", len(left), "error", err)
		if !c.sleep(ctx, again) {
			return
		}
	}
}

// closeNodes marks the nodes and gives up on those that cannot be marked.
func (c *Controller) closeNodes(ctx context.Context, cmd command) command {
	errs := forEach(cmd.work.Candidates, func(candidate disrupt.Candidate) error {
		return c.mark(ctx, candidate.Node, cmd.method.Reason)
	})
	var marked []disrupt.Candidate
	for i, err := range errs {
		if err == nil {
			marked = append(marked, cmd.work.Candidates[i])
		}
	}
	if err := errors.Join(errs...); err != nil && ctx.Err() == nil {
		c.Log.Error("cannot mark all nodes for disruption, leaving the others alone", "command-id", cmd.id,
			"marked", len(marked), "failed", len(cmd.work.Candidates)-len(marked), "error", err)
	}
	cmd.work.Candidates = marked
	return cmd
}

// deleteClaims deletes the NodeClaims in parallel and returns the candidates that are left, with the reasons.
func (c *Controller) deleteClaims(ctx context.Context, cmd command, candidates []disrupt.Candidate, policies map[string]string) ([]disrupt.Candidate, error) {
	errs := forEach(candidates, func(candidate disrupt.Candidate) error {
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

// deleteClaim deletes one NodeClaim, tells its owners and counts it. A claim that is gone, or that somebody else deletes
// already, is neither told nor counted.
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
	c.Metrics.Pods.DisruptionInitiated.WithLabelValues(labels...).Add(float64(len(candidate.Moves)))
	return nil
}

// policies are the consolidation policies of the command's pools, as metrics spell them.
func (c *Controller) policies(ctx context.Context, cmd command) map[string]string {
	out := map[string]string{}
	for _, name := range cmd.work.Pools() {
		pool := &v1.NodePool{}
		if err := c.Client.Get(ctx, client.ObjectKey{Name: name}, pool); err == nil {
			out[name] = observe.SnakeCase(string(pool.Spec.Disruption.ConsolidationPolicy))
		}
	}
	return out
}

// giveUp ends a command that took too long. Its nodes go back to service.
func (c *Controller) giveUp(ctx context.Context, cmd command, left []disrupt.Candidate, cause error) {
	nodes := make([]*model.Node, len(left))
	ids := make([]string, len(left))
	for i, candidate := range left {
		nodes[i], ids[i] = candidate.Node, candidate.Node.ID
	}
	c.Store.Unmark(ids...)
	errs := forEach(nodes, func(n *model.Node) error { return c.unmark(ctx, n) })
	c.Log.Error("failed to disrupt nodes, command reached its timeout", "command", cmd.work.Text(cmd.id),
		"left", len(left), "error", errors.Join(append(errs, cause)...))
}

func (c *Controller) logStart(cmd command) {
	nodes := make([]map[string]string, len(cmd.work.Candidates))
	for i, candidate := range cmd.work.Candidates {
		n := candidate.Node
		nodes[i] = map[string]string{
			"Node": n.NodeName, "NodeClaim": n.ClaimName,
			"instance-type": n.Labels[corev1.LabelInstanceTypeStable], "capacity-type": n.Labels[v1.CapacityTypeLabelKey],
		}
	}
	c.Log.Info("disrupting node(s)", "command", cmd.work.Text(cmd.id), "command-id", cmd.id, "reason", label(cmd.method.Reason),
		"decision", cmd.work.Decision(), "disrupted-node-count", len(nodes), "replacement-node-count", 0,
		"pod-count", cmd.work.Pods(), "disrupted-nodes", nodes)
}

func (c *Controller) countStart(cmd command) {
	decision, reason := cmd.work.Decision(), label(cmd.method.Reason)
	c.Metrics.Disruption.Decisions.WithLabelValues(decision, reason, cmd.method.Type).Inc()
	for _, pool := range cmd.work.Pools() {
		c.Metrics.Disruption.DecisionsByNodePool.WithLabelValues(pool, decision, reason, cmd.method.Type).Inc()
	}
}
