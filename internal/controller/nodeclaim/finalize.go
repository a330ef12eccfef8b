package nodeclaim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// goneCheck is how soon the provider is asked again whether a terminating instance is gone.
const goneCheck = 5 * time.Second

// finalize finalizes a deleted NodeClaim: deadline, Nodes, instance, finalizer, in that order.
func (l *Lifecycle) finalize(ctx context.Context, claim *v1.NodeClaim) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(claim, v1.TerminationFinalizer) {
		return reconcile.Result{}, nil
	}
	if err := l.setDeadline(ctx, claim); err != nil {
		return requeue.OnConflict(err)
	}
	if left, err := l.deleteNodes(ctx, claim); left || err != nil {
		return reconcile.Result{}, err
	}
	l.restoreInstance(claim)
	if result, gone, err := l.terminateInstance(ctx, claim); !gone || err != nil {
		return result, err
	}
	stored := claim.DeepCopy()
	controllerutil.RemoveFinalizer(claim, v1.TerminationFinalizer)
	if err := l.Client.Patch(ctx, claim, optimistic(stored)); err != nil {
		return requeue.OnConflict(err)
	}
	observe.Log(ctx).Info("deleted nodeclaim", logfield.ProviderID(claim.Status.ProviderID), logfield.Node(claim.Status.NodeName))
	l.countFinalized(claim)
	return reconcile.Result{}, nil
}

// countFinalized records how long the termination of a NodeClaim took.
func (l *Lifecycle) countFinalized(claim *v1.NodeClaim) {
	now, pool := l.Clock.Now(), claim.Labels[v1.NodePoolLabelKey]
	if terminating := condition.For(claim, now).Get(v1.ConditionTypeInstanceTerminating); terminating != nil {
		l.Metrics.NodeClaims.InstanceTerminationDuration.WithLabelValues(pool).Observe(now.Sub(terminating.LastTransitionTime.Time).Seconds())
	}
	l.Metrics.NodeClaims.TerminationDuration.WithLabelValues(pool).Observe(now.Sub(claim.DeletionTimestamp.Time).Seconds())
	l.Metrics.NodeClaims.Terminated.WithLabelValues(pool, claim.Labels[v1.CapacityTypeLabelKey], claim.Labels[corev1.LabelTopologyZone]).Inc()
}

// setDeadline annotates the NodeClaim, once, with the time when the pods of its Node are deleted at the latest.
func (l *Lifecycle) setDeadline(ctx context.Context, claim *v1.NodeClaim) error {
	if claim.Spec.TerminationGracePeriod == nil {
		return nil
	}
	if _, ok := claim.Annotations[v1.NodeClaimTerminationTimestampAnnotationKey]; ok {
		return nil
	}
	stored := claim.DeepCopy()
	deadline := claim.DeletionTimestamp.Add(claim.Spec.TerminationGracePeriod.Duration).Format(time.RFC3339)
	claim.Annotations = overlaid(claim.Annotations, map[string]string{v1.NodeClaimTerminationTimestampAnnotationKey: deadline})
	if err := l.Client.Patch(ctx, claim, optimistic(stored)); err != nil {
		return err
	}
	observe.Log(ctx).Info("annotated nodeclaim", logfield.TerminationTimestamp(deadline))
	l.Recorder.Publish(observe.NodeClaimTerminationGracePeriodExpiring(claim, deadline))
	return nil
}

// deleteNodes deletes every Node of a NodeClaim that Karpenter owns, and reports whether one still exists. The event of the last Node
// requeues the NodeClaim.
func (l *Lifecycle) deleteNodes(ctx context.Context, claim *v1.NodeClaim) (left bool, err error) {
	nodes, err := l.ownedNodes(ctx, claim)
	if err != nil {
		return false, err
	}
	for i := range nodes {
		if nodes[i].DeletionTimestamp != nil {
			continue
		}
		if err := l.Client.Delete(ctx, &nodes[i]); client.IgnoreNotFound(err) != nil {
			return true, fmt.Errorf("deleting node %q: %w", nodes[i].Name, err)
		}
	}
	return len(nodes) > 0, nil
}

// ownedNodes are the Nodes of a registered NodeClaim. Nodes of a NodeClaim that never registered are not Karpenter's. A Node is registered
// before its NodeClaim says so: a NodeClaim that was deleted between these two writes may have pods that run already.
func (l *Lifecycle) ownedNodes(ctx context.Context, claim *v1.NodeClaim) ([]corev1.Node, error) {
	nodes, err := nodelookup.NodesOf(ctx, l.Client, claim)
	if err != nil || condition.For(claim, l.Clock.Now()).IsTrue(v1.ConditionTypeRegistered) {
		return nodes, err
	}
	var owned []corev1.Node
	for i := range nodes {
		node := &nodes[i] // of the cache, which may lag behind the registration
		if err := l.Client.Get(ctx, client.ObjectKeyFromObject(node), node); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading node %q: %w", node.Name, err)
		} else if err == nil && node.Labels[v1.NodeRegisteredLabelKey] == "true" {
			owned = append(owned, *node)
		}
	}
	return owned, nil
}

// restoreInstance fills in the instance of a NodeClaim that was deleted between its launch and the write of its status.
func (l *Lifecycle) restoreInstance(claim *v1.NodeClaim) {
	if created, ok := l.launched.Get(claim.UID); ok && claim.Status.ProviderID == "" {
		adopt(claim, created)
	}
}

// terminateInstance terminates the instance and reports whether it is gone. A NodeClaim that never launched has none. While the
// instance exists, result says when to check again.
func (l *Lifecycle) terminateInstance(ctx context.Context, claim *v1.NodeClaim) (result reconcile.Result, gone bool, err error) {
	if claim.Status.ProviderID == "" {
		return reconcile.Result{}, true, nil
	}
	stored := claim.DeepCopy()
	deleteErr := l.Cloud.Provider.Delete(ctx, claim)
	if cloud.IgnoreNodeClaimNotFound(deleteErr) != nil {
		err := fmt.Errorf("terminating the instance of nodeclaim %q: %w", claim.Name, deleteErr)
		if l.ShowFailedTermination(claim, deleteErr) {
			_, unwritten := requeue.OnConflict(l.Client.Status().Patch(ctx, claim, optimistic(stored)))
			err = errors.Join(err, unwritten)
		}
		return reconcile.Result{}, false, err
	}
	if condition.For(claim, l.Clock.Now()).True(v1.ConditionTypeInstanceTerminating) {
		if err := l.Client.Status().Patch(ctx, claim, optimistic(stored)); err != nil {
			result, err := requeue.OnConflict(err)
			return result, false, err
		}
	}
	return requeue.After(goneCheck), deleteErr != nil, nil
}
