// Package managed distinguishes the objects of this installation from those of other installations in the same cluster.
package managed

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// Is reports whether obj belongs to this installation: NodePools and NodeClaims by the kind of their NodeClass,
// Nodes by the label that names one. Objects of other kinds are never managed.
func Is(c cloud.Cloud, obj client.Object) bool {
	switch o := obj.(type) {
	case *v1.NodePool:
		return c.Manages(o.Spec.Template.Spec.NodeClassRef)
	case *v1.NodeClaim:
		return c.Manages(o.Spec.NodeClassRef)
	case *corev1.Node:
		return c.ManagesNode(o)
	default:
		return false
	}
}

// Predicate passes the events of managed objects.
func Predicate(c cloud.Cloud) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(obj client.Object) bool { return Is(c, obj) })
}
