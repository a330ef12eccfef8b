package nodepool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// typesPeriod is how often the instance types of a NodePool are looked at: clouds add and remove some.
const typesPeriod = 5 * time.Minute

// Validation is the controller nodepool.validation: it checks the rules for NodePools that the schema cannot express. What is wrong stops
// launches. What only has no effect is shown by conditions that readiness does not depend on, and by events.
type Validation struct {
	deps.Shared
	translator *translate.Translator
	catalogs   *translate.Catalogs
	gates      options.FeatureGates
}

// NewValidation builds the controller.
func NewValidation(shared deps.Shared, translator *translate.Translator, gates options.FeatureGates) *Validation {
	return &Validation{shared, translator, translate.NewCatalogs(translator), gates}
}

// Register adds the controller to the manager.
func (v *Validation) Register(m manager.Manager) error {
	return withClasses(m, "nodepool.validation", v.Shared).Complete(v)
}

// Reconcile validates one NodePool.
func (v *Validation) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	pool, err := managedPool(ctx, v.Shared, request)
	if pool == nil || err != nil {
		return reconcile.Result{}, err
	}
	stored := pool.DeepCopy()
	set := condition.For(pool, v.Clock.Now())
	if err := v.Cloud.ValidatePool(pool); err != nil {
		set.False(v1.ConditionTypeValidationSucceeded, "NodePoolValidationFailed", err.Error())
	} else {
		set.True(v1.ConditionTypeValidationSucceeded)
		v.showMeantKeys(pool)
	}
	v.show(pool, set, v1.ConditionTypeBudgetsValid, observe.ReasonInvalidBudget, budgetErrors(pool, v.Clock.Now()))
	reason, problem := v.unkeptReplicas(pool)
	v.show(pool, set, v1.ConditionTypeReplicasKept, reason, problem)
	if set.IsTrue(v1.ConditionTypeValidationSucceeded) {
		types, err := v.Cloud.Provider.InstanceTypes(ctx, pool)
		if err != nil {
			types = nil // the condition of the NodeClass says why
		}
		v.show(pool, set, v1.ConditionTypeInstanceTypesFound, observe.ReasonNoCompatibleInstanceTypes, v.mismatch(pool, types))
		for resource, meant := range cloud.UnknownLimits(pool, types) {
			v.Recorder.Publish(observe.UnknownLimit(pool, resource, meant))
		}
	}
	if err := writeStatus(ctx, v.Client, stored, pool); err != nil {
		return requeue.OnConflict(err)
	}
	logNewProblems(ctx, stored, pool)
	v.logUnknownValues(ctx, stored, pool)
	return reconcile.Result{RequeueAfter: typesPeriod}, nil
}

// logNewProblems writes a line for each problem of a NodePool that is not in its former status. It is called once the status is saved: saving is
// retried, and each attempt would find the problem to be new.
func logNewProblems(ctx context.Context, stored, pool *v1.NodePool) {
	for _, kind := range []string{v1.ConditionTypeBudgetsValid, v1.ConditionTypeReplicasKept, v1.ConditionTypeInstanceTypesFound} {
		before, now := meta.FindStatusCondition(stored.Status.Conditions, kind), meta.FindStatusCondition(pool.Status.Conditions, kind)
		known := before != nil && now != nil && before.Reason == now.Reason && before.Message == now.Message
		if now != nil && !known {
			line := "the nodepool has no effect as it is"
			if now.Reason == v1.ReasonNodeLimitBelowReplicas {
				line = "the node limit of the nodepool is below its replicas"
			}
			observe.Log(ctx).Error(line, logfield.Reason(now.Reason), logfield.Error(errors.New(now.Message)))
		}
	}
}

// show sets a condition to false for as long as there is a problem, with an event. Without a problem there is no such condition.
func (v *Validation) show(pool *v1.NodePool, set condition.Set, conditionType, reason, problem string) {
	if problem == "" {
		set.Clear(conditionType)
		return
	}
	set.False(conditionType, reason, problem)
	v.Recorder.Publish(observe.NodePoolProblem(pool, reason, problem))
}

// showMeantKeys publishes the keys of requirements that are allowed, but probably mistyped.
func (v *Validation) showMeantKeys(pool *v1.NodePool) {
	for _, requirement := range pool.Spec.Template.Spec.Requirements {
		if meant, ok := v.Cloud.MeantKey(requirement.Key); ok {
			v.Recorder.Publish(observe.UnknownRequirementKey(pool, requirement.Key, meant))
		}
	}
}

// logUnknownValues writes a line for each requirement of a valid NodePool that has unknown values beside known ones, once for each generation.
func (v *Validation) logUnknownValues(ctx context.Context, stored, pool *v1.NodePool) {
	before := meta.FindStatusCondition(stored.Status.Conditions, v1.ConditionTypeValidationSucceeded)
	if condition.Status(pool, v1.ConditionTypeValidationSucceeded) != metav1.ConditionTrue || before != nil && before.ObservedGeneration == pool.Generation {
		return
	}
	for _, requirement := range pool.Spec.Template.Spec.Requirements {
		if unknown := v.Cloud.Labels.UnknownValues(requirement); len(unknown) > 0 {
			observe.Log(ctx).Error("requirement has unknown values beside known ones", logfield.Key(requirement.Key), logfield.UnknownValues(unknown))
		}
	}
}

// mismatch is why the requirements of the NodePool leave no instance type; empty if they do leave some, or if the types are not known.
func (v *Validation) mismatch(pool *v1.NodePool, types []*cloud.InstanceType) string {
	if len(types) == 0 {
		return ""
	}
	p := v.translator.Pool(pool, v.catalogs.Of(types))
	if p.Catalog.Meets(p.Requirements) {
		return ""
	}
	why := unschedulable.EmptyPool(p.Requirements, p.Catalog)
	if detail := why.Detail(); detail != "" {
		return why.Headline() + ": " + detail
	}
	return why.Headline()
}

// unkeptReplicas is why a static NodePool does not get its replicas, whatever its nodes are; the problem is empty if it may, and for other
// NodePools.
func (v *Validation) unkeptReplicas(pool *v1.NodePool) (reason, problem string) {
	if pool.Spec.Replicas == nil {
		return "", ""
	}
	if !v.gates.StaticCapacity {
		return v1.ReasonStaticCapacityDisabled, "spec.replicas is set, and the feature gate StaticCapacity is off: no nodes are launched or removed to keep that number"
	}
	replicas := *pool.Spec.Replicas
	limit, limited := pool.Spec.Limits.Nodes()
	if !limited || limit >= replicas {
		return "", ""
	}
	return v1.ReasonNodeLimitBelowReplicas, fmt.Sprintf(
		"spec.replicas is %d, and spec.limits.nodes is %d: no nodes are launched beyond %d; raise limits.nodes to %d or more, or lower replicas",
		replicas, limit, limit, replicas,
	)
}

// budgetErrors are the disruption budgets that cannot be read, with their fields; empty if there are none.
func budgetErrors(pool *v1.NodePool, now time.Time) string {
	_, err := pool.AllowedDisruptions(now, 0, "")
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ") + "; no node of the NodePool is disrupted until this is corrected"
}

// sameStatus compares the status of two NodePools; quantities are compared by value.
func sameStatus(a, b *v1.NodePool) bool { return equality.Semantic.DeepEqual(a.Status, b.Status) }
