package repair

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/karpenter-anew/karpenter/cloud"
)

// healthChanged keeps the events that may change whether a Node is unhealthy: a new Node, one that has become managed, and changed
// conditions. A heartbeat of an unchanged condition is filtered out.
func healthChanged(c cloud.Cloud) predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, isNode := e.ObjectOld.(*corev1.Node)
			is, alsoNode := e.ObjectNew.(*corev1.Node)
			if !isNode || !alsoNode {
				return false
			}
			return !c.ManagesNode(was) || !slices.EqualFunc(was.Status.Conditions, is.Status.Conditions, sameState)
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// sameState reports whether a condition has the same status for the same reason since the same time.
func sameState(a, b corev1.NodeCondition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.LastTransitionTime.Equal(&b.LastTransitionTime)
}
