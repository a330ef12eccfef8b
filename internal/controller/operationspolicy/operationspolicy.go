// Package operationspolicy validates OperationsPolicies and sets their conditions. What they say is applied by the controllers that disrupt
// and launch nodes, whether the conditions are set or not.
package operationspolicy

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/controller/costcap"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/ratelimit"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/operations"
)

// name is the controller's name in logs and metrics.
const name = "operationspolicy.validation"

// Controller is the controller operationspolicy.validation.
type Controller struct{ deps.Shared }

// New builds the controller.
func New(shared deps.Shared) *Controller { return &Controller{shared} }

// Apply makes every creation of a NodeClaim keep to the caps of OperationsPolicies, and returns the controller that validates these.
func Apply(shared deps.Shared) *Controller {
	shared.Creations.Admission = costcap.New(shared.Client, shared.Cloud, shared.Clock)
	return New(shared)
}

// Register adds the controller to the manager.
func (c *Controller) Register(m manager.Manager) error {
	return builder.ControllerManagedBy(m).
		Named(name).
		For(&opsv1alpha1.OperationsPolicy{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{RateLimiter: ratelimit.New[reconcile.Request](100*time.Millisecond, time.Minute, 10, 100)}).
		Complete(c)
}

// Reconcile sets the conditions of one OperationsPolicy.
func (c *Controller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctx = observe.WithController(ctx, name)
	stored := &opsv1alpha1.OperationsPolicy{}
	if err := c.Client.Get(ctx, request.NamespacedName, stored); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	next := stored.DeepCopy()
	set, invalid := condition.For(next, c.Clock.Now()), operations.Validate(stored)
	if invalid == nil {
		set.True(opsv1alpha1.ConditionTypeValidationSucceeded)
	} else {
		set.False(opsv1alpha1.ConditionTypeValidationSucceeded, opsv1alpha1.ReasonRuntimeValidation, invalid.Error())
	}
	if equality.Semantic.DeepEqual(stored.Status, next.Status) {
		return reconcile.Result{}, nil
	}
	if err := c.Client.Status().Patch(ctx, next, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); err != nil {
		return requeue.OnConflict(client.IgnoreNotFound(err))
	}
	if invalid != nil {
		observe.Log(ctx).Error("operations policy is invalid, its nodepools are not disrupted", logfield.Object("OperationsPolicy", stored.Name), logfield.Error(fmt.Errorf("validating operations policy %q: %w", stored.Name, invalid)))
	}
	return reconcile.Result{}, nil
}
