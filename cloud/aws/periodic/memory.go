// Package periodic has the periodic tasks of the provider: it refreshes the instance types and offerings of EC2, deletes unused launch
// templates, and deletes orphaned instance profiles.
//
// Source: AWS provider specification, controllers.
package periodic

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/catalog"
)

// memoryName is the name of the controller in logs and metrics.
const memoryName = "providers.instancetype.capacity"

// MemoryDiscovery learns the actual memory of an instance type from every registered node. It watches NodeClaims, which name
// their node.
type MemoryDiscovery struct {
	Catalog *catalog.Catalog
	Client  client.Client
	// Manages reports whether a claim belongs to this provider.
	Manages func(*v1.NodeClassReference) bool
}

// Reconcile reads the node of one claim.
func (c MemoryDiscovery) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	claim := &v1.NodeClaim{}
	if err := c.Client.Get(ctx, req.NamespacedName, claim); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !c.Manages(claim.Spec.NodeClassRef) || claim.Status.NodeName == "" || !registered(claim) {
		return reconcile.Result{}, nil
	}
	node := &corev1.Node{}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: claim.Status.NodeName}, node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if err := c.Catalog.LearnMemory(ctx, claim, node); err != nil {
		return reconcile.Result{}, fmt.Errorf("learning the memory of node %q: %w", node.Name, err)
	}
	return reconcile.Result{}, nil
}

func registered(claim *v1.NodeClaim) bool {
	return condition.Status(claim, v1.ConditionTypeRegistered) == metav1.ConditionTrue
}

// Register adds the controller. It reconciles a claim when it becomes registered, or is registered at startup.
func (c MemoryDiscovery) Register(m manager.Manager) error {
	is := func(o client.Object) bool {
		claim, ok := o.(*v1.NodeClaim)
		return ok && registered(claim)
	}
	news := predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return is(e.Object) },
		UpdateFunc:  func(e event.UpdateEvent) bool { return is(e.ObjectNew) && !is(e.ObjectOld) },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
	if err := builder.ControllerManagedBy(m).Named(memoryName).For(&v1.NodeClaim{}, builder.WithPredicates(news)).Complete(c); err != nil {
		return fmt.Errorf("registering controller %q: %w", memoryName, err)
	}
	return nil
}
