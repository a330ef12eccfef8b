package disruption

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// listed answers lists from what the watches have shown, as a cache does. The fake client takes a thousand times as long, and
// a day has many passes. It reports false for lists that it cannot answer.
func (w *world) listed(list client.ObjectList, opts []client.ListOption) bool {
	var o client.ListOptions
	o.ApplyOptions(opts)
	if o.LabelSelector != nil || o.UnsafeDisableDeepCopy == nil || !*o.UnsafeDisableDeepCopy {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch list := list.(type) {
	case *v1.NodePoolList:
		list.Items = all[v1.NodePool](w)
	case *v1.NodeClaimList:
		list.Items = all[v1.NodeClaim](w)
	case *corev1.NodeList:
		list.Items = all[corev1.Node](w)
	case *corev1.PodList:
		node, ok := "", false
		if o.FieldSelector != nil {
			node, ok = o.FieldSelector.RequiresExactMatch("spec.nodeName")
		}
		if !ok {
			return false
		}
		list.Items = slices.DeleteFunc(all[corev1.Pod](w), func(p corev1.Pod) bool { return p.Spec.NodeName != node })
	default:
		return false
	}
	return true
}

// all are the objects of one kind that exist, by name.
func all[T any, P interface {
	*T
	client.Object
}](w *world,
) []T {
	var out []T
	for _, object := range w.seen {
		if one, ok := object.(P); ok {
			out = append(out, *one)
		}
	}
	slices.SortFunc(out, func(a, b T) int { return strings.Compare(P(&a).GetName(), P(&b).GetName()) })
	return out
}
