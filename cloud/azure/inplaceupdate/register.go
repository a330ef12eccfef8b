package inplaceupdate

import (
	"context"
	"fmt"
	"maps"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

const (
	controllerName = "nodeclaim.inplaceupdate"
	// workers are how many instances are updated at once.
	workers = 10
	// retryLeast and retryMost bound the pause after an error, which doubles from one error of a NodeClaim to the next.
	retryLeast = 2 * time.Second
	retryMost  = 10 * time.Minute
)

// Register adds the controller to a manager.
func (c *Controller) Register(m manager.Manager) error {
	err := builder.ControllerManagedBy(m).Named(controllerName).For(&v1.NodeClaim{}, builder.WithPredicates(claimChanges())).
		Watches(&v1beta1.AKSNodeClass{}, handler.EnqueueRequestsFromMapFunc(c.claimsOf), builder.WithPredicates(tagChanges())).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryLeast, retryMost),
		}).Complete(c)
	if err != nil {
		return fmt.Errorf("registering controller %q: %w", controllerName, err)
	}
	return nil
}

// claimChanges are new NodeClaims, which are all of them at the start, and changes of their specification.
func claimChanges() predicate.Predicate {
	changes := predicate.GenerationChangedPredicate{}
	return predicate.Funcs{
		UpdateFunc: changes.Update, DeleteFunc: func(event.DeleteEvent) bool { return true }, GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// tagChanges are new classes, and changes of their tags. Nothing else of a class is updated in place.
func tagChanges() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, isClass := e.ObjectOld.(*v1beta1.AKSNodeClass)
			after, stillClass := e.ObjectNew.(*v1beta1.AKSNodeClass)
			return isClass && stillClass && !maps.Equal(before.Spec.Tags, after.Spec.Tags)
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false }, GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// claimsOf are the NodeClaims of a class.
func (c *Controller) claimsOf(ctx context.Context, class client.Object) []reconcile.Request {
	claims := &v1.NodeClaimList{}
	if err := c.Client.List(ctx, claims); err != nil {
		// The list comes from the cache of the manager, and fails only at shutdown; after a restart all NodeClaims are looked at.
		observe.Log(ctx).ErrorContext(ctx, "cannot list the nodeclaims of an aksnodeclass", logfield.Value(class.GetName()), logfield.Error(err))
		return nil
	}
	var out []reconcile.Request
	for i := range claims.Items {
		if ref := claims.Items[i].Spec.NodeClassRef; c.Manages(ref) && ref.Name == class.GetName() {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKey{Name: claims.Items[i].Name}})
		}
	}
	return out
}
