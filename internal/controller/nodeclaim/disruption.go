package nodeclaim

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/drift"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/problem"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

const (
	// driftPeriod is how often drift is checked without any event.
	driftPeriod = 5 * time.Minute
	// unevaluatedRetry is the delay before the next check of a NodePool for which no NodeOverlays have been evaluated yet.
	unevaluatedRetry = 10 * time.Second
	// offeredFrom is the age from which the instance type of a NodeClaim is checked; before that the list of instance types may lag.
	offeredFrom = time.Hour
	// offeredPeriod is how long a successful check of the instance type is valid.
	offeredPeriod = 30 * time.Minute
)

// Disruption is the controller nodeclaim.disruption: it sets the conditions Drifted and Consolidatable, which the disruption
// controller acts on.
//
// It does not watch pods: what pods do to consolidation arrives through the claim's lastPodEventTime, and drift does not
// depend on them.
type Disruption struct {
	deps.Shared
	offered *ttlcache.Cache[claimID, struct{}]
	results *ttlcache.Cache[claimID, driftResult]
}

// driftResult is what the provider returned, and for which inputs.
type driftResult struct {
	inputs driftInputs
	reason cloud.DriftReason
}

// NewDisruption builds the controller.
func NewDisruption(shared deps.Shared) *Disruption {
	return &Disruption{
		Shared:  shared,
		offered: ttlcache.New[claimID, struct{}](shared.Clock, offeredPeriod),
		results: ttlcache.New[claimID, driftResult](shared.Clock, driftPeriod),
	}
}

// Register adds the controller to the manager.
func (d *Disruption) Register(m manager.Manager) error {
	b := builder.ControllerManagedBy(m).
		Named("nodeclaim.disruption").
		For(&v1.NodeClaim{}, builder.WithPredicates(managed.Predicate(d.Cloud))).
		Watches(&v1.NodePool{}, nodelookup.PoolToClaims(d.Client), builder.WithPredicates(managed.Predicate(d.Cloud), edited())).
		WithOptions(controller.Options{MaxConcurrentReconciles: options.Scale(d.CPUMillis, 10, 1000)})
	for _, class := range d.Cloud.NodeClasses {
		b = b.Watches(class.New(), nodelookup.ClassToClaims(d.Client, class.GVK))
	}
	return b.Complete(d)
}

// edited leaves out changes of the status of NodePools: their usage changes whenever a node comes or goes, and each of these changes would
// have all NodeClaims of the pool checked. Hashes are annotations.
func edited() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
}

// Reconcile updates both conditions of one NodeClaim in one write.
func (d *Disruption) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctx = observe.WithController(ctx, "nodeclaim.disruption")
	claim := &v1.NodeClaim{}
	if err := d.Client.Get(ctx, request.NamespacedName, claim); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !managed.Is(d.Cloud, claim) || claim.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	pool := &v1.NodePool{}
	name, ok := claim.Labels[v1.NodePoolLabelKey]
	if !ok {
		return reconcile.Result{}, nil
	}
	if err := d.Client.Get(ctx, types.NamespacedName{Name: name}, pool); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	// Missing conditions alone are not worth a write: it would compete with the launch, which writes them too.
	condition.For(claim, d.Clock.Now())
	stored := claim.DeepCopy()
	drifted := d.markDrift(ctx, pool, claim)
	consolidation := d.markConsolidatable(pool, claim)
	if !equality.Semantic.DeepEqual(stored.Status, claim.Status) {
		if err := d.Client.Status().Patch(ctx, claim, optimistic(stored)); err != nil {
			return requeue.OnConflict(err)
		}
	}
	return drifted.and(consolidation).result()
}

// markConsolidatable sets or clears Consolidatable. Static NodePools are never consolidated.
func (d *Disruption) markConsolidatable(pool *v1.NodePool, claim *v1.NodeClaim) outcome {
	now := d.Clock.Now()
	set := condition.For(claim, now)
	if !dynamic(pool) {
		return outcome{}
	}
	yes, wait := problem.Consolidatable(pool.Spec.Disruption.ConsolidateAfter.Duration, set.Get(v1.ConditionTypeInitialized), claim.Status.LastPodEventTime, now)
	if yes {
		set.True(v1.ConditionTypeConsolidatable)
	} else {
		set.Clear(v1.ConditionTypeConsolidatable)
	}
	return outcome{after: wait}
}

// markDrift sets or clears Drifted.
func (d *Disruption) markDrift(ctx context.Context, pool *v1.NodePool, claim *v1.NodeClaim) outcome {
	set := condition.For(claim, d.Clock.Now())
	if !set.IsTrue(v1.ConditionTypeLaunched) {
		set.Clear(v1.ConditionTypeDrifted)
		return outcome{}
	}
	reason, err := d.drift(ctx, pool, claim)
	switch {
	case cloud.IsUnevaluatedNodePool(err):
		return outcome{after: unevaluatedRetry}
	case cloud.IgnoreNodeClaimNotFound(err) != nil:
		return outcome{err: fmt.Errorf("checking drift of nodeclaim %q: %w", claim.Name, err)}
	case err != nil:
		// The instance is gone: garbage collection deletes the NodeClaim.
		return outcome{after: driftPeriod}
	case reason == "":
		set.Clear(v1.ConditionTypeDrifted)
	default:
		set.TrueWithReason(v1.ConditionTypeDrifted, string(reason), string(reason))
	}
	return outcome{after: driftPeriod}
}

// drift returns the first reason why the NodeClaim differs from what would be launched today.
func (d *Disruption) drift(ctx context.Context, pool *v1.NodePool, claim *v1.NodeClaim) (cloud.DriftReason, error) {
	if reason := drift.OfTemplate(pool, claim, d.Cloud.Labels); reason != "" {
		return reason, nil
	}
	now := d.Clock.Now()
	if _, recent := d.offered.Get(claim.UID); !recent && now.Sub(claim.CreationTimestamp.Time) >= offeredFrom {
		instanceTypes, err := d.Cloud.Provider.InstanceTypes(ctx, pool)
		if err != nil {
			return "", fmt.Errorf("listing instance types of nodepool %q: %w", pool.Name, err)
		}
		if !drift.StillOffered(instanceTypes, claim, d.Cloud) {
			return cloud.InstanceTypeNotFound, nil
		}
		d.offered.Set(claim.UID, struct{}{})
	}
	return d.providerDrift(ctx, pool, claim)
}

// providerDrift calls the provider, or reuses its last result while nothing that it depends on has changed.
func (d *Disruption) providerDrift(ctx context.Context, pool *v1.NodePool, claim *v1.NodeClaim) (cloud.DriftReason, error) {
	inputs := driftInputs{
		poolGeneration: pool.Generation, claimGeneration: claim.Generation,
		classVersion: d.classVersion(ctx, claim.Spec.NodeClassRef), labels: labelText(claim.Labels),
	}
	if last, ok := d.results.Get(claim.UID); ok && last.inputs == inputs {
		return last.reason, nil
	}
	reason, err := d.Cloud.Provider.IsDrifted(ctx, claim)
	if err != nil {
		return "", err
	}
	d.results.Set(claim.UID, driftResult{inputs: inputs, reason: reason})
	return reason, nil
}

// classVersion is the resource version of the NodeClass, or empty when it cannot be read: then the provider decides what that means.
func (d *Disruption) classVersion(ctx context.Context, ref *v1.NodeClassReference) string {
	class, ok := d.Cloud.NodeClassFor(ref)
	if !ok {
		return ""
	}
	object := class.New()
	if err := d.Client.Get(ctx, types.NamespacedName{Name: ref.Name}, object); err != nil {
		return ""
	}
	return object.GetResourceVersion()
}

// dynamic reports whether the NodePool is sized by its pods instead of a fixed number of replicas.
func dynamic(pool *v1.NodePool) bool { return pool.Spec.Replicas == nil }
