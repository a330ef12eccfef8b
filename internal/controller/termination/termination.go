// Package termination terminates Nodes: it taints them, drains their pods in order, waits until volumes are detached, terminates the
// instance and then removes the finalizer of the Node.
//
// Which pods to evict next and which to delete at once are pure functions; the controller gathers pods and applies the result.
//
// Source: spec node termination (drain and teardown).
package termination

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/controller/ratelimit"
	"github.com/karpenter-anew/karpenter/internal/controller/readyourwrites"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

const controllerName = "node.termination"

// The label that makes cloud load balancers stop sending traffic to a Node, and its value.
const (
	excludeFromLoadBalancers = corev1.LabelNodeExcludeBalancers
	excludedBy               = "karpenter"
)

// instanceTTL is how long the existence of an instance is cached, while a Node that is not ready drains.
const instanceTTL = 10 * time.Second

// Termination is the controller node.termination. It handles managed Nodes that are being deleted, by Karpenter or by any other client.
type Termination struct {
	deps.Shared
	queue *EvictionQueue
	alive *ttlcache.Cache[string, struct{}]
}

// New builds the controller; evictions go through the queue.
func New(shared deps.Shared, queue *EvictionQueue) *Termination {
	return &Termination{Shared: shared, queue: queue, alive: ttlcache.New[string, struct{}](shared.Clock, instanceTTL)}
}

// Register adds the controller to the manager.
func (t *Termination) Register(m manager.Manager) error {
	workers := options.Scale(t.CPUMillis, 100, 5000)
	qps, burst := options.Bucket(10, 100, workers)
	return builder.ControllerManagedBy(m).
		Named(controllerName).
		For(&corev1.Node{}, builder.WithPredicates(managed.Predicate(t.Cloud))).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             ratelimit.New[reconcile.Request](100*time.Millisecond, 10*time.Second, qps, burst),
		}).
		Complete(t)
}

// Reconcile runs one pass over one Node.
func (t *Termination) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctx = observe.WithController(ctx, controllerName)
	node := &corev1.Node{}
	if err := t.Client.Get(ctx, request.NamespacedName, node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if node.DeletionTimestamp == nil || !managed.Is(t.Cloud, node) || !controllerutil.ContainsFinalizer(node, v1.TerminationFinalizer) {
		return reconcile.Result{}, nil
	}
	claim, err := t.claimOf(ctx, node)
	if err != nil {
		return requeue.OnConflict(err)
	}
	if claim != nil && t.Client.DeletionPending(claim) {
		return requeue.After(readyourwrites.Retry), nil
	}
	if claim != nil && claim.DeletionTimestamp == nil {
		return t.deleteClaim(ctx, node, claim)
	}
	gone, err := t.instanceGone(ctx, node)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("getting nodeclaim, %w", err)
	}
	if gone {
		return requeue.OnConflict(t.removeFinalizer(ctx, node))
	}
	return t.terminate(ctx, node, claim)
}

// claimOf returns the NodeClaim of the Node, or nil unless there is exactly one. It is found in a list and read again, because only
// Get shows the last write of this process.
func (t *Termination) claimOf(ctx context.Context, node *corev1.Node) (*v1.NodeClaim, error) {
	claim, err := nodelookup.ClaimOf(ctx, t.Client, node)
	if errors.Is(err, nodelookup.NotFound) || errors.Is(err, nodelookup.Duplicate) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := t.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("getting nodeclaim %q: %w", claim.Name, err)
	}
	return claim, nil
}

// deleteClaim deletes the NodeClaim of a deleted Node and taints the Node. The pass ends there, since everything else would write to a
// version of the NodeClaim that does not show the deletion.
func (t *Termination) deleteClaim(ctx context.Context, node *corev1.Node, claim *v1.NodeClaim) (reconcile.Result, error) {
	if err := t.Client.Delete(ctx, claim, client.Preconditions{UID: &claim.UID}); client.IgnoreNotFound(err) != nil {
		return requeue.OnConflict(fmt.Errorf("deleting nodeclaim %q: %w", claim.Name, err))
	}
	if err := t.taint(ctx, node); err != nil {
		return requeue.OnConflict(err)
	}
	return requeue.After(readyourwrites.Retry), nil
}

// terminate runs the remaining steps until one has to wait, and writes the conditions of the NodeClaim.
func (t *Termination) terminate(ctx context.Context, node *corev1.Node, claim *v1.NodeClaim) (reconcile.Result, error) {
	deadline, err := t.deadline(ctx, node, claim)
	if err != nil {
		return requeue.OnConflict(err)
	}
	if err := t.taint(ctx, node); err != nil {
		return requeue.OnConflict(err)
	}
	var stored *v1.NodeClaim
	if claim != nil {
		stored = claim.DeepCopy()
	}
	var last stepResult
	for _, step := range []func(context.Context, terminating) stepResult{t.drain, t.detach, t.terminateInstance} {
		if last = step(ctx, terminating{node: node, claim: claim, deadline: deadline}); !last.done() {
			break
		}
	}
	if err := t.writeConditions(ctx, stored, claim); err != nil {
		result, err := requeue.OnConflict(err)
		if err != nil || result != (reconcile.Result{}) {
			return result, errors.Join(last.err, err)
		}
	}
	if !last.done() {
		return requeue.After(last.after), last.err
	}
	return requeue.OnConflict(t.removeFinalizer(ctx, node))
}

// terminating is a Node that is being terminated.
type terminating struct {
	node *corev1.Node
	// claim is nil unless the Node has exactly one NodeClaim.
	claim *v1.NodeClaim
	// deadline is when the pods must be gone; nil if there is none.
	deadline *time.Time
}

// stepResult is the result of a step: done (the zero value), to be repeated after a delay, or failed.
type stepResult struct {
	after time.Duration
	err   error
}

func (r stepResult) done() bool { return r == stepResult{} }

// taint keeps new pods and new traffic away from the Node.
func (t *Termination) taint(ctx context.Context, node *corev1.Node) error {
	stored := node.DeepCopy()
	setTaintAndLabel(node)
	if equality.Semantic.DeepEqual(stored, node) {
		return nil
	}
	if err := t.Client.Patch(ctx, node, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("tainting node %q: %w", node.Name, err)
	}
	observe.Log(ctx).Info("tainted node", logfield.TaintKey(v1.DisruptedTaintKey), logfield.TaintEffect(corev1.TaintEffectNoSchedule))
	return nil
}

// setTaintAndLabel sets the disrupted taint, which replaces other taints with that key, and the load balancer label.
func setTaintAndLabel(node *corev1.Node) {
	want := v1.DisruptedNoScheduleTaint()
	same := func(t corev1.Taint) bool { return t.Key == want.Key }
	exact := func(t corev1.Taint) bool { return same(t) && t.Effect == want.Effect }
	if !slices.ContainsFunc(node.Spec.Taints, exact) {
		node.Spec.Taints = append(slices.DeleteFunc(node.Spec.Taints, same), want)
	} else {
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return same(t) && !exact(t) })
	}
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	node.Labels[excludeFromLoadBalancers] = excludedBy
}

// writeConditions writes the conditions that a pass has changed. A drain is counted with the write of its condition.
func (t *Termination) writeConditions(ctx context.Context, stored, claim *v1.NodeClaim) error {
	if claim == nil || equality.Semantic.DeepEqual(stored.Status, claim.Status) {
		return nil
	}
	drained := condition.Status(claim, v1.ConditionTypeDrained) == "True" && condition.Status(stored, v1.ConditionTypeDrained) != "True"
	if err := t.Client.Status().Patch(ctx, claim, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("writing conditions of nodeclaim %q: %w", claim.Name, err)
	}
	if drained {
		t.Metrics.Nodes.Drained.WithLabelValues(claim.Labels[v1.NodePoolLabelKey]).Inc()
	}
	return nil
}

// removeFinalizer removes the finalizer of Karpenter and records the termination of the Node.
func (t *Termination) removeFinalizer(ctx context.Context, node *corev1.Node) error {
	stored := node.DeepCopy()
	controllerutil.RemoveFinalizer(node, v1.TerminationFinalizer)
	if err := t.Client.Patch(ctx, node, client.StrategicMergeFrom(stored)); err != nil {
		return fmt.Errorf("removing the finalizer of node %q: %w", node.Name, err)
	}
	observe.Log(ctx).Info("deleted node")
	now, pool := t.Clock.Now(), stored.Labels[v1.NodePoolLabelKey]
	t.Metrics.Nodes.Terminated.WithLabelValues(pool, stored.Labels[corev1.LabelTopologyZone]).Inc()
	t.Metrics.Nodes.TerminationDuration.WithLabelValues(pool).Observe(now.Sub(stored.DeletionTimestamp.Time).Seconds())
	t.Metrics.Nodes.LifetimeDuration.WithLabelValues(pool).Observe(now.Sub(stored.CreationTimestamp.Time).Seconds())
	return nil
}
