package disruption

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/parallel"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// pollInterval is how long a command waits before it checks its replacements again, or retries failed deletions.
const pollInterval = problem.PollInterval

// executor carries out commands, each in a goroutine.
type executor struct {
	Deps
	queue    *queue
	backoffs *backoffSet
	marks    *marker
	reports  *reporter
	wake     signal
	running  sync.WaitGroup
	// reboots are those of the last rebootWindow.
	reboots *reboots
}

// start starts a command in a goroutine that owns it until it has ended.
func (e *executor) start(ctx context.Context, cmd command) {
	e.queue.put(cmd)
	parallel.Go(&e.running, func() {
		defer e.wake.send()
		defer e.queue.drop(cmd.id)
		e.safeCarryOut(ctx, cmd)
	})
}

// carryOut carries out one command: taint its nodes, check their pods again, launch the replacements, wait until these are ready,
// delete. It returns when the command has succeeded or failed, or when ctx ends. The marks of nodes that it abandoned are removed
// immediately or in the next pass.
//
// Source: disruption specification, orchestration queue.
func (e *executor) carryOut(ctx context.Context, cmd command) {
	ctx = observe.WithController(ctx, "disruption.queue")
	giveBack := sync.OnceFunc(cmd.reservation.giveBack)
	defer giveBack()
	planned := cmd.plan.Candidates
	if err := e.stillUnhealthy(ctx, planned); err != nil {
		e.Log.Info("cannot confirm that the node is unhealthy, leaving it alone", logfield.CommandID(cmd.id), logfield.Error(err))
		e.reports.outcome(cmd, ledger.CommandFailed, nil, err)
		e.backOff(planned)
		return
	}
	if cmd.plan.Reboot {
		e.reboot(ctx, cmd)
		return
	}
	if err := e.withinLimits(ctx, cmd); err != nil {
		e.Log.Info("cannot launch replacements, leaving the nodes alone", logfield.Command(cmd.plan.Text(cmd.id)), logfield.Error(err))
		e.reports.outcome(cmd, ledger.CommandFailed, nil, err)
		e.backOff(planned)
		return
	}
	e.reports.starting(cmd)
	whole := cmd
	cmd = e.closeNodes(ctx, cmd)
	if marked := len(cmd.plan.Candidates); marked == 0 || marked < len(planned) && (cmd.plan.Whole || cmd.plan.Launches() > 0) || ctx.Err() != nil {
		e.reports.outcome(whole, ledger.CommandFailed, nil, errNotMarked)
		e.backOff(planned)
		return
	}
	if cmd.method.DropsOccupied {
		verdict := disrupt.DropOccupied(cmd.plan, e.Store.Snapshot())
		e.reports.dropped(cmd, verdict.Dropped)
		if cmd.plan = verdict.Command; len(cmd.plan.Candidates) == 0 {
			e.reports.outcome(whole, ledger.CommandRejected, verdict.Dropped, nil)
			return
		}
	}
	if cmd.plan.Static {
		e.Store.Pools.BeginReplacement(cmd.plan.IDs()...)
	}
	if cmd.plan.TerminateFirst != "" {
		e.Store.Pools.TerminateFirst(cmd.plan.IDs()...)
	}
	var err error
	if cmd.launched, err = e.launch(ctx, cmd); err != nil {
		e.giveUp(ctx, cmd, cmd.plan.Candidates, err)
		return
	}
	giveBack() // the replacements themselves count against the limit now
	// Only now may the provisioner schedule pods of these nodes elsewhere: it knows the replacements already.
	e.Store.Mark(cmd.plan.IDs()...)
	e.nominate(cmd.plan)
	e.reports.started(cmd)
	cmd.launchesWritten = true
	e.queue.put(cmd)
	e.wake.send()
	if e.await(ctx, cmd) {
		for _, pool := range cmd.launchesFrom() {
			e.backoffs.pools.Succeed(pool)
		}
		e.deleteAll(ctx, cmd)
	}
}

// deleteAll deletes the NodeClaims of a command, and retries those that could not be deleted.
func (e *executor) deleteAll(ctx context.Context, cmd command) {
	left := cmd.plan.Candidates
	policies := e.policies(ctx, cmd)
	for {
		e.queue.follow(cmd.id, Deleting, claimNames(left))
		var err error
		if left, err = e.deleteClaims(ctx, cmd, left, policies); len(left) == 0 {
			for _, candidate := range cmd.plan.Candidates {
				e.backoffs.nodes.Succeed(candidate.Node.ClaimName)
			}
			e.reports.outcome(cmd, ledger.CommandSucceeded, nil, nil)
			e.claimSavings(ctx, cmd)
			return
		}
		// Success is checked before the timeout: a deletion in the last moment counts.
		if e.timedOut(cmd) {
			e.giveUp(ctx, cmd, left, errors.Join(errTimeout, err))
			return
		}
		e.Log.Debug("retrying to delete nodeclaims", logfield.CommandID(cmd.id), logfield.Left(len(left)), logfield.Error(err))
		if !sleep(ctx, e.Clock, pollInterval) {
			return
		}
	}
}

// errNotMarked is the error of a command whose nodes could not all be marked.
var errNotMarked = errors.New("not all nodes could be marked for disruption")

// errTimeout is the error of a command that exceeded its timeout.
var errTimeout = errors.New("command reached its timeout")

// timedOut reports whether a command exceeded its timeout. It counts the queue only for commands older than the minimum timeout,
// because each of possibly thousands of commands calls it every second.
func (e *executor) timedOut(cmd command) bool {
	age := e.Clock.Since(cmd.started)
	return age > minTimeout && age > commandTimeout(len(e.queue.nodes("")))
}

// closeNodes marks the nodes and drops those that cannot be marked from the command.
func (e *executor) closeNodes(ctx context.Context, cmd command) command {
	errs := forEach(ctx, e.marks.turns, cmd.plan.Candidates, func(candidate disrupt.Candidate) error {
		return e.marks.mark(ctx, candidate.Node, cmd.method.Reason)
	})
	var marked []disrupt.Candidate
	for i, err := range errs {
		if err == nil {
			marked = append(marked, cmd.plan.Candidates[i])
		}
	}
	if err := errors.Join(errs...); err != nil && ctx.Err() == nil {
		level := slog.LevelError
		if onlyConflicts(err) {
			level = slog.LevelInfo // other clients write these nodes; the command is proposed again
		}
		e.Log.Log(ctx, level, "cannot mark all nodes for disruption, leaving the others alone", logfield.CommandID(cmd.id),
			logfield.Marked(len(marked)), logfield.Failed(len(cmd.plan.Candidates)-len(marked)), logfield.Error(err))
	}
	cmd.plan.Candidates = marked
	return cmd
}

// deleteClaims deletes the NodeClaims in parallel and returns the candidates that are left, with the reasons.
func (e *executor) deleteClaims(ctx context.Context, cmd command, candidates []disrupt.Candidate, policies map[string]string) ([]disrupt.Candidate, error) {
	defer e.WriteGate.Begin()()
	errs := forEach(ctx, e.marks.turns, candidates, func(candidate disrupt.Candidate) error {
		return e.deleteClaim(ctx, cmd, candidate, policies[candidate.Node.Pool])
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
func (e *executor) deleteClaim(ctx context.Context, cmd command, candidate disrupt.Candidate, policy string) error {
	claim := &v1.NodeClaim{}
	if err := e.Client.Get(ctx, client.ObjectKey{Name: candidate.Node.ClaimName}, claim); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !claim.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := e.limitDrain(ctx, candidate); err != nil {
		return fmt.Errorf("limiting the drain of nodeclaim %q: %w", claim.Name, err)
	}
	switch err := e.Client.Delete(ctx, claim, client.Preconditions{UID: &claim.UID}); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	node := &corev1.Node{}
	if err := e.Client.Get(ctx, client.ObjectKey{Name: candidate.Node.NodeName}, node); err != nil {
		node = nil
	}
	e.Recorder.Publish(observe.DisruptionTerminating(node, claim, string(cmd.method.Reason))...)
	labels := []string{
		observe.SnakeCase(string(cmd.method.Reason)), claim.Labels[v1.NodePoolLabelKey], claim.Labels[v1.CapacityTypeLabelKey],
		policy, observe.TerminationMode(claim.Spec.TerminationGracePeriod),
	}
	e.Metrics.NodeClaims.Disrupted.WithLabelValues(labels...).Inc()
	e.Books.Disrupted(claim, labels[0], cmd.id)
	e.Metrics.Pods.DisruptionInitiated.WithLabelValues(labels...).Add(float64(len(candidate.PodsToMove)))
	if candidate.Repair != nil {
		e.unhealthyDisrupted(candidate, claim)
	}
	return nil
}

// policies are the consolidation policies of the command's pools, as metrics spell them; none for drift, expiry and repair.
func (e *executor) policies(ctx context.Context, cmd command) map[string]string {
	out := map[string]string{}
	if r := cmd.method.Reason; r == disrupt.Drifted || r == disrupt.Expired || r == disrupt.Unhealthy {
		return out
	}
	for _, name := range cmd.plan.Pools() {
		pool := &v1.NodePool{}
		if err := e.Client.Get(ctx, client.ObjectKey{Name: name}, pool); err == nil {
			out[name] = observe.SnakeCase(string(pool.Spec.Disruption.ConsolidationPolicy))
		}
	}
	return out
}

// giveUp ends a command that failed: it unmarks the nodes and deletes replacements that are not needed.
func (e *executor) giveUp(ctx context.Context, cmd command, left []disrupt.Candidate, cause error) {
	if ctx.Err() != nil {
		return
	}
	nodes := make([]*model.Node, len(left))
	ids := make([]string, len(left))
	for i, candidate := range left {
		nodes[i], ids[i] = candidate.Node, candidate.Node.ID
	}
	unready := e.withdraw(ctx, cmd.launched)
	if unready > 0 {
		for _, pool := range cmd.launchesFrom() {
			e.backoffs.pools.Fail(pool, e.Clock.Now())
		}
	}
	e.Metrics.Disruption.QueueFailures.WithLabelValues(cmd.plan.Decision(), observe.SnakeCase(string(cmd.method.Reason)), cmd.method.Type).
		Add(float64(unready))
	e.Store.Unmark(ids...)
	e.Store.Pools.EndReplacement(ids...)
	errs := forEach(ctx, e.marks.turns, nodes, func(n *model.Node) error { return e.marks.unmark(ctx, n) })
	e.backOff(cmd.plan.Candidates)
	e.reports.outcome(cmd, ledger.CommandFailed, nil, cause)
	e.Log.Error("failed to disrupt nodes", logfield.Command(cmd.plan.Text(cmd.id)), logfield.CommandID(cmd.id),
		logfield.Left(len(left)), logfield.Error(errors.Join(append(errs, cause)...)))
}

// backOff puts the nodes of a failed command into backoff.
func (e *executor) backOff(candidates []disrupt.Candidate) {
	for _, candidate := range candidates {
		e.backoffs.nodes.Fail(candidate.Node.ClaimName, e.Clock.Now())
	}
}
