package disruption

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// unmanagedNode adds a node with so many cores that has no NodeClaim.
func (w *harness) unmanagedNode(name string, cores int64) {
	w.Helper()
	size := ondemand(cores)[0].Capacity
	w.create(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name + "-node-uid"), Labels: map[string]string{corev1.LabelHostname: name}},
		Spec:       corev1.NodeSpec{ProviderID: "test://" + name},
		Status: corev1.NodeStatus{
			Capacity: size, Allocatable: size, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	})
}

// TestChangesDuringADecision: a search that records the state after it instead of the state before it would idle for five minutes.
func TestChangesDuringADecision(t *testing.T) {
	t.Attr("covers", "W005")
	inBubble(t, "a node that is added during a search is found by the next pass", func(w *harness) {
		l := w.live(ondemand(1))
		w.pool("pool", budget("100%"), underutilized)
		l.of("pool", "a", "x1")
		w.pod("a", "web", asks(900))
		came := false
		w.provider.asked = func() {
			if !came {
				came = true
				w.unmanagedNode("b", 2)
			}
		}
		defer w.run()()
		w.pass(time.Minute)
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 1, "reason=underutilized")
	})
}

// TestBackoffLetsOthersGo: the first candidate in order never passes its validation.
func TestBackoffLetsOthersGo(t *testing.T) {
	t.Attr("covers", "C437 W007")
	inBubble(t, "other candidates are disrupted", func(w *harness) {
		l := w.live(ondemand(1, 8))
		w.pool("pool", budget("1"), underutilized)
		for _, name := range []string{"a", "b"} {
			l.of("pool", name, "x8")
			w.pod(name, "pod-"+name, asks(900))
		}
		defer w.run()()
		for range 30 {
			w.pass(2 * time.Second)
			if n, ok := w.store.Snapshot().Nodes.Get("test://a"); ok && w.waitsForValidation("a") {
				w.store.Nominate(time.Now().Add(5*time.Second), n.ID)
			}
		}
		w.pass(time.Minute)
		if got := w.claim("a"); !got.DeletionTimestamp.IsZero() {
			w.Error("a was disrupted, although it never passed")
		}
		l.wantInstanceTypes("x8")
		w.wantEvents("ConsolidationRejected node/a: ", 1)
	})
	inBubble(t, "a pool is considered immediately after its backoff", func(w *harness) {
		l := w.live(ondemand(1, 2, 4))
		w.pool("pool", budget("1"), underutilized)
		l.of("pool", "a", "x4")
		w.pod("a", "web", asks(900))
		c := New(w.deps)
		if err := c.Register(fakeManager{w: w}); err != nil {
			t.Fatal(err)
		}
		c.planner.reads.backoffs.pools.Fail("pool", time.Now())
		defer w.launch(c.Start)()
		w.pass(problem.MinBackoff - time.Second)
		if strings.Contains(w.logs.String(), "proposing disruption") {
			t.Error("it did not rest")
		}
		w.pass(problem.MinBackoff/5 + passInterval + time.Second)
		w.wantLog("proposing disruption")
	})
	inBubble(t, "a pool whose replacements fail is retried later, not with its next node", func(w *harness) {
		l := w.live(ondemand(1))
		w.pool("pool", budget("1"), usable)
		for _, name := range []string{"a", "b", "c"} {
			l.of("pool", name, "x1")
			w.pod(name, "pod-"+name, asks(900))
		}
		l.launch.Store(-1)
		w.drift("a", "b", "c")
		defer w.run()()
		for range 120 {
			w.pass(time.Second)
			w.removeReplacements()
		}
		// After 20, 40 and 80 seconds, plus up to 20% jitter; retrying one node after the other would create about twelve.
		if got := w.metric("karpenter_nodeclaims_created_total", "reason=drifted"); got < 2 || got > 4 {
			w.Errorf("%v replacements within two minutes, want 2 to 4", got)
		}
		l.launch.Store(int64(5 * time.Second))
		w.pass(20 * time.Minute)
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 3, "reason=drifted")
	})
}

// waitsForValidation reports whether a command for the node waits to be validated.
func (w *harness) waitsForValidation(node string) bool {
	logs := w.logs.String()
	proposed, rejected := strings.Count(logs, "proposing disruption"), strings.Count(logs, "is no longer valid")
	last := logs[max(strings.LastIndex(logs, "proposing disruption"), 0):]
	return proposed > rejected && strings.Contains(strings.SplitN(last, "\n", 2)[0], "["+node+"]")
}

// TestInstanceTypesThatCannotBeListed: prices order the candidates; only consolidation requires them.
func TestInstanceTypesThatCannotBeListed(t *testing.T) {
	t.Attr("covers", "W022")
	inBubble(t, "drifted and empty nodes are removed, and consolidation reports what is missing", func(w *harness) {
		l := w.live(ondemand(2))
		w.pool("pool", budget("100%"), underutilized)
		for _, name := range []string{"drifted", "empty", "used"} {
			l.of("pool", name, "x2")
		}
		w.pod("drifted", "web", asks(400))
		w.pod("used", "api", asks(900))
		w.provider.err = errors.New("throttled")
		w.drift("drifted")
		defer w.run()()
		w.pass(time.Minute)
		l.wantInstanceTypes("x2")
		w.wantEvent(`Unconsolidatable node/used: Instance types of NodePool "pool" cannot be listed`)
		w.wantNoEvent("DisruptionBlocked node/used: NodePool")
	})
	inBubble(t, "nodes of a static pool are replaced", func(w *harness) {
		l := w.live(ondemand(2))
		w.pool("pool", budget("100%"), usable, func(p *v1.NodePool) { p.Spec.Replicas = new(int64(1)) })
		l.of("pool", "a", "x2")
		w.provider.err = errors.New("throttled")
		w.drift("a")
		defer w.run()()
		w.pass(30 * time.Second)
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 1, "reason=drifted")
	})
}

func TestANominationIsNoBudget(t *testing.T) {
	t.Attr("covers", "W024")
	inBubble(t, "logs and events call it by its name", func(w *harness) {
		w.oversized()
		defer w.run()()
		w.pass(10 * time.Second)
		w.store.Nominate(time.Now().Add(time.Hour), "test://a")
		w.pass(30 * time.Second)
		w.wantLog("class=churn code=Nominated")
		w.wantEvents("ConsolidationRejected node/a: Consolidation rejected: replace: [a] -> [1 replacement], reason: churn (savings: $7.00)", 1)
		w.wantMetric("karpenter_voluntary_disruption_failed_validations_total", 1, "consolidation_type=single")
		if strings.Contains(w.logs.String(), "class=budget") {
			w.Error("a nomination was called a budget")
		}
	})
}

func TestTheLoopRunsDuringValidation(t *testing.T) {
	t.Attr("covers", "W026")
	inBubble(t, "a node that drifts while an empty one waits is not delayed", func(w *harness) {
		l := w.live(ondemand(1))
		w.pool("pool", budget("100%"), usable)
		l.of("pool", "drifting", "x1")
		w.pod("drifting", "web", asks(900))
		l.of("pool", "empty", "x1")
		defer w.run()()
		w.pass(2 * time.Second)
		w.wantLog("proposing disruption")
		w.drift("drifting")
		w.pass(2 * time.Second)
		w.wantMetric("karpenter_voluntary_disruption_decisions_total", 1, "reason=drifted")
		w.wantDeleted()
	})
	inBubble(t, "a pass proposes as many single-node commands as budgets allow", func(w *harness) {
		l := w.live(ondemand(1, 8))
		for i := range 3 {
			pool, name := fmt.Sprintf("pool-%d", i), fmt.Sprintf("n%d", i)
			// No two of the pods can share a node, so that no node can replace several.
			w.pool(pool, budget("1"), underutilized, func(p *v1.NodePool) {
				p.Spec.Template.Labels = map[string]string{"team": pool}
			})
			l.of(pool, name, "x8")
			node := w.node(name)
			node.Labels["team"] = pool
			if err := w.client.Update(w.Context(), node); err != nil {
				w.Fatal(err)
			}
			w.pod(name, "pod-"+name, asks(900), func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"team": pool} })
		}
		defer w.run()()
		w.pass(17 * time.Second)
		w.wantMetric("karpenter_voluntary_disruption_decisions_total", 3, "consolidation_type=single")
	})
}

func TestLabelsSayWhatTheirNamesSay(t *testing.T) {
	t.Attr("covers", "W030")
	t.Attr("covers", "N193")
	inBubble(t, "the type of a consolidation that failed", func(w *harness) {
		l := w.oversized()
		l.launch.Store(-1)
		defer w.run()()
		w.pass(20 * time.Second)
		w.removeReplacements()
		w.pass(5 * time.Second)
		w.wantMetric("karpenter_voluntary_disruption_queue_failures_total", 1, "decision=replace", "reason=underutilized", "consolidation_type=single")
		w.wantMetric("karpenter_voluntary_disruption_queue_failures_total", 1)
	})
	inBubble(t, "the schedule that cannot be read", func(w *harness) {
		w.pool("pool", []v1.Budget{{Nodes: "1", Schedule: new("@dailyfoo"), Duration: &metav1.Duration{Duration: time.Hour}}})
		defer w.run()()
		w.pass(time.Second)
		w.wantLog("@dailyfoo")
	})
}

func TestOneReasonForANodeAndPass(t *testing.T) {
	t.Attr("covers", "W032")
	inBubble(t, "however many methods look at it", func(w *harness) {
		l := w.live(ondemand(1, 8))
		// Each of the five methods has an obstacle: the node is drifted, protected, and not consolidatable.
		w.pool("pool", budget("100%"), usable, func(p *v1.NodePool) { p.Spec.Disruption.ConsolidateAfter = v1.NillableDuration{} })
		l.of("pool", "a", "x8")
		w.pod("a", "web", asks(900), protected)
		w.drift("a")
		defer w.run()()
		w.pass(time.Second)
		told := 0
		for _, reason := range []string{"DisruptionBlocked", "Unconsolidatable"} {
			told += w.told(reason + " node/a: ")
		}
		if told != 1 {
			w.Errorf("%d reasons, want one: %q", told, w.events)
		}
	})
	inBubble(t, "a new kind of reason is published immediately, the same one again after two minutes", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.pod("a", "agent", ofDaemonSet, protected)
		w.pass(25 * time.Second)
		w.wantEvents("DisruptionBlocked node/a: ", 1)
		w.store.Nominate(time.Now().Add(time.Hour), "test://a")
		w.pass(25 * time.Second)
		w.wantEvents("DisruptionBlocked node/a: Pod has ", 1)
		w.wantEvents("DisruptionBlocked node/a: Node is nominated for a pending pod", 1)
		w.pass(2 * time.Minute)
		w.wantEvents("DisruptionBlocked node/a: Node is nominated for a pending pod", 2)
	})
}

func TestBudgetsOfPods(t *testing.T) {
	t.Attr("covers", "W023")
	lets := func(allowed, desired, expected int32) func(*policyv1.PodDisruptionBudget) {
		return func(b *policyv1.PodDisruptionBudget) {
			b.Status = policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, DesiredHealthy: desired, ExpectedPods: expected}
		}
	}
	inBubble(t, "of nodes with equal savings the one that drains in one round is removed first, and the rounds of the other are reported", func(w *harness) {
		l := w.live(ondemand(1, 8))
		w.pool("pool", budget("1"), underutilized)
		for _, name := range []string{"a", "b"} {
			l.of("pool", name, "x8")
			for i := range 2 {
				w.pod(name, fmt.Sprintf("%s-%d", name, i), asks(3400), func(p *corev1.Pod) { p.Labels = map[string]string{"app": "web-" + name} })
			}
		}
		w.unmanagedNode("large", 16)
		w.guard("default", "web-a", lets(1, 1, 2))
		w.guard("default", "web-b", lets(2, 0, 2))
		defer w.run()()
		w.pass(5 * time.Second)
		w.wantLog("delete: nodepools=[pool]: [b] (savings: $8.00)")
		w.pass(time.Minute)
		w.wantLog("drain-rounds=2")
	})
	inBubble(t, "a budget that can never allow anything is named", func(w *harness) {
		w.pool("pool", budget("100%"), underutilized)
		w.addNode("pool", "a")
		w.pod("a", "web")
		w.guard("default", "web", lets(0, 3, 3))
		defer w.run()()
		w.pass(time.Minute)
		w.wantLog("can never allow a disruption")
		if got := strings.Count(w.logs.String(), "can never allow"); got != 1 {
			w.Errorf("logged %d times", got)
		}
	})
}
