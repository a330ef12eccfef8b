package nomination

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Follow counts what becomes of nominations. It never adds to the queue.
func (n *Nominator) Follow() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ queue) { n.see(e.ObjectNew.(*corev1.Pod)) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) {
			if pod := e.Object.(*corev1.Pod); n.forget(pod.UID) {
				n.count(deleted)
			}
		},
	}
}

// see compares a pod with its nomination.
func (n *Nominator) see(pod *corev1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	ours := n.pods[pod.UID]
	if ours == nil {
		return
	}
	switch {
	case pod.Spec.NodeName == ours.node:
		n.end(ours, bound)
	case pod.Spec.NodeName != "":
		n.end(ours, boundElsewhere)
	case pod.Status.NominatedNodeName == ours.node:
		ours.shown = true
		return
	default:
		if ours.shown { // before, the event may be older than the nomination
			n.end(ours, cleared)
		}
		return
	}
	delete(n.pods, pod.UID)
}

// end counts what became of a nomination, once.
func (n *Nominator) end(ours *nominated, result string) {
	if !ours.over {
		n.count(result)
	}
	ours.over = true
}

// forget drops a pod, and reports whether it had a nomination of ours.
func (n *Nominator) forget(uid types.UID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	ours := n.pods[uid]
	delete(n.pods, uid)
	return ours != nil && !ours.over
}

// on returns the pods that are nominated to a node for at least a time, by namespace and name.
func (n *Nominator) on(node string, since time.Duration) []nominated {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []nominated
	for _, p := range n.pods {
		if p.node == node && !p.over && n.Clock.Since(p.at) >= since {
			out = append(out, *p)
		}
	}
	slices.SortFunc(out, func(a, b nominated) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// withdraw removes nominations that are still ours. One that cannot be removed is left to kube-scheduler.
func (n *Nominator) withdraw(ctx context.Context, list []nominated) {
	for _, p := range list {
		pod := &corev1.Pod{}
		if err := n.Client.Get(ctx, p.NamespacedName, pod); err != nil || pod.UID != p.UID || pod.Spec.NodeName != "" {
			continue // the event tells
		}
		result := cleared
		if pod.Status.NominatedNodeName == p.node {
			result = withdrawn
			if err := n.write(ctx, pod, nil); err != nil {
				continue
			}
		}
		n.mu.Lock()
		if ours := n.pods[p.UID]; ours != nil && ours.node == p.node {
			n.end(ours, result)
		}
		n.mu.Unlock()
	}
}

// leaving reports whether a node is to go.
func leaving(node *corev1.Node, claim *v1.NodeClaim) bool {
	return node.DeletionTimestamp != nil || claim.DeletionTimestamp != nil ||
		slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == v1.DisruptedTaintKey })
}

// takesPods reports whether a node is ready, with no taint but those that the pods planned on it tolerate, and that of registration.
func takesPods(node *corev1.Node, claim *v1.NodeClaim) bool {
	ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	return ready && !node.Spec.Unschedulable && !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		expected := t.MatchTaint(new(v1.UnregisteredNoExecuteTaint())) || slices.ContainsFunc(claim.Spec.Taints, func(c corev1.Taint) bool { return c.MatchTaint(&t) && c.Value == t.Value })
		return t.Effect != corev1.TaintEffectPreferNoSchedule && !expected
	})
}

// hasTaint reports whether a node has a taint, whatever its value.
func hasTaint(node *corev1.Node, taint corev1.Taint) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
}
