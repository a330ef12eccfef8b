package nodeclaim

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// Expiration is the controller nodeclaim.expiration: it deletes NodeClaims that have reached their expireAfter. It is forceful: it
// ignores budgets and launches no replacement first; only the drain that follows respects PodDisruptionBudgets.
type Expiration struct {
	deps.Shared
	paced *pacedClock
}

// NewExpiration builds the controller.
func NewExpiration(shared deps.Shared) *Expiration {
	return &Expiration{Shared: shared, paced: newPacedClock(shared.Clock)}
}

// Register adds the controller to the manager.
func (e *Expiration) Register(m manager.Manager) error {
	return builder.ControllerManagedBy(m).
		Named("nodeclaim.expiration").
		For(&v1.NodeClaim{}, builder.WithPredicates(managed.Predicate(e.Cloud))).
		WithOptions(controller.Options{MaxConcurrentReconciles: options.Scale(e.CPUMillis, 10, 1000)}).
		Complete(e)
}

// Reconcile deletes a NodeClaim that has expired, or requeues it for the time that is left.
func (e *Expiration) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	claim := &v1.NodeClaim{}
	if err := e.Client.Get(ctx, request.NamespacedName, claim); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !managed.Is(e.Cloud, claim) || claim.DeletionTimestamp != nil || claim.Spec.ExpireAfter.Duration == nil || e.Client.DeletionPending(claim) {
		return reconcile.Result{}, nil
	}
	if left := claim.CreationTimestamp.Add(*claim.Spec.ExpireAfter.Duration).Sub(e.paced.Now()); left > 0 {
		return requeue.After(left), nil
	}
	pods, err := nodelookup.CountReschedulablePods(ctx, e.Client, claim)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := e.Client.Delete(ctx, claim, client.Preconditions{UID: &claim.UID}); err != nil {
		return requeue.OnConflict(err)
	}
	observe.Log(ctx).Info("deleted expired nodeclaim", logfield.ExpireAfter(*claim.Spec.ExpireAfter.Duration))
	e.CountDisrupted(claim, "expired")
	e.Metrics.CountDisruptedPods(claim, "expired", pods)
	return reconcile.Result{}, nil
}
