// Package nodeclaim runs the lifecycle of NodeClaims: launch, registration, initialization, timeouts, the conditions Drifted and
// Consolidatable, expiration, and garbage collection of NodeClaims and instances.
//
// Each controller is thin: it gathers what it needs, lets a pure function decide, and applies the result. All of them can be killed
// between any two lines.
//
// Source: spec NodeClaim and NodePool lifecycle.
package nodeclaim

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	"github.com/karpenter-anew/karpenter/internal/controller/nomination"
	"github.com/karpenter-anew/karpenter/internal/controller/ratelimit"
	"github.com/karpenter-anew/karpenter/internal/controller/readyourwrites"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

// launchTTL is how long the result of a successful launch is kept, in case its status cannot be written or the cache does not show it
// yet.
const launchTTL = time.Hour

// RegistrationHealth records whether NodeClaims of a NodePool register. Both methods may be called more than once for one NodeClaim. A
// conflict error means that nothing was recorded yet.
type RegistrationHealth interface {
	Succeeded(ctx context.Context, claim *v1.NodeClaim) error
	Failed(ctx context.Context, claim *v1.NodeClaim) error
}

// Lifecycle is the controller nodeclaim.lifecycle: it launches a NodeClaim, registers and initializes its Node, deletes NodeClaims
// that time out, and finalizes deleted ones.
type Lifecycle struct {
	deps.Shared
	health   RegistrationHealth
	launched *ttlcache.Cache[claimID, *v1.NodeClaim]
	launches runningLaunches
	// paced is the clock of timeouts.
	paced *pacedClock
	// awaitDrivers is set while dynamic resource allocation is not ignored.
	awaitDrivers bool
	// extended finds devices that serve extended resources; nil where kube-scheduler does not use them.
	extended *extendedResources
	// nominator nominates pods to Nodes that are about to be registered; nil where that is off.
	nominator *nomination.Nominator
}

// NewLifecycle builds the controller.
func NewLifecycle(shared deps.Shared, health RegistrationHealth) *Lifecycle {
	shared.Cloud = shared.Cloud.WithDefaults()
	return &Lifecycle{
		Shared: shared, health: health, launched: ttlcache.New[claimID, *v1.NodeClaim](shared.Clock, launchTTL), paced: newPacedClock(shared.Clock),
	}
}

// NominatePods has the controller nominate pods to Nodes before it removes the taint that keeps pods away until they are registered. The
// controller that it returns does the rest.
func (l *Lifecycle) NominatePods() *nomination.Nominator {
	l.nominator = nomination.New(l.Shared)
	return l.nominator
}

// Register adds the controller to the manager.
func (l *Lifecycle) Register(m manager.Manager) error {
	workers := options.Scale(l.CPUMillis, 1000, 5000)
	qps, burst := options.Bucket(10, 1000, workers)
	b := builder.ControllerManagedBy(m).
		Named("nodeclaim.lifecycle").
		For(&v1.NodeClaim{}, builder.WithPredicates(managed.Predicate(l.Cloud))).
		Watches(&corev1.Node{}, nodelookup.NodeToClaims(l.Client))
	if l.awaitDrivers {
		b = b.Watches(&resourcev1.ResourceSlice{}, nodelookup.SliceToClaims(l.Client))
	}
	return b.
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             ratelimit.New[reconcile.Request](time.Second, time.Minute, qps, burst),
		}).
		Complete(l)
}

// Reconcile runs one pass over one NodeClaim.
func (l *Lifecycle) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctx = observe.WithController(ctx, "nodeclaim.lifecycle")
	claim := &v1.NodeClaim{}
	if err := l.Client.Get(ctx, request.NamespacedName, claim); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !managed.Is(l.Cloud, claim) {
		return reconcile.Result{}, nil
	}
	if l.Client.DeletionPending(claim) {
		return requeue.After(readyourwrites.Retry), nil
	}
	if decided := decisionTime(claim); decided != nil {
		if wait := l.WriteGate.Delay(claim.UID, decided.Time); wait > 0 {
			return requeue.After(wait), nil
		}
	}
	if claim.DeletionTimestamp != nil {
		return l.finalize(ctx, claim)
	}
	// The finalizer comes before everything else: an instance without it could outlive its claim unnoticed.
	stored := claim.DeepCopy()
	if controllerutil.AddFinalizer(claim, v1.TerminationFinalizer) {
		if err := l.Client.Patch(ctx, claim, optimistic(stored)); err != nil {
			return requeue.OnConflict(err)
		}
	}
	return l.advance(ctx, claim)
}

// decisionTime is when the launch or the deletion of the NodeClaim was decided; nil when neither is due.
func decisionTime(claim *v1.NodeClaim) *metav1.Time {
	switch {
	case claim.DeletionTimestamp != nil:
		return claim.DeletionTimestamp
	case condition.Status(claim, v1.ConditionTypeLaunched) != metav1.ConditionTrue:
		return &claim.CreationTimestamp
	default:
		return nil
	}
}

// advance runs the four steps in order on one copy of the NodeClaim and writes what they changed.
func (l *Lifecycle) advance(ctx context.Context, claim *v1.NodeClaim) (reconcile.Result, error) {
	stored := claim.DeepCopy()
	var all outcome
	for _, step := range []func(context.Context, *v1.NodeClaim) outcome{l.launch, l.register, l.initialize, l.enforceTimeouts} {
		all = all.and(step(ctx, claim))
		if all.ended {
			return all.result()
		}
	}
	written, err := l.persist(ctx, stored, claim)
	all = all.and(written)
	if err == nil && !written.again {
		for _, effect := range all.onceSaved {
			effect()
		}
	}
	all.err = errors.Join(all.err, err)
	return all.result()
}

// persist writes the difference between stored and claim, metadata first. Both patches carry the resource version: a
// merge patch replaces the whole list of conditions, and without the check it would drop those that other controllers
// wrote in the meantime. A launch lost to such a conflict is kept in memory.
func (l *Lifecycle) persist(ctx context.Context, stored, claim *v1.NodeClaim) (outcome, error) {
	status := claim.Status
	if !equality.Semantic.DeepEqual(stored.ObjectMeta, claim.ObjectMeta) {
		if err := l.Client.Patch(ctx, claim, optimistic(stored)); err != nil {
			return unsaved(err)
		}
	}
	if equality.Semantic.DeepEqual(stored.Status, status) {
		return outcome{}, nil
	}
	base := claim.DeepCopy()
	base.Status = stored.Status
	claim.Status = status
	if err := l.Client.Status().Patch(ctx, claim, optimistic(base)); err != nil {
		return unsaved(err)
	}
	return outcome{}, nil
}

// unsaved returns the outcome of a failed write of the NodeClaim.
func unsaved(err error) (outcome, error) {
	result, err := requeue.OnConflict(err)
	if err != nil {
		return outcome{}, fmt.Errorf("writing nodeclaim: %w", err)
	}
	return outcome{again: result != (reconcile.Result{})}, nil
}

// deleteFailed deletes a NodeClaim that failed to launch or register, and counts the reason once.
func (l *Lifecycle) deleteFailed(ctx context.Context, claim *v1.NodeClaim, reason string) outcome {
	if err := l.Client.Delete(ctx, claim, client.Preconditions{UID: &claim.UID}); err != nil {
		if result, err := requeue.OnConflict(err); err != nil || result != (reconcile.Result{}) {
			return outcome{again: err == nil, err: err, ended: true}
		}
		return outcome{ended: true}
	}
	l.CountDisrupted(claim, reason)
	return outcome{ended: true, err: l.withdrawGroup(ctx, claim)}
}

// withdrawGroup deletes the NodeClaims that were created with a failed one for the same PodGroup, are of no use without it, and are not
// launched. Launched ones stay: the group is planned again, and may use them.
func (l *Lifecycle) withdrawGroup(ctx context.Context, failed *v1.NodeClaim) error {
	var errs []error
	for _, name := range l.GroupClaims.Failed(failed.Name) {
		var other v1.NodeClaim
		if err := l.Client.Get(ctx, client.ObjectKey{Name: name}, &other); err != nil {
			errs = append(errs, client.IgnoreNotFound(err))
			continue
		}
		if _, launched := l.launched.Get(other.UID); launched || condition.Status(&other, v1.ConditionTypeLaunched) == metav1.ConditionTrue {
			continue
		}
		if err := client.IgnoreNotFound(l.Client.Delete(ctx, &other, client.Preconditions{UID: &other.UID})); err != nil {
			errs = append(errs, fmt.Errorf("deleting nodeclaim %q, which has no use without %q: %w", name, failed.Name, err))
			continue
		}
		observe.Log(ctx).Info("deleted a nodeclaim of the same pod group, which has no use alone", logfield.NodeClaim(name))
		l.CountDisrupted(&other, "pod_group")
	}
	return errors.Join(errs...)
}

// optimistic is a merge patch from base that fails with a conflict when another client wrote the object in the meantime.
func optimistic(base client.Object) client.Patch {
	return client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
}
