package nodeclaim

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	"github.com/karpenter-anew/karpenter/internal/options"
)

// Hydration is the controller nodeclaim.hydration: it adds the label with the name of the NodeClass to NodeClaims of older versions.
type Hydration struct{ deps.Shared }

// NodeHydration is the controller node.hydration: it does the same for the Nodes of such NodeClaims.
type NodeHydration struct{ deps.Shared }

// NewHydration builds the controller for NodeClaims.
func NewHydration(shared deps.Shared) *Hydration { return &Hydration{shared} }

// NewNodeHydration builds the controller for Nodes.
func NewNodeHydration(shared deps.Shared) *NodeHydration { return &NodeHydration{shared} }

// Register adds the controller to the manager.
func (h *Hydration) Register(m manager.Manager) error {
	return builder.ControllerManagedBy(m).
		Named("nodeclaim.hydration").
		For(&v1.NodeClaim{}, builder.WithPredicates(managed.Predicate(h.Cloud))).
		WithOptions(hydrationOptions(h.CPUMillis)).
		Complete(h)
}

// Register adds the controller to the manager. Nodes are not filtered: the label that would make them managed is what
// they may lack.
func (h *NodeHydration) Register(m manager.Manager) error {
	return builder.ControllerManagedBy(m).
		Named("node.hydration").
		For(&corev1.Node{}).
		Watches(&v1.NodeClaim{}, nodelookup.ClaimToNodes(h.Client), builder.WithPredicates(managed.Predicate(h.Cloud))).
		WithOptions(hydrationOptions(h.CPUMillis)).
		Complete(h)
}

func hydrationOptions(cpuMillis int64) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: options.Scale(cpuMillis, 1000, 5000),
		RateLimiter:             ratelimit.New[reconcile.Request](100*time.Millisecond, time.Minute, 10, 100),
	}
}

// Reconcile labels one NodeClaim.
func (h *Hydration) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	claim := &v1.NodeClaim{}
	if err := h.Client.Get(ctx, request.NamespacedName, claim); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return requeue.OnConflict(labelClass(ctx, h.Shared, claim, claim))
}

// Reconcile labels one Node that has exactly one NodeClaim.
func (h *NodeHydration) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	node := &corev1.Node{}
	if err := h.Client.Get(ctx, request.NamespacedName, node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	claim, err := nodelookup.ClaimOf(ctx, h.Client, node)
	if errors.Is(err, nodelookup.NotFound) || errors.Is(err, nodelookup.Duplicate) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return requeue.OnConflict(labelClass(ctx, h.Shared, node, claim))
}

// labelClass labels obj with the name of the NodeClass of the NodeClaim. Unmanaged NodeClaims are skipped.
func labelClass(ctx context.Context, shared deps.Shared, obj client.Object, claim *v1.NodeClaim) error {
	class, ok := shared.Cloud.NodeClassFor(claim.Spec.NodeClassRef)
	name := ""
	if ok {
		name = claim.Spec.NodeClassRef.Name
	}
	if !ok || obj.GetLabels()[class.LabelKey()] == name {
		return nil
	}
	stored := obj.DeepCopyObject().(client.Object)
	obj.SetLabels(overlaid(obj.GetLabels(), map[string]string{class.LabelKey(): name}))
	if err := shared.Client.Patch(ctx, obj, client.MergeFrom(stored)); err != nil {
		return fmt.Errorf("labelling %q with its node class: %w", obj.GetName(), err)
	}
	return nil
}
