package nodelookup

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// NodeToClaims enqueues the NodeClaims of a Node.
func NodeToClaims(r client.Reader) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		claims, err := ClaimsOf(ctx, r, obj.(*corev1.Node))
		return requests(err, claims, func(c *v1.NodeClaim) client.Object { return c })
	})
}

// ClaimToNodes enqueues the Nodes of a NodeClaim.
func ClaimToNodes(r client.Reader) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		nodes, err := NodesOf(ctx, r, obj.(*v1.NodeClaim))
		return requests(err, nodes, func(n *corev1.Node) client.Object { return n })
	})
}

// PoolToClaims enqueues the NodeClaims of a NodePool.
func PoolToClaims(r client.Reader) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		var list v1.NodeClaimList
		err := r.List(ctx, &list, client.MatchingFields{ClaimPool: obj.GetName()})
		return requests(err, list.Items, func(c *v1.NodeClaim) client.Object { return c })
	})
}

// ClaimToPool enqueues the NodePool of a NodeClaim.
func ClaimToPool() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, obj client.Object) []reconcile.Request {
		name := obj.GetLabels()[v1.NodePoolLabelKey]
		if name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: name}}}
	})
}

// ClassToClaims enqueues the NodeClaims that refer to a NodeClass of the kind.
func ClassToClaims(r client.Reader, kind schema.GroupVersionKind) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		var list v1.NodeClaimList
		err := r.List(ctx, &list, client.MatchingFields{
			ClaimClassGroup: kind.Group, ClaimClassKind: kind.Kind, ClaimClassName: obj.GetName(),
		})
		return requests(err, list.Items, func(c *v1.NodeClaim) client.Object { return c })
	})
}

// ClassToPools enqueues the NodePools that refer to a NodeClass of the kind.
func ClassToPools(r client.Reader, kind schema.GroupVersionKind) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		var list v1.NodePoolList
		err := r.List(ctx, &list, client.MatchingFields{
			PoolClassGroup: kind.Group, PoolClassKind: kind.Kind, PoolClassName: obj.GetName(),
		})
		return requests(err, list.Items, func(p *v1.NodePool) client.Object { return p })
	})
}

// requests returns requests for the items. After a failed lookup there are none: reads come from the local cache, which fails only while
// the process stops or if an index is missing, and every controller also requeues its objects.
func requests[T any](err error, items []T, object func(*T) client.Object) []reconcile.Request {
	if err != nil {
		return nil
	}
	out := make([]reconcile.Request, len(items))
	for i := range items {
		out[i].NamespacedName = client.ObjectKeyFromObject(object(&items[i]))
	}
	return out
}
