package nomination

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
)

// Follow counts what becomes of nominations. It never adds to the queue.
func (n *Nominator) Follow() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ queue) { n.see(e.ObjectNew.(*corev1.Pod)) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) { n.forget(e.Object.GetUID()) },
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

// remember keeps a nomination that was written, in place of an earlier one of the pod.
func (n *Nominator) remember(ours *nominated) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if before := n.pods[ours.UID]; before != nil {
		n.leave(before)
	}
	n.pods[ours.UID] = ours
	if n.nodes[ours.node] == nil {
		n.nodes[ours.node] = map[types.UID]*nominated{}
	}
	n.nodes[ours.node][ours.UID] = ours
}

// end counts what became of a nomination, once.
func (n *Nominator) end(ours *nominated, result string) {
	if !ours.over {
		n.count(result)
	}
	n.leave(ours)
}

// leave takes a nomination from its node.
func (n *Nominator) leave(ours *nominated) {
	ours.over = true
	if delete(n.nodes[ours.node], ours.UID); len(n.nodes[ours.node]) == 0 {
		delete(n.nodes, ours.node)
	}
}

// forget drops a pod that was deleted.
func (n *Nominator) forget(uid types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ours := n.pods[uid]; ours != nil {
		n.end(ours, deleted)
		delete(n.pods, uid)
	}
}

// on returns the pods that are nominated to a node for at least a time, by namespace and name.
func (n *Nominator) on(node string, since time.Duration) []nominated {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []nominated
	for _, p := range n.nodes[node] {
		if n.Clock.Since(p.at) >= since {
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
		err := n.Client.Get(ctx, p.NamespacedName, pod)
		switch {
		case apierrors.IsNotFound(err), err == nil && pod.UID != p.UID:
			n.forget(p.UID)
			continue
		case err != nil:
			continue
		case pod.Spec.NodeName != "": // its event may have come before the answer of the write
			n.see(pod)
			continue
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
	return nodelookup.Ready(node) && !node.Spec.Unschedulable && !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		expected := unregistered(t) || slices.ContainsFunc(claim.Spec.Taints, func(c corev1.Taint) bool { return c.MatchTaint(&t) && c.Value == t.Value })
		return t.Effect != corev1.TaintEffectPreferNoSchedule && !expected
	})
}

// unregistered reports whether a taint is the one that nodes have until they are registered.
func unregistered(t corev1.Taint) bool { return t.MatchTaint(new(v1.UnregisteredNoExecuteTaint())) }
