package disruption

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// got serves reads from what the watches have delivered, as a cache does. The fake client writes JSON and reads it again, which
// takes a thousand times as long, and a day has many passes. It reports false for objects that it does not have.
func (w *harness) got(key client.ObjectKey, into client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	known, ok := w.seen[seenKey(into, key)]
	if ok {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(known.DeepCopyObject()).Elem())
	}
	return ok
}

// listed does for lists what got does for one object. It reports false for lists that it cannot serve.
func (w *harness) listed(list client.ObjectList, opts []client.ListOption) bool {
	var o client.ListOptions
	o.ApplyOptions(opts)
	if o.LabelSelector != nil || o.Namespace != "" {
		return false
	}
	ofNode := ""
	if o.FieldSelector != nil {
		name, ok := o.FieldSelector.RequiresExactMatch("spec.nodeName")
		if _, pods := list.(*corev1.PodList); !pods || !ok {
			return false
		}
		ofNode = name
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	shared := o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy
	switch list := list.(type) {
	case *v1.NodePoolList:
		list.Items = all[v1.NodePool](w, shared)
	case *v1.NodeClaimList:
		list.Items = all[v1.NodeClaim](w, shared)
	case *corev1.NodeList:
		list.Items = all[corev1.Node](w, shared)
	case *corev1.PodList:
		list.Items = all[corev1.Pod](w, shared)
		if o.FieldSelector != nil {
			list.Items = slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.Spec.NodeName != ofNode })
		}
	default:
		return false
	}
	return true
}

// all are the objects of one kind that exist, by namespace and name; copies unless the caller shares them with the watches.
func all[T any, P interface {
	*T
	client.Object
}](w *harness, shared bool,
) []T {
	var found []P
	for _, object := range w.seen {
		if one, ok := object.(P); ok {
			found = append(found, one)
		}
	}
	slices.SortFunc(found, func(a, b P) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	out := make([]T, len(found))
	for i, one := range found {
		if !shared {
			one = one.DeepCopyObject().(P)
		}
		out[i] = *one
	}
	return out
}
