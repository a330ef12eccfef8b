package reboot

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// requested passes the NodeClaims that have the condition Rebooting, with any status. It only reads: the objects are shared with the
// cache.
func requested() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool {
		claim, ok := o.(*v1.NodeClaim)
		return ok && meta.FindStatusCondition(claim.Status.Conditions, v1.ConditionTypeRebooting) != nil
	})
}

// bootChanged keeps the events of Nodes that appear, that boot, become ready or are tainted. A heartbeat is filtered out.
func bootChanged() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, isNode := e.ObjectOld.(*corev1.Node)
			is, alsoNode := e.ObjectNew.(*corev1.Node)
			return isNode && alsoNode && (was.Status.NodeInfo.BootID != is.Status.NodeInfo.BootID || nodeReady(was) != nodeReady(is) || tainted(was) != tainted(is))
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}
