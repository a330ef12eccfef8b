// Package nodepool maintains the status of NodePools: the hash of their template, the resources in use, and the conditions for their
// validation, NodeClass and registration health.
//
// Source: spec NodeClaim and NodePool lifecycle, NodePool hash, counter, readiness, validation, registration health.
package nodepool

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// Readiness is the controller nodepool.readiness: it copies the readiness of the NodeClass to the NodePool.
type Readiness struct{ deps.Shared }

// NewReadiness builds the controller.
func NewReadiness(shared deps.Shared) *Readiness { return &Readiness{shared} }

// Register adds the controller to the manager.
func (r *Readiness) Register(m manager.Manager) error {
	return withClasses(m, "nodepool.readiness", r.Shared).Complete(r)
}

// withClasses builds a controller that reconciles a managed NodePool whenever it or its NodeClass changes.
func withClasses(m manager.Manager, name string, shared deps.Shared) *builder.Builder {
	b := builder.ControllerManagedBy(m).
		Named(name).
		For(&v1.NodePool{}, builder.WithPredicates(managed.Predicate(shared.Cloud))).
		WithOptions(controller.Options{MaxConcurrentReconciles: options.Scale(shared.CPUMillis, 10, 1000)})
	for _, class := range shared.Cloud.NodeClasses {
		b = b.Watches(class.New(), nodelookup.ClassToPools(shared.Client, class.GVK))
	}
	return b
}

// Reconcile sets the condition of one NodePool.
func (r *Readiness) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	pool, err := managedPool(ctx, r.Shared, request)
	if pool == nil || err != nil {
		return reconcile.Result{}, err
	}
	class, err := classOf(ctx, r.Shared, pool)
	if err != nil {
		return reconcile.Result{}, err
	}
	stored := pool.DeepCopy()
	set := condition.For(pool, r.Clock.Now())
	if reason, message := unreadiness(class); reason != "" {
		set.False(v1.ConditionTypeNodeClassReady, reason, message)
	} else {
		set.True(v1.ConditionTypeNodeClassReady)
	}
	return requeue.OnConflict(writeStatus(ctx, r.Client, stored, pool))
}

// unreadiness is why a NodeClass is not ready; nil stands for one that does not exist. The reason is empty if it is ready.
func unreadiness(class cloud.NodeClassObject) (reason, message string) {
	if class == nil {
		return "NodeClassNotFound", "NodeClass not found on cluster"
	}
	if class.GetDeletionTimestamp() != nil {
		return "NodeClassTerminating", "NodeClass is Terminating"
	}
	ready := meta.FindStatusCondition(*class.ConditionList(), v1.ConditionTypeReady)
	switch {
	case ready == nil || ready.Status == metav1.ConditionUnknown:
		return "NodeClassReadinessUnknown", "Node Class Readiness Unknown"
	case ready.Status == metav1.ConditionFalse:
		return ready.Reason, ready.Message
	default:
		return "", ""
	}
}

// managedPool reads the NodePool of a request; nil if it is gone or not managed.
func managedPool(ctx context.Context, shared deps.Shared, request reconcile.Request) (*v1.NodePool, error) {
	pool := &v1.NodePool{}
	if err := shared.Client.Get(ctx, request.NamespacedName, pool); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !managed.Is(shared.Cloud, pool) {
		return nil, nil
	}
	return pool, nil
}

// classOf reads the NodeClass of a managed NodePool; nil if it does not exist.
func classOf(ctx context.Context, shared deps.Shared, pool *v1.NodePool) (cloud.NodeClassObject, error) {
	ref := pool.Spec.Template.Spec.NodeClassRef
	kind, ok := shared.Cloud.NodeClassFor(ref)
	if !ok {
		return nil, nil
	}
	class := kind.New()
	err := shared.Client.Get(ctx, types.NamespacedName{Name: ref.Name}, class)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting node class %q: %w", ref.Name, err)
	}
	return class, nil
}

// writeStatus writes the changes of the status, with an optimistic lock.
func writeStatus(ctx context.Context, c client.Client, stored, pool *v1.NodePool) error {
	if sameStatus(stored, pool) {
		return nil
	}
	patch := client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})
	if err := c.Status().Patch(ctx, pool, patch); err != nil {
		return fmt.Errorf("writing status of nodepool %q: %w", pool.Name, err)
	}
	return nil
}
