package nodepool

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// Validation is the controller nodepool.validation: it checks the rules for NodePools that the schema cannot express.
type Validation struct{ deps.Shared }

// NewValidation builds the controller.
func NewValidation(shared deps.Shared) *Validation { return &Validation{shared} }

// Register adds the controller to the manager.
func (v *Validation) Register(m manager.Manager) error {
	return builder.ControllerManagedBy(m).
		Named("nodepool.validation").
		For(&v1.NodePool{}, builder.WithPredicates(managed.Predicate(v.Cloud))).
		WithOptions(controller.Options{MaxConcurrentReconciles: 10}).
		Complete(v)
}

// Reconcile validates one NodePool.
func (v *Validation) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	pool, err := managedPool(ctx, v.Shared, request)
	if pool == nil || err != nil {
		return reconcile.Result{}, err
	}
	stored := pool.DeepCopy()
	set := condition.For(pool, v.Clock.Now())
	if err := pool.RuntimeValidate(v.Cloud.Labels); err != nil {
		set.False(v1.ConditionTypeValidationSucceeded, "NodePoolValidationFailed", err.Error())
	} else {
		set.True(v1.ConditionTypeValidationSucceeded)
		for _, requirement := range pool.Spec.Template.Spec.Requirements {
			if unknown := v.Cloud.Labels.UnknownValues(requirement); len(unknown) > 0 {
				observe.Log(ctx).Error("requirement has unknown values beside known ones", "key", requirement.Key, "unknown", unknown)
			}
		}
	}
	return requeue.OnConflict(writeStatus(ctx, v.Client, stored, pool))
}

// sameStatus compares the status of two NodePools; quantities are compared by value.
func sameStatus(a, b *v1.NodePool) bool { return equality.Semantic.DeepEqual(a.Status, b.Status) }
