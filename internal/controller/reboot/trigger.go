package reboot

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
)

// requested passes the NodeClaims that have, or just had, the condition Rebooting or the annotation of a reboot. It only reads: the objects
// are shared with the cache.
func requested() predicate.Predicate {
	matches := func(o client.Object) bool {
		claim, ok := o.(*v1.NodeClaim)
		if !ok {
			return false
		}
		_, recorded := claim.Annotations[v1.RebootPreBootIDAnnotationKey]
		return recorded || meta.FindStatusCondition(claim.Status.Conditions, v1.ConditionTypeRebooting) != nil
	}
	out := predicate.NewPredicateFuncs(matches)
	out.UpdateFunc = func(e event.UpdateEvent) bool { return matches(e.ObjectOld) || matches(e.ObjectNew) }
	return out
}

// bootChanged keeps the events of Nodes that boot, become ready or are tainted, and of those that are found tainted after a restart. A
// heartbeat is filtered out.
func bootChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			node, ok := e.Object.(*corev1.Node)
			return ok && tainted(node)
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, isNode := e.ObjectOld.(*corev1.Node)
			is, alsoNode := e.ObjectNew.(*corev1.Node)
			return isNode && alsoNode && (was.Status.NodeInfo.BootID != is.Status.NodeInfo.BootID || nodelookup.Ready(was) != nodelookup.Ready(is) || tainted(was) != tainted(is))
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}
