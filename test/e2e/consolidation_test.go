package e2e

import (
	"fmt"
	"testing"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// budgeted bounds how many nodes of a pool are disrupted at the same time.
func budgeted(nodes string) func(*v1.NodePool) {
	return func(p *v1.NodePool) {
		p.Spec.Disruption.ConsolidateAfter = v1.NewNillableDuration(0)
		p.Spec.Disruption.Budgets = []v1.Budget{{Nodes: nodes}}
	}
}

// TestUnderutilizedNodesAreConsolidated: when most pods of three nodes are deleted, the others end up on one node, and are not unavailable at
// the same time for longer than a move takes.
func TestUnderutilizedNodesAreConsolidated(t *testing.T) {
	t.Parallel()
	w := begin(t)
	p := w.controller()
	web := deployment("web", 9, "1")
	w.create(class(), pool(cores("4"), budgeted("100%")), web)
	w.awaitRunning(9)
	w.awaitNodes(3)
	w.scale(web, 3)
	const within = 90 * time.Second // 15 seconds of second thoughts, several times at most, and drains
	w.await("three pods run on one node", within, func() string {
		if obstacle := w.notRunning(3); obstacle != "" {
			return obstacle
		}
		return w.notPaired(1)
	})
	if p.logged("disrupting node(s)") == nil {
		t.Error("nothing was disrupted")
	}
}

// TestDriftRollsUnderABudget: after an edit of the template every node is replaced, one at a time and each only once its
// replacement is there.
func TestDriftRollsUnderABudget(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.controller()
	w.create(class(), pool(cores("4"), budgeted("1")), deployment("web", 6, "1500m"))
	w.awaitRunning(6)
	w.awaitNodes(3)
	change(w, pool(), func(p *v1.NodePool) { p.Spec.Template.Labels = map[string]string{"example.com/generation": "two"} })
	const within = 90 * time.Second
	w.await("all nodes are of the second generation", within, func() string {
		old, ready, going := 0, 0, 0
		for _, claim := range w.claims() {
			if claim.DeletionTimestamp != nil {
				going++
			}
			if claim.Labels["example.com/generation"] != "two" {
				old++
			}
		}
		for _, node := range w.nodes() {
			if node.DeletionTimestamp == nil && node.Labels[v1.NodeInitializedLabelKey] == "true" {
				ready++
			}
		}
		if going > 1 || ready < 3 {
			t.Fatalf("%d nodeclaims go at once, %d nodes are ready for work; want one at most and three at least", going, ready)
		}
		if old > 0 {
			return fmt.Sprintf("%d nodeclaims are of the first generation", old)
		}
		if obstacle := w.notRunning(6); obstacle != "" {
			return obstacle
		}
		return w.notPaired(3)
	})
}
