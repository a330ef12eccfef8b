package nodeclass

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Register adds the controller to a manager, with as many workers. The deletion of a NodeClaim reconciles its class, which may wait for it.
func (s *Status[C]) Register(m manager.Manager, workers int) error {
	onlyDeletions := predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, UpdateFunc: func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
	classOf := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		claim, ok := o.(*v1.NodeClaim)
		if !ok || claim.Spec.NodeClassRef == nil || claim.Spec.NodeClassRef.Group != s.Group {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: claim.Spec.NodeClassRef.Name}}}
	})
	err := builder.ControllerManagedBy(m).Named("nodeclass").For(s.New()).
		Watches(&v1.NodeClaim{}, classOf, builder.WithPredicates(onlyDeletions)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).Complete(s)
	if err != nil {
		return fmt.Errorf("registering controller %q: %w", "nodeclass", err)
	}
	return nil
}

// Register adds the controller to a manager, with as many workers.
func (h *Hasher[C]) Register(m manager.Manager, workers int) error {
	err := builder.ControllerManagedBy(m).Named("nodeclass.hash").For(h.New()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).Complete(h)
	if err != nil {
		return fmt.Errorf("registering controller %q: %w", "nodeclass.hash", err)
	}
	return nil
}
