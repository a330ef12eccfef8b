// Package repair is legacy node repair: it terminates Nodes that stay unhealthy, whatever their budgets and pods. Without
// --legacy-node-repair, disruption replaces them. The cloud says which conditions count and for how long they are
// tolerated; a Node past that is deleted without waiting for its pods, because its kubelet may not respond. While many Nodes
// are unhealthy none is repaired: the cause is then more likely the network, or Karpenter.
//
// Source: disruption specification, node repair.
package repair

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/controller/ratelimit"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

const (
	controllerName = "node.health"
	// reason is the label value of all metrics of this controller.
	reason = "unhealthy"
	// blockedRetry is the delay before a Node that is not repaired because of other Nodes is checked again.
	blockedRetry = 5 * time.Minute
	// deletionShows is how long a claim is not deleted again; the watch shows a deletion much sooner.
	deletionShows = time.Minute
)

// Repair is the controller node.health.
type Repair struct {
	deps.Shared
	policies []policy
	deleted  *ttlcache.Cache[types.UID, struct{}]
}

// New builds the controller. It fails if a policy is invalid.
func New(shared deps.Shared, list []cloud.RepairPolicy) (*Repair, error) {
	policies, err := compile(list)
	if err != nil {
		return nil, err
	}
	return &Repair{Shared: shared, policies: policies, deleted: ttlcache.New[types.UID, struct{}](shared.Clock, deletionShows)}, nil
}

// Register adds the controller to the manager.
func (r *Repair) Register(m manager.Manager) error {
	return builder.ControllerManagedBy(m).
		Named(controllerName).
		For(&corev1.Node{}, builder.WithPredicates(managed.Predicate(r.Cloud), healthChanged(r.Cloud))).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: options.Scale(r.CPUMillis, 10, 1000),
			RateLimiter:             ratelimit.New[reconcile.Request](100*time.Millisecond, time.Minute, 10, 100),
		}).
		Complete(r)
}

// Reconcile inspects one Node: it waits for as long as its conditions are tolerated, and then deletes its NodeClaim.
func (r *Repair) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	node := &corev1.Node{}
	if err := r.Client.Get(ctx, request.NamespacedName, node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !managed.Is(r.Cloud, node) {
		return reconcile.Result{}, nil
	}
	if _, due, wait := r.due(node); !due {
		return wait, nil
	}
	claim, err := nodelookup.ClaimOf(ctx, r.Client, node)
	if errors.Is(err, nodelookup.NotFound) || errors.Is(err, nodelookup.Duplicate) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if !managed.Is(r.Cloud, claim) {
		return reconcile.Result{}, nil
	}
	// The watch may be stuck at a condition that has ended.
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	found, due, wait := r.due(node)
	if !due {
		return wait, nil
	}
	blocked, err := r.blocked(ctx, node, claim)
	if err != nil {
		return reconcile.Result{}, err
	}
	if blocked {
		return requeue.After(blockedRetry), nil
	}
	return requeue.OnConflict(r.end(ctx, claim, found))
}

// due returns the condition because of which a Node is to be repaired now; otherwise wait is when to look again, if it is unhealthy.
func (r *Repair) due(node *corev1.Node) (found unhealthyCondition, due bool, wait reconcile.Result) {
	found, unhealthy := diagnose(node, r.policies)
	if !unhealthy {
		return found, false, reconcile.Result{}
	}
	if left := found.due.Sub(r.Clock.Now()); left > 0 {
		return found, false, requeue.After(left)
	}
	return found, true, reconcile.Result{}
}

// blocked reports whether too many Nodes are unhealthy, and publishes an event if so: of the pool of the Node, or of the cluster if
// its claim has no pool.
func (r *Repair) blocked(ctx context.Context, node *corev1.Node, claim *v1.NodeClaim) (bool, error) {
	name, inPool := claim.Labels[v1.NodePoolLabelKey]
	var around []client.ListOption
	if inPool {
		around = append(around, client.MatchingLabels{v1.NodePoolLabelKey: name})
	}
	var nodes corev1.NodeList
	if err := r.Client.List(ctx, &nodes, append(around, client.UnsafeDisableDeepCopy)...); err != nil {
		return false, fmt.Errorf("listing the nodes around node %q: %w", node.Name, err)
	}
	if !tooMany(nodes.Items, r.policies) {
		return false, nil
	}
	if !inPool {
		r.Recorder.Publish(observe.NodeRepairBlocked(node, claim, nil)...)
		return true, nil
	}
	pool := &v1.NodePool{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: name}, pool)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading nodepool %q: %w", name, err)
	}
	if err == nil { // no event about a pool that is gone
		r.Recorder.Publish(observe.NodeRepairBlocked(node, claim, pool)...)
	}
	return true, nil
}

// end sets the termination deadline of the claim to now, so that its pods are deleted without eviction, and deletes the claim.
func (r *Repair) end(ctx context.Context, claim *v1.NodeClaim, found unhealthyCondition) error {
	if err := r.expireDeadline(ctx, claim); err != nil {
		return err
	}
	if _, already := r.deleted.Get(claim.UID); already || claim.DeletionTimestamp != nil {
		return nil
	}
	pods, err := nodelookup.CountReschedulablePods(ctx, r.Client, claim)
	if err != nil {
		return err
	}
	if err := r.Client.Delete(ctx, claim, client.Preconditions{UID: &claim.UID}); err != nil {
		return fmt.Errorf("deleting nodeclaim %q: %w", claim.Name, err)
	}
	r.deleted.Set(claim.UID, struct{}{})
	observe.Log(ctx).Info("deleting unhealthy node", logfield.NodeClaim(claim.Name), logfield.ProviderID(claim.Status.ProviderID), logfield.Condition(string(found.condition)))
	r.CountDisrupted(claim, reason)
	r.Metrics.CountDisruptedPods(claim, reason, pods)
	r.Metrics.CountUnhealthyDisrupted(claim, string(found.condition), observe.TerminationMode(claim.Spec.TerminationGracePeriod))
	return nil
}

// expireDeadline sets the termination deadline of the claim to now, unless it has passed already. A later one, or one that
// cannot be parsed, would make the drain wait for pods that do not terminate.
func (r *Repair) expireDeadline(ctx context.Context, claim *v1.NodeClaim) error {
	now := r.Clock.Now()
	deadline, err := time.Parse(time.RFC3339, claim.Annotations[v1.NodeClaimTerminationTimestampAnnotationKey])
	if err == nil && !deadline.After(now) {
		return nil
	}
	stored := claim.DeepCopy()
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[v1.NodeClaimTerminationTimestampAnnotationKey] = now.Format(time.RFC3339)
	if err := r.Client.Patch(ctx, claim, client.MergeFrom(stored)); err != nil {
		return fmt.Errorf("ending the termination deadline of nodeclaim %q: %w", claim.Name, err)
	}
	return nil
}
