package disruption

import (
	"testing"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

func TestConsolidation(t *testing.T) {
	t.Attr("covers", "C374 C382 C401 C416 C418 C419 C423 C453 C456 C464 C465 C470")
	inBubble(t, "a half-empty fleet is consolidated after 15 seconds", func(w *harness) {
		l := w.live(ondemand(2))
		w.pool("pool", budget("100%"), underutilized)
		for _, name := range []string{"a", "b", "c", "d"} {
			l.of("pool", name, "x2")
			w.pod(name, "pod-"+name, asks(900))
		}
		defer w.run()()
		w.pass(14 * time.Second)
		w.wantDeleted()
		w.pass(time.Minute)
		l.wantInstanceTypes("x2 x2")
		w.wantMetric("karpenter_voluntary_disruption_decisions_total", 1, "decision=delete", "reason=underutilized", "consolidation_type=multi")
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 2, "reason=underutilized", "consolidation_policy=when_empty_or_underutilized")
		l.wantNoChange()
	})
	inBubble(t, "a node is replaced by a cheaper one, which has to be ready first", func(w *harness) {
		l := w.oversized()
		l.launch.Store(int64(time.Minute))
		defer w.run()()
		w.pass(30 * time.Second)
		w.wantEvent("ConsolidationCandidate node/a: Consolidation candidate: replace: [a] -> [1 replacement] (savings: $7.00)")
		w.wantEvent("ConsolidationCandidate nodeclaim/a: Consolidation candidate: replace: [a] -> [1 replacement] (savings: $7.00)")
		w.wantDeleted()
		if !disrupted(w.node("a")) {
			w.Error("the node is not tainted while its replacement comes up")
		}
		w.wantMetric("karpenter_nodeclaims_created_total", 1, "reason=underutilized")
		w.wantEvents("DisruptionLaunching nodeclaim/", 1)
		w.wantEvents("DisruptionWaitingReadiness nodeclaim/", 1)
		w.pass(2 * time.Minute)
		l.wantInstanceTypes("x1")
		w.wantEvent("DisruptionTerminating node/a: Disrupting Node: Underutilized")
		w.wantMetric("karpenter_nodeclaims_created_total", 1)
		l.wantNoChange()
	})
	inBubble(t, "a do-not-disrupt pod that appears during the delay drops the command", func(w *harness) {
		l := w.oversized()
		defer w.run()()
		w.pass(10 * time.Second)
		w.pod("a", "guard", ofDaemonSet, protected)
		w.pass(time.Hour)
		l.wantInstanceTypes("x8")
		w.wantUnmarked("a")
		w.wantEvents("ConsolidationRejected node/a: Consolidation rejected: replace: [a] -> [1 replacement], reason: churn (savings: $7.00)", 1)
		w.wantMetric("karpenter_voluntary_disruption_failed_validations_total", 1, "consolidation_type=single")
	})
	inBubble(t, "a budget that shrinks during the delay drops the command", func(w *harness) {
		l := w.oversized()
		defer w.run()()
		w.pass(10 * time.Second)
		w.replaceBudgets("pool", budget("0"))
		w.pass(time.Minute)
		l.wantInstanceTypes("x8")
		w.wantEvents("ConsolidationRejected node/a: Consolidation rejected: replace: [a] -> [1 replacement], reason: budget (savings: $7.00)", 1)
		w.wantMetric("karpenter_voluntary_disruption_failed_validations_total", 1, "consolidation_type=single")
	})
	inBubble(t, "a command that does not fit any more is dropped without being counted, and retried", func(w *harness) {
		l := w.live(ondemand(2))
		w.pool("pool", budget("100%"), underutilized)
		l.of("pool", "a", "x2")
		l.of("pool", "b", "x2")
		w.pod("a", "web", asks(700))
		w.pod("a", "job", asks(700))
		w.pod("b", "api", asks(500))
		defer w.run()()
		w.pass(10 * time.Second)
		w.pod("a", "more", asks(400))
		w.pass(10 * time.Second)
		w.wantDeleted()
		w.wantEvents("ConsolidationRejected node/b: Consolidation rejected: delete: [b], reason: scheduling (savings: $2.00)", 1)
		w.wantMetric("karpenter_voluntary_disruption_failed_validations_total", 0)
		w.wantUnmarked("b")
	})
	inBubble(t, "WhenEmpty does not disrupt nodes with pods, and reports it", func(w *harness) {
		l := w.live(ondemand(1, 8))
		w.pool("pool", budget("100%"), usable)
		l.of("pool", "a", "x8")
		w.pod("a", "web", asks(900))
		defer w.run()()
		w.pass(time.Hour)
		l.wantInstanceTypes("x8")
		w.wantEvent(`Unconsolidatable node/a: NodePool "pool" has consolidation policy WhenEmpty, but node is not empty`)
	})
	inBubble(t, "Balanced pools approve what is worth it, with an event", func(w *harness) {
		t.Attr("covers", "N194")
		l := w.live(ondemand(1, 8))
		w.pool("pool", budget("100%"), underutilized, func(p *v1.NodePool) {
			p.Spec.Disruption.ConsolidationPolicy = v1.ConsolidationPolicyBalanced
		})
		l.of("pool", "a", "x8")
		w.pod("a", "web", asks(900))
		defer w.run()()
		w.pass(time.Minute)
		l.wantInstanceTypes("x1")
		w.wantEvent("ConsolidationApproved node/a: score 0.88 >= threshold 0.50 (k: 2, savings 87.5%, disruption 100.0%)")
		w.wantMetric("karpenter_consolidation_moves_total", 1, "decision=approved", "nodepool=pool", "policy=Balanced")
		w.wantMetric("karpenter_consolidation_moves_total", 0, "decision=delete")
		w.wantMetric("karpenter_consolidation_moves_total", 0, "decision=replace")
	})
}

func TestNoChurn(t *testing.T) {
	inBubble(t, "a node is not replaced by one of the same type for ever", func(w *harness) {
		l := w.live(ondemand(4))
		w.pool("pool", budget("100%"), underutilized)
		l.of("pool", "a", "x4")
		w.pod("a", "web", asks(900))
		defer w.run()()
		l.wantNoChange()
	})
	inBubble(t, "two pools do not take turns", func(w *harness) {
		l := w.live(ondemand(2, 4))
		heavy, light := int32(10), int32(1)
		w.pool("heavy", budget("100%"), underutilized, func(p *v1.NodePool) { p.Spec.Weight = &heavy })
		w.pool("light", budget("100%"), underutilized, func(p *v1.NodePool) { p.Spec.Weight = &light })
		l.of("light", "a", "x4")
		l.of("heavy", "b", "x2")
		w.pod("a", "web", asks(900))
		w.pod("a", "job", asks(900))
		w.pod("b", "api", asks(900))
		defer w.run()()
		w.pass(20 * time.Minute)
		l.wantNoChange()
	})
	inBubble(t, "spot nodes do not chase the cheapest price", func(w *harness) {
		var types []*cloud.InstanceType
		for i := range 40 {
			it := sized("s"+string(rune('a'+i/26))+string(rune('a'+i%26)), 2, map[string]float64{v1.CapacityTypeSpot: 0.1 + 0.01*float64(i)})
			types = append(types, it)
		}
		w.deps.Gates.SpotToSpotConsolidation = true
		l := w.live(types)
		w.pool("pool", budget("100%"), underutilized)
		l.of("pool", "a", "sbn")
		w.pod("a", "web", asks(900))
		defer w.run()()
		w.pass(time.Hour)
		l.wantInstanceTypes("saa")
		l.wantNoChange()
	})
	inBubble(t, "a mixed fleet becomes stable", func(w *harness) {
		l := w.live(ondemand(1, 2, 4, 8, 16))
		w.pool("pool", budget("30%"), underutilized, func(p *v1.NodePool) { p.Spec.Disruption.ConsolidateAfter = v1.NewNillableDuration(30 * time.Second) })
		for i, it := range []string{"x16", "x8", "x8", "x4", "x4", "x2", "x2", "x1"} {
			name := string(rune('a' + i))
			l.of("pool", name, it)
			for k := range 1 + i%3 {
				w.pod(name, name+string(rune('0'+k)), asks(150+int64(i)*37))
			}
		}
		defer w.run()()
		w.pass(20 * time.Minute)
		l.wantNoChange()
		if got := l.instanceTypes(); len(got) > len("x2 x2 x2") {
			w.Errorf("left %q", got)
		}
	})
}
