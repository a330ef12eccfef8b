package join

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// taintCilium is on nodes until Cilium runs there, labelCilium on nodes whose dataplane it is.
	taintCilium = "node.cilium.io/agent-not-ready"
	labelCilium = "kubernetes.azure.com/ebpf-dataplane"
	// ciliumPace is how often nodes are looked at.
	ciliumPace = 500 * time.Millisecond
)

// runCilium removes the startup taint of Cilium from ready nodes until ctx ends, as its agent there does.
func (j *Joiner) runCilium(ctx context.Context) {
	ticker := j.o.Clock.NewTicker(ciliumPace)
	defer ticker.Stop()
	for {
		j.removeTaints(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// removeTaints removes the taint from all nodes where Cilium runs. What fails is retried the next time.
func (j *Joiner) removeTaints(ctx context.Context) {
	var nodes corev1.NodeList
	if err := j.o.Client.List(ctx, &nodes, client.MatchingLabels{labelCilium: "cilium"}); err != nil {
		return
	}
	ofCilium := func(t corev1.Taint) bool { return t.Key == taintCilium }
	for i := range nodes.Items {
		n := &nodes.Items[i]
		ready := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		if !ready || !slices.ContainsFunc(n.Spec.Taints, ofCilium) {
			continue
		}
		before := n.DeepCopy()
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, ofCilium)
		_ = j.o.Client.Patch(ctx, n, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
}
