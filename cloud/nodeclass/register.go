package nodeclass

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Register adds the controller to a manager, with as many workers. The deletion of a NodeClaim reconciles a deleted class, which may wait for it.
func (s *Status[C]) Register(m manager.Manager, workers int) error {
	onlyDeletions := predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, UpdateFunc: func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
	b := builder.ControllerManagedBy(m).Named("nodeclass").For(s.New()).
		Watches(&v1.NodeClaim{}, handler.EnqueueRequestsFromMapFunc(s.waitingFor), builder.WithPredicates(onlyDeletions)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers})
	if s.Changed != nil {
		b = b.WatchesRawSource(source.Channel(s.Changed, &handler.EnqueueRequestForObject{}))
	}
	if err := b.Complete(s); err != nil {
		return fmt.Errorf("registering controller %q: %w", "nodeclass", err)
	}
	return nil
}

// waitingFor is the class of a NodeClaim if it is deleted. Others do not depend on their NodeClaims: to look after them again for each one that
// ends would be calls to the cloud for nothing.
func (s *Status[C]) waitingFor(ctx context.Context, o client.Object) []reconcile.Request {
	claim, ok := o.(*v1.NodeClaim)
	if !ok || claim.Spec.NodeClassRef == nil || claim.Spec.NodeClassRef.Group != s.Group {
		return nil
	}
	key := client.ObjectKey{Name: claim.Spec.NodeClassRef.Name}
	class := s.New()
	if err := s.Client.Get(ctx, key, class); apierrors.IsNotFound(err) || err == nil && class.GetDeletionTimestamp().IsZero() {
		return nil
	}
	return []reconcile.Request{{NamespacedName: key}}
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
