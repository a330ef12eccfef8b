package e2e

import (
	"testing"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestScaleUpAndDown: from no node to as many as the pods need, and back to none after the pods are gone.
func TestScaleUpAndDown(t *testing.T) {
	t.Parallel()
	// A node is empty for consolidateAfter, is validated after 15 s, and drains for 5 s at least.
	const wait, gone = 3 * time.Second, time.Minute
	w := begin(t)
	w.controller()
	web := deployment("web", 40, "500m")
	p := pool(cores("8"), func(p *v1.NodePool) {
		p.Spec.Disruption.ConsolidateAfter = v1.NewNillableDuration(wait)
		p.Spec.Disruption.Budgets = []v1.Budget{{Nodes: "100%"}}
	})
	w.create(class(), p, web)
	w.awaitRunning(40)
	w.awaitNodes(3)

	w.scale(web, 0)
	w.await("the pods are gone", patience, func() string { return w.notRunning(0) })
	empty := time.Now()
	w.awaitNothing(gone)
	if took := time.Since(empty); took < wait {
		t.Errorf("the nodes were gone %s after their pods; they should have been kept for %s", took, wait)
	}
	w.awaitUsage(p, "0", 0)
}
