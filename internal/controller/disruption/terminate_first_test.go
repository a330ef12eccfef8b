package disruption

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/options"
)

const (
	terminateFirstDecisions = "karpenter_voluntary_disruption_terminate_first_decisions_total"
	atNodeLimit             = "static NodePool is at its node limit and cannot stage a replacement"
)

// terminatesFirst turns the feature gates on.
func (w *harness) terminatesFirst() {
	g := &w.deps.Gates
	g.StaticCapacity, g.TerminateFirstDrift, g.TerminateFirstRepair = true, true, true
}

// staticPool makes a pool static and ready, with as many nodes as its limit allows.
func staticPool(replicas int64) func(*v1.NodePool) {
	return func(p *v1.NodePool) {
		usable(p)
		p.Spec.Replicas, p.Spec.Limits = &replicas, v1.Limits{v1.ResourceNodes: *resource.NewQuantity(replicas, resource.DecimalSI)}
	}
}

func TestTerminateFirstAtTheNodeLimit(t *testing.T) {
	t.Attr("covers", "N126 N128 N130 N132")
	inBubble(t, "a drifted node is deleted at once, and the pool is one node short", func(w *harness) {
		w.terminatesFirst()
		l := w.live(ondemand(1))
		w.pool("pool", budget("1"), staticPool(2))
		l.of("pool", "a", "x1")
		l.of("pool", "b", "x1")
		w.pod("a", "web", asks(100))
		w.drift("a")
		defer w.run()()
		w.pass(11 * time.Second)
		w.wantMetric("karpenter_nodeclaims_created_total", 0)
		if got, want := w.store.Pools.Counts("pool"), (cluster.NodeClaimCounts{Active: 1}); got != want {
			t.Errorf("the pool has %+v, want %+v", got, want)
		}
		w.wantMetric(terminateFirstDecisions, 1, "nodepool=pool", "reason=drifted", "terminate_first_reason=static-at-limit")
		w.wantMetric("karpenter_voluntary_disruption_decisions_total", 1, "decision=terminate-first", "reason=drifted", "consolidation_type=")
		w.wantMetric("karpenter_voluntary_disruption_decisions_by_nodepool_total", 1, "nodepool=pool", "decision=terminate-first", "reason=drifted")
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 1, "reason=drifted", "termination_mode=graceful")
		w.wantEvents("DisruptionTerminating node/a: Disrupting Node: Drifted", 1)
		w.wantLog("decision=terminate-first")
		w.wantLog("replacement-node-count=0")
		w.wantNoEvent("DisruptionBlocked node/a: " + atNodeLimit)
	})
	inBubble(t, "without the feature gates, and in a pool that nothing refills, an event says why the node stays", func(w *harness) {
		w.deps.Gates.TerminateFirstDrift = true
		l := w.live(ondemand(1))
		w.pool("pool", budget("1"), staticPool(2))
		l.of("pool", "a", "x1")
		w.addNode("pool", "b")
		w.drift("a", "b")
		defer w.run()()
		w.pass(11 * time.Second)
		w.wantDeleted()
		w.wantEvents("DisruptionBlocked node/a: "+atNodeLimit, 1)
		w.wantEvents("DisruptionBlocked nodeclaim/a: "+atNodeLimit, 1)
		w.wantNoEvent("DisruptionBlocked node/b: " + atNodeLimit) // the budget is for one node
		w.wantMetric(terminateFirstDecisions, 0)
	})
	inBubble(t, "the drain of an unhealthy node is limited by its repair policy", func(w *harness) {
		w.terminatesFirst()
		w.repairing()
		w.pool("pool", budget("1"), staticPool(1))
		w.addNode("pool", "a", notConsolidatable, sick)
		defer w.run()()
		w.pass(11 * time.Second)
		w.wantDeleted("a")
		if at := w.deadline("a"); at.Before(time.Now().Add(limit-20*time.Second)) || at.After(time.Now().Add(limit)) {
			t.Errorf("the termination deadline is %s, now is %s", at, time.Now())
		}
		w.wantMetric(terminateFirstDecisions, 1, "nodepool=pool", "reason=unhealthy", "terminate_first_reason=static-at-limit")
		w.wantMetric("karpenter_nodeclaims_unhealthy_disrupted_total", 1, "condition=disk_broken")
	})
}

// TestTerminateFirstIsForTheReasonOfItsGate: each gate is for one reason, and there is none for others.
func TestTerminateFirstIsForTheReasonOfItsGate(t *testing.T) {
	t.Attr("covers", "N120")
	for _, tt := range []struct {
		gates options.FeatureGates
		want  map[disrupt.Reason]bool
	}{
		{options.FeatureGates{StaticCapacity: true}, nil},
		{options.FeatureGates{StaticCapacity: true, TerminateFirstDrift: true}, map[disrupt.Reason]bool{disrupt.Drifted: true}},
		{options.FeatureGates{StaticCapacity: true, TerminateFirstRepair: true}, map[disrupt.Reason]bool{disrupt.Unhealthy: true}},
	} {
		pl := &planner{Deps: Deps{Gates: tt.gates}}
		for _, m := range append(disrupt.Methods(), disrupt.Repair()) {
			var s disrupt.Session
			pl.letTerminateFirst(t.Context(), view{}, &s, m)
			if want := tt.want[m.Reason]; s.TerminateFirst != want || s.TerminateFirstStatic != want {
				t.Errorf("%s: %s: terminates first %t, in static pools %t, want %t", tt.gates, m.Name, s.TerminateFirst, s.TerminateFirstStatic, want)
			}
		}
	}
}
