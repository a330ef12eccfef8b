package e2e

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestReplicaSetsEmptyNodes: with deletion cost management, a ReplicaSet that shrinks deletes all pods of the node that disruption would take
// first. The deletion costs stay when the feature gate is turned off.
func TestReplicaSetsEmptyNodes(t *testing.T) {
	t.Parallel()
	t.Attr("covers", "N157 N158 N159 N164")
	w := begin(t)
	first := w.controller()
	web := deployment("web", 6, "1500m", func(p *corev1.PodTemplateSpec) {
		p.Annotations = map[string]string{corev1.PodDeletionCost: "100"}
	})
	w.create(class(), pool(cores("4"), func(p *v1.NodePool) {
		p.Spec.Disruption.ConsolidateAfter = v1.NewNillableDuration(time.Hour) // nodes are ranked, and none is disrupted during the test
		p.Spec.Disruption.Budgets = []v1.Budget{{Nodes: "100%"}}
	}), web)
	w.awaitRunning(6)
	w.awaitNodes(3)
	w.must(first.Kill())

	ranking := w.controller("--feature-gates=PodDeletionCostManagement=true")
	w.awaitDeletionCosts(map[string]int{"-3": 2, "-2": 2, "-1": 2})
	w.scale(web, 4)
	w.awaitRunning(4)
	w.awaitDeletionCosts(map[string]int{"-2": 2, "-1": 2})
	w.must(ranking.Kill())

	w.controller()
	w.stays("the deletion costs are left as they are", 3*time.Second, func() string {
		return w.otherDeletionCosts(map[string]int{"-2": 2, "-1": 2})
	})
}

// awaitDeletionCosts waits until as many pods have each deletion cost, and all pods of a node the same.
func (w *harness) awaitDeletionCosts(want map[string]int) {
	w.t.Helper()
	w.await(fmt.Sprintf("the deletion costs of pods are %v", want), patience, func() string { return w.otherDeletionCosts(want) })
}

// otherDeletionCosts describes how deletion costs differ from how many pods should have each of them; "" if they do not.
func (w *harness) otherDeletionCosts(want map[string]int) string {
	w.t.Helper()
	got, byNode := map[string]int{}, map[string][]string{}
	for _, pod := range w.pods() {
		cost := pod.Annotations[corev1.PodDeletionCost]
		got[cost]++
		if !slices.Contains(byNode[pod.Spec.NodeName], cost) {
			byNode[pod.Spec.NodeName] = append(byNode[pod.Spec.NodeName], cost)
		}
	}
	for node, costs := range byNode {
		if len(costs) > 1 {
			return fmt.Sprintf("pods of node %q have the deletion costs %q", node, costs)
		}
	}
	if !maps.Equal(got, want) {
		return fmt.Sprintf("pods by deletion cost: %v", got)
	}
	return ""
}
