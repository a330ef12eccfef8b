package static

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/cluster"
)

// mayNeedMore keeps the events after which a pool may need more NodeClaims: it appeared, its replicas changed, or it became
// ready.
func mayNeedMore() predicate.Predicate {
	return onPool(func(was, is *v1.NodePool) bool {
		return resized(was, is) ||
			condition.Status(was, v1.ConditionTypeReady) != "True" && condition.Status(is, v1.ConditionTypeReady) == "True"
	})
}

// mayNeedFewer keeps the events after which a pool may need fewer NodeClaims: it appeared, or its replicas changed.
func mayNeedFewer() predicate.Predicate { return onPool(resized) }

func resized(was, is *v1.NodePool) bool {
	return is.Spec.Replicas != nil && (was.Spec.Replicas == nil || *was.Spec.Replicas != *is.Spec.Replicas)
}

// onPool keeps the creation of static NodePools and the updates that matter.
func onPool(matters func(was, is *v1.NodePool) bool) predicate.Predicate {
	static := func(o client.Object) bool {
		pool, ok := o.(*v1.NodePool)
		return ok && pool.Spec.Replicas != nil
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return static(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, okWas := e.ObjectOld.(*v1.NodePool)
			is, okIs := e.ObjectNew.(*v1.NodePool)
			return okWas && okIs && static(is) && matters(was, is)
		},
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// onNodeClaimCountsChange triggers a pool whenever the number of its NodeClaims changed. It follows the cluster state instead of the API
// server, so that the reconcile counts the change.
func onNodeClaimCountsChange(store *cluster.Store) source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		store.Pools.OnChange(func(pool string) {
			if pool != "" {
				queue.Add(reconcile.Request{NamespacedName: client.ObjectKey{Name: pool}})
			}
		})
		return nil
	})
}
