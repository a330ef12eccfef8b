package disruption

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

func (w *harness) replaceBudgets(pool string, budgets []v1.Budget) {
	w.Helper()
	w.changePool(pool, func(p *v1.NodePool) { p.Spec.Disruption.Budgets = budgets })
}

// changePool changes the spec of a pool.
func (w *harness) changePool(pool string, change func(*v1.NodePool)) {
	w.Helper()
	p := &v1.NodePool{}
	if err := w.client.Get(w.Context(), client.ObjectKey{Name: pool}, p); err != nil {
		w.Fatal(err)
	}
	p.Generation++
	change(p)
	if err := w.client.Update(w.Context(), p); err != nil {
		w.Fatal(err)
	}
}

func TestBudgets(t *testing.T) {
	t.Attr("covers", "C266 C312 C313 C314 C316 C326 C327")
	inBubble(t, "a budget of 0 blocks with one event", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("0"))
		w.addNode("pool", "a")
		w.pass(50 * time.Second)
		w.wantDeleted()
		w.wantEvent("DisruptionBlocked nodepool/pool: No allowed disruptions for disruption reason Empty due to blocking budget")
		w.wantMetric("karpenter_nodepools_allowed_disruptions", 0, "nodepool=pool", "reason=empty")
		w.wantEvents("DisruptionBlocked nodepool/pool", 3) // one for each reason
		w.replaceBudgets("pool", budget("1"))
		w.pass(17 * time.Second)
		w.wantDeleted("a")
	})
	for _, tt := range []struct {
		name    string
		budgets []v1.Budget
		nodes   int
		want    int
	}{
		{"3 of 10", budget("3"), 10, 3},
		{"all with 100%", budget("100%"), 10, 10},
		{"none with 0%", budget("0%"), 10, 0},
		{"10% of 1 is 1", budget("10%"), 1, 1},
		{"50% of 3 is 2", budget("50%"), 3, 2},
		{"no budgets, no limit", []v1.Budget{}, 10, 10},
		{"the most restrictive wins", []v1.Budget{{Nodes: "5"}, {Nodes: "20%"}}, 10, 2},
		{"budgets for other reasons do not apply", []v1.Budget{{Nodes: "0", Reasons: []v1.DisruptionReason{v1.DisruptionReasonDrifted}}, {Nodes: "4"}}, 10, 4},
		{"budgets for this reason apply", []v1.Budget{{Nodes: "1", Reasons: []v1.DisruptionReason{v1.DisruptionReasonEmpty}}, {Nodes: "4"}}, 10, 1},
		{"a budget that cannot be evaluated closes the pool", []v1.Budget{{Nodes: "100%"}, {Nodes: "1", Schedule: new("a b c d e"), Duration: &metav1.Duration{Duration: time.Hour}}}, 10, 0},
	} {
		inBubble(t, tt.name, func(w *harness) {
			defer w.run()()
			w.pool("pool", tt.budgets)
			for i := range tt.nodes {
				w.addNode("pool", fmt.Sprintf("n%02d", i))
			}
			w.pass(time.Minute)
			if got := len(w.deleted()); got != tt.want {
				w.Errorf("deleted %d of %d, want %d", got, tt.nodes, tt.want)
			}
			w.wantMetric("karpenter_nodepools_nodes_consuming_budgets", float64(tt.want), "nodepool=pool", "reason=empty")
		})
	}
	inBubble(t, "two nodes of each of ten pools of three at 50%", func(w *harness) {
		defer w.run()()
		for p := range 10 {
			pool := fmt.Sprint("pool", p)
			w.pool(pool, budget("50%"))
			for i := range 3 {
				w.addNode(pool, fmt.Sprintf("%s-%d", pool, i))
			}
		}
		w.pass(time.Minute)
		if got := len(w.deleted()); got != 20 {
			w.Errorf("deleted %d, want 20", got)
		}
	})
	inBubble(t, "a pool with an invalid budget does not block others, and is logged", func(w *harness) {
		defer w.run()()
		w.pool("broken", []v1.Budget{{Nodes: "1", Schedule: new("@dailyfoo"), Duration: &metav1.Duration{Duration: time.Hour}}})
		w.pool("pool", budget("1"))
		w.addNode("broken", "a")
		w.addNode("pool", "b")
		w.pass(time.Minute)
		w.wantDeleted("b")
		w.wantLog("detected disruption budget errors")
	})
	inBubble(t, "nodes that are not ready or deleting consume budget", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("2"))
		w.addNode("pool", "sick", notConsolidatable, func(m *nodeAndClaim) { m.node.Status.Conditions[0].Status = corev1.ConditionFalse })
		w.addNode("pool", "leaving", notConsolidatable)
		w.remove(w.claim("leaving"))
		w.addNode("pool", "a")
		w.pass(time.Minute)
		w.wantDeleted("leaving")
		w.wantMetric("karpenter_nodepools_nodes_consuming_budgets", 2, "nodepool=pool", "reason=empty")
	})
	inBubble(t, "a waiting command counts against the budget", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("1"))
		w.addNode("pool", "b")
		w.pass(8 * time.Second)
		w.addNode("pool", "a")
		w.pass(30 * time.Second)
		w.wantDeleted("b")
	})
	inBubble(t, "gauges are deleted with their pool", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("1"))
		w.pass(20 * time.Second)
		w.wantMetric("karpenter_nodepools_allowed_disruptions", 3, "nodepool=pool") // one for each reason
		w.remove(&v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "pool"}})
		w.pass(20 * time.Second)
		w.wantMetric("karpenter_nodepools_allowed_disruptions", 0, "nodepool=pool")
	})
}

func TestScheduledBudget(t *testing.T) {
	// The bubble begins at midnight.
	window := func(schedule string) []v1.Budget {
		return []v1.Budget{{Nodes: "0", Schedule: &schedule, Duration: &metav1.Duration{Duration: time.Hour}}}
	}
	inBubble(t, "a window blocks while it is open and not after", func(w *harness) {
		defer w.run()()
		w.pool("pool", window("@daily"))
		w.addNode("pool", "a")
		w.pass(time.Hour - time.Second)
		w.wantDeleted()
		w.pass(30 * time.Second)
		w.wantDeleted("a")
	})
	inBubble(t, "a window that opens during the 15 seconds stops the command", func(w *harness) {
		defer w.run()()
		w.pass(time.Hour - 5*time.Second)
		w.pool("pool", window("0 1 * * *"))
		w.addNode("pool", "a")
		w.pass(30 * time.Minute)
		w.wantDeleted()
		w.pass(31 * time.Minute)
		w.wantDeleted("a")
	})
}

func TestEligibleNodesAreReported(t *testing.T) {
	t.Attr("covers", "C346")
	inBubble(t, "nodes that a budget blocks are eligible", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("0"))
		w.addNode("pool", "a")
		w.addNode("pool", "b")
		w.pass(5 * time.Second)
		w.wantMetric("karpenter_voluntary_disruption_eligible_nodes", 2, "reason=empty")
	})
}

// The sleeps are slow responses of the API server. They pass in the synctest bubble and take no real time.
//
// A command that ends during a long pass still counts against the budgets of that pass: the queue no longer has the command, and
// the snapshot of the pass is older than its effects.
func TestACommandThatEndsDuringAPassCountsAgainstItsBudgets(t *testing.T) {
	inBubble(t, "drift under a budget of one", func(w *harness) {
		w.pool("pool", budget("1"), func(p *v1.NodePool) { p.Spec.Disruption.ConsolidateAfter = v1.NillableDuration{} })
		for _, name := range []string{"a", "b"} {
			w.addNode("pool", name)
			w.drift(name)
		}
		var closing atomic.Bool
		w.fail(func(op string, obj runtime.Object) error {
			_, budgets := obj.(*policyv1.PodDisruptionBudgetList)
			switch {
			case on(op, obj, "patch-status", "a") && closing.CompareAndSwap(false, true):
				time.Sleep(passInterval + quietPeriod)
			case closing.Load() && budgets: // in a pass that has taken its snapshot
				time.Sleep(2 * quietPeriod)
			}
			return nil
		})
		defer w.run()()
		w.pass(time.Minute)
		w.wantDeleted("a")
	})
}
