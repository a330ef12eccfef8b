package disruption

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestNothingIsDisruptedWithoutApproval: whatever is decided and changes, every node that is disrupted is part of a plan that was approved.
func TestNothingIsDisruptedWithoutApproval(t *testing.T) {
	executed := 0.0
	for seed := range uint64(20) {
		inBubble(t, fmt.Sprintf("seed %d", seed), func(w *harness) {
			random := rand.New(rand.NewPCG(seed, 17))
			l := w.live(ondemand(1, 4))
			w.approvals(`{approval: {mode: Always, validFor: 20m}}`)
			w.pool("pool", budget("2"), underutilized)
			for i := range 6 {
				name := fmt.Sprintf("n%d", i)
				l.of("pool", name, "x4")
				if i > 1 {
					w.pod(name, "pod-"+name, asks(500))
				}
			}
			w.drift("n2", "n3")
			stop, approved := w.run(), map[string]bool{}
			for step := range 30 {
				w.pass(time.Duration(1+random.IntN(120)) * time.Second)
				for _, p := range w.plans() {
					if p.Spec.Decision != nil || p.Status.Phase != opsv1alpha1.PlanProposed || random.IntN(3) > 0 {
						continue
					}
					verdict := opsv1alpha1.VerdictRejected
					if random.IntN(2) == 0 {
						verdict = opsv1alpha1.VerdictApproved
						for _, n := range p.Spec.Nodes {
							approved[n.NodeClaimUID] = true
						}
					}
					w.decide(p.Name, verdict)
				}
				switch random.IntN(8) {
				case 0:
					stop()
					stop = w.run()
				case 1:
					if name := fmt.Sprintf("n%d", random.IntN(6)); w.alone(name) {
						w.pod(name, fmt.Sprintf("late-%d", step), asks(100))
					}
				}
				w.wantApproved(approved)
			}
			stop()
			executed += w.metric("karpenter_disruption_plans_total", "phase=Executed")
		})
	}
	if executed == 0 {
		t.Error("no plan was executed")
	}
}

// alone reports whether a node exists and is not disrupted.
func (w *harness) alone(name string) bool {
	w.Helper()
	var list v1.NodeClaimList
	if err := w.client.List(w.Context(), &list); err != nil {
		w.Fatal(err)
	}
	for i := range list.Items {
		if c := &list.Items[i]; c.Name == name && c.DeletionTimestamp.IsZero() {
			return !disrupted(w.node(name))
		}
	}
	return false
}

// wantApproved checks that all nodes that are being disrupted, or gone, are in a plan that was approved.
func (w *harness) wantApproved(approved map[string]bool) {
	w.Helper()
	var list v1.NodeClaimList
	if err := w.client.List(w.Context(), &list); err != nil {
		w.Fatal(err)
	}
	left := map[string]bool{}
	for i := range list.Items {
		left[list.Items[i].Name] = true
	}
	for i := range 6 {
		if name := fmt.Sprintf("n%d", i); !left[name] && !approved[name+"-uid"] {
			w.Errorf("after %s: node %s is gone without approval; plans:\n%s", w.age(), name, describePlans(w.plans()))
		}
	}
	for i := range list.Items {
		c := &list.Items[i]
		going := !c.DeletionTimestamp.IsZero() || c.Status.NodeName != "" && disrupted(w.node(c.Status.NodeName))
		if going && !approved[string(c.UID)] {
			w.Errorf("after %s: node %s is disrupted without approval; plans:\n%s", w.age(), c.Name, describePlans(w.plans()))
		}
	}
}
