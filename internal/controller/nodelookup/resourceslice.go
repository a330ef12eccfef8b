package nodelookup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// SlicesOf lists the ResourceSlices of a Node: those for this Node alone, and those that it owns. The objects are shared
// with the cache and must not be changed.
func SlicesOf(ctx context.Context, r client.Reader, nodeName string) ([]resourcev1.ResourceSlice, error) {
	var list resourcev1.ResourceSliceList
	if err := r.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing resource slices of node %q: %w", nodeName, err)
	}
	var out []resourcev1.ResourceSlice
	for i := range list.Items {
		s := &list.Items[i]
		if s.Spec.NodeName != nil && *s.Spec.NodeName == nodeName || sliceOwner(s) == nodeName {
			out = append(out, *s)
		}
	}
	return out, nil
}

// SliceToClaims enqueues the NodeClaims of the Node that a ResourceSlice is for or belongs to.
func SliceToClaims(r client.Reader) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		s := obj.(*resourcev1.ResourceSlice)
		name := sliceOwner(s)
		if s.Spec.NodeName != nil && *s.Spec.NodeName != "" {
			name = *s.Spec.NodeName
		}
		var node corev1.Node
		if name == "" || r.Get(ctx, client.ObjectKey{Name: name}, &node) != nil {
			return nil
		}
		claims, err := ClaimsOf(ctx, r, &node)
		return requests(err, claims, func(c *v1.NodeClaim) client.Object { return c })
	})
}

// sliceOwner is the first Node that owns the slice, or empty.
func sliceOwner(s *resourcev1.ResourceSlice) string {
	for _, owner := range s.OwnerReferences {
		if owner.Kind == "Node" {
			return owner.Name
		}
	}
	return ""
}
