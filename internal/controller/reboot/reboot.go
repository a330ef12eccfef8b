// Package reboot reboots nodes in place: it drains the node, has the cloud provider reboot the instance, and waits until the node is
// ready with a new boot ID. A node that does not return is replaced.
//
// The condition Rebooting of the NodeClaim is both the request and the progress:
//
//	True/RebootRequested    the node is drained, then the cloud provider is asked (request.go, drain.go, issue.go)
//	True/RebootIssued       the node is expected back (observe.go)
//	False/RebootSucceeded   it is back, and is initialized again
//	False/RebootFailed      it is not; the NodeClaim is deleted, unless the request itself was invalid (fail.go)
//
// Every pass derives what to do from the objects, so that the controller can be stopped between any two calls. In memory is only since
// when the cloud provider is asked: after a restart it is asked for the full time again.
//
// Source: specification of version 1.15, reboots.
package reboot

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/controller/ratelimit"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/controller/termination"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

const (
	controllerName = "nodeclaim.reboot"
	workers        = 10
	// pollPeriod is the time between two checks; changes of the Node are noticed at once.
	pollPeriod = 15 * time.Second
)

// Reboot is the controller nodeclaim.reboot.
type Reboot struct {
	deps.Shared
	evictions *termination.EvictionQueue
	timers    timers
}

// New builds the controller; evictions go through the queue.
func New(shared deps.Shared, evictions *termination.EvictionQueue) *Reboot {
	return &Reboot{Shared: shared, evictions: evictions}
}

// Register adds the controller to the manager.
func (r *Reboot) Register(m manager.Manager) error {
	return builder.ControllerManagedBy(m).
		Named(controllerName).
		For(&v1.NodeClaim{}, builder.WithPredicates(managed.Predicate(r.Cloud), requested())).
		Watches(&corev1.Node{}, nodelookup.NodeToClaims(r.Client), builder.WithPredicates(managed.Predicate(r.Cloud), bootChanged())).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             ratelimit.New[reconcile.Request](time.Second, pollPeriod, workers, 10*workers),
		}).
		Complete(r)
}

// episode is one reboot of one node, as a pass has read it.
type episode struct {
	claim *v1.NodeClaim
	// node is nil unless the NodeClaim has exactly one.
	node *corev1.Node
	// progress is the condition Rebooting.
	progress metav1.Condition
}

// requestedAt is when the reboot was requested, while the condition is True.
func (e *episode) requestedAt() time.Time { return e.progress.LastTransitionTime.Time }

// preBootID is the boot ID before the reboot; false before the node is drained.
func (e *episode) preBootID() (string, bool) {
	id, ok := e.claim.Annotations[v1.RebootPreBootIDAnnotationKey]
	return id, ok
}

// Reconcile runs one pass over one NodeClaim.
func (r *Reboot) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctx = observe.WithController(ctx, controllerName)
	claim := &v1.NodeClaim{}
	if err := r.Client.Get(ctx, request.NamespacedName, claim); err != nil {
		if apierrors.IsNotFound(err) {
			r.timers.stop(request.Name)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	progress := meta.FindStatusCondition(claim.Status.Conditions, v1.ConditionTypeRebooting)
	if !managed.Is(r.Cloud, claim) {
		return reconcile.Result{}, nil
	}
	if progress == nil { // only leftovers
		progress = &metav1.Condition{}
	}
	if claim.DeletionTimestamp != nil || r.Client.DeletionPending(claim) {
		r.timers.stop(claim.Name)
		return reconcile.Result{}, nil
	}
	node, err := r.nodeOf(ctx, claim)
	if err != nil {
		return reconcile.Result{}, err
	}
	step := r.request
	switch {
	case progress.Status != metav1.ConditionTrue:
		step = r.end
	case progress.Reason == v1.RebootReasonIssued:
		step = r.observe
	}
	result, err := step(ctx, &episode{claim: claim, node: node, progress: *progress})
	if apierrors.IsConflict(err) {
		return requeue.Soon(), nil
	}
	return result, err
}

// nodeOf returns the Node of the NodeClaim, or nil unless there is exactly one. It is found in a list and read again, because only Get
// shows the last write of this process.
func (r *Reboot) nodeOf(ctx context.Context, claim *v1.NodeClaim) (*corev1.Node, error) {
	node, err := nodelookup.NodeOf(ctx, r.Client, claim)
	if errors.Is(err, nodelookup.NotFound) || errors.Is(err, nodelookup.Duplicate) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch err := r.Client.Get(ctx, client.ObjectKeyFromObject(node), node); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("getting node %q: %w", node.Name, err)
	}
	return node, nil
}

// optimistic is a merge patch from base that fails with a conflict when another client wrote the object in the meantime.
func optimistic(base client.Object) client.Patch {
	return client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
}

// patchClaim writes a change of the metadata of the NodeClaim.
func (r *Reboot) patchClaim(ctx context.Context, claim *v1.NodeClaim, change func(*v1.NodeClaim)) error {
	stored := claim.DeepCopy()
	change(claim)
	if err := r.Client.Patch(ctx, claim, optimistic(stored)); err != nil {
		return fmt.Errorf("writing nodeclaim %q: %w", claim.Name, err)
	}
	return nil
}

// patchStatus writes a change of the status of the NodeClaim.
func (r *Reboot) patchStatus(ctx context.Context, claim *v1.NodeClaim, change func(*v1.NodeClaim)) error {
	stored := claim.DeepCopy()
	change(claim)
	if err := r.Client.Status().Patch(ctx, claim, optimistic(stored)); err != nil {
		return fmt.Errorf("writing the status of nodeclaim %q: %w", claim.Name, err)
	}
	return nil
}
