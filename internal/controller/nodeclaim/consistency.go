package nodeclaim

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

const (
	// consistencyPeriod is the time between two checks of a NodeClaim.
	consistencyPeriod = 10 * time.Minute
	// minCapacityShare is the share of the expected capacity that a Node must have.
	minCapacityShare = 0.9
)

// Consistency is the controller nodeclaim.consistency: it compares the capacity of Nodes with that of the launched instance type.
// Nothing acts on the result.
type Consistency struct {
	deps.Shared
	checked *ttlcache.Cache[claimID, struct{}]
}

// NewConsistency builds the controller.
func NewConsistency(shared deps.Shared) *Consistency {
	return &Consistency{Shared: shared, checked: ttlcache.New[claimID, struct{}](shared.Clock, consistencyPeriod)}
}

// Register adds the controller to the manager.
func (c *Consistency) Register(m manager.Manager) error {
	return builder.ControllerManagedBy(m).
		Named("nodeclaim.consistency").
		For(&v1.NodeClaim{}, builder.WithPredicates(managed.Predicate(c.Cloud))).
		Watches(&corev1.Node{}, nodelookup.NodeToClaims(c.Client)).
		WithOptions(controller.Options{MaxConcurrentReconciles: options.Scale(c.CPUMillis, 10, 1000)}).
		Complete(c)
}

// Reconcile checks one NodeClaim, at most once per period.
func (c *Consistency) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	claim := &v1.NodeClaim{}
	if err := c.Client.Get(ctx, request.NamespacedName, claim); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !managed.Is(c.Cloud, claim) || claim.DeletionTimestamp != nil || claim.Status.ProviderID == "" {
		return reconcile.Result{}, nil
	}
	if _, rest := c.checked.GetWithTTL(claim.UID); rest > 0 {
		return requeue.After(rest), nil
	}
	node, err := nodelookup.NodeOf(ctx, c.Client, claim)
	if errors.Is(err, nodelookup.NotFound) || errors.Is(err, nodelookup.Duplicate) {
		c.checked.Set(claim.UID, struct{}{})
		return requeue.After(consistencyPeriod), nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := c.check(ctx, claim, node); err != nil {
		return requeue.OnConflict(err)
	}
	c.checked.Set(claim.UID, struct{}{})
	return requeue.After(consistencyPeriod), nil
}

// check publishes the issues of a Node and writes the condition.
func (c *Consistency) check(ctx context.Context, claim *v1.NodeClaim, node *corev1.Node) error {
	stored := claim.DeepCopy()
	set := condition.For(claim, c.Clock.Now())
	var issues []string
	if set.IsTrue(v1.ConditionTypeInitialized) {
		issues = shapeIssues(claim, node)
	}
	for _, issue := range issues {
		observe.Log(ctx).Info("failed consistency check", logfield.Issue(issue))
		c.Recorder.Publish(observe.FailedConsistencyCheck(claim, issue))
	}
	if len(issues) > 0 {
		set.False(v1.ConditionTypeConsistentStateFound, "ConsistencyCheckFailed", "Consistency Check Failed")
	} else {
		set.True(v1.ConditionTypeConsistentStateFound)
	}
	if equality.Semantic.DeepEqual(stored.Status, claim.Status) {
		return nil
	}
	return c.Client.Status().Patch(ctx, claim, optimistic(stored))
}

// shapeIssues lists, by name, the requested resources of which the Node has less than minCapacityShare of the expected capacity.
func shapeIssues(claim *v1.NodeClaim, node *corev1.Node) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(claim.Spec.Resources.Requests)) {
		requested, expected := claim.Spec.Resources.Requests[name], claim.Status.Capacity[name]
		if requested.IsZero() || expected.IsZero() {
			continue
		}
		found := node.Status.Capacity[name]
		if share := found.AsApproximateFloat64() / expected.AsApproximateFloat64(); share < minCapacityShare {
			out = append(out, observe.NodeShapeIssue(name, expected, found))
		}
	}
	return out
}
