package disruption

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
)

// TestABudgetThatComesDuringTheDelay: a PodDisruptionBudget that allows no disruption is created during the validation delay.
func TestABudgetThatComesDuringTheDelay(t *testing.T) {
	t.Attr("covers", "C420")
	for _, decision := range []string{"replace", "delete"} {
		inBubble(t, "drops a command to "+decision, func(w *harness) {
			l := w.live(ondemand(1, 8))
			w.pool("pool", budget("100%"), underutilized)
			l.of("pool", "a", "x8")
			if decision == "delete" {
				w.unmanagedNode("b", 4)
			}
			w.pod("a", "web", asks(900))
			defer w.run()()
			w.pass(10 * time.Second)
			w.wantLog(": " + decision + ": ")
			w.guard("default", "web")
			w.pass(10 * time.Minute)
			w.wantDeleted()
			w.wantUnmarked("a")
			w.wantMetric("karpenter_voluntary_disruption_failed_validations_total", 1, "consolidation_type=single")
		})
	}
}

// methodCase is a method that disrupts one node or two, with a cluster in which it does.
type methodCase struct {
	kind  string
	nodes int
	set   func(l *life)
}

func methodCases() []methodCase {
	return []methodCase{
		{"empty", 2, func(l *life) {
			l.of("pool", "a", "x2")
			l.of("pool", "b", "x2")
		}},
		{"multi", 2, func(l *life) {
			for _, name := range []string{"a", "b"} {
				l.of("pool", name, "x2")
				l.pod(name, "pod-"+name, asks(900))
			}
			l.unmanagedNode("large", 2)
		}},
		{"single", 1, func(l *life) {
			l.of("pool", "a", "x2")
			l.pod("a", "pod-a", asks(900))
		}},
	}
}

// TestWhatChangesDuringTheDelay: all three methods that validate count the change as a failed validation.
func TestWhatChangesDuringTheDelay(t *testing.T) {
	t.Attr("covers", "C421")
	for _, way := range methodCases() {
		for cause, change := range map[string]func(w *harness){
			"budgets at zero": func(w *harness) { w.replaceBudgets("pool", budget("0")) },
			"new pods": func(w *harness) {
				for _, name := range []string{"a", "b"}[:way.nodes] {
					w.pod(name, "late-"+name, asks(100), protected)
				}
			},
			"nominations": func(w *harness) {
				w.store.Nominate(time.Now().Add(time.Hour), "test://a", "test://b")
			},
		} {
			inBubble(t, way.kind+", "+cause, func(w *harness) {
				l := w.live(ondemand(1, 2))
				w.pool("pool", budget("100%"), underutilized)
				way.set(l)
				defer w.run()()
				w.pass(10 * time.Second)
				if !strings.Contains(w.logs.String(), "proposing disruption") {
					w.Fatal("nothing was proposed")
				}
				change(w)
				w.pass(7 * time.Second)
				w.wantDeleted()
				w.wantMetric("karpenter_voluntary_disruption_failed_validations_total", float64(way.nodes), "consolidation_type="+way.kind)
				w.wantMetric("karpenter_voluntary_disruption_failed_validations_total", float64(way.nodes))
			})
		}
	}
}

// TestSeveralRefusedOneIsTried: after a command for several nodes is rejected, one of them is proposed immediately.
func TestSeveralRefusedOneIsTried(t *testing.T) {
	t.Attr("covers", "C422")
	inBubble(t, "and is disrupted", func(w *harness) {
		l := w.live(ondemand(2))
		w.pool("pool", budget("100%"), underutilized)
		for _, name := range []string{"a", "b"} {
			l.of("pool", name, "x2")
			w.pod(name, "pod-"+name, asks(1300))
		}
		w.unmanagedNode("large", 4)
		defer w.run()()
		w.pass(10 * time.Second)
		w.wantLog("[a, b] (savings: $4.00)")
		if strings.Count(w.logs.String(), "proposing disruption") != 1 {
			w.Fatalf("proposed more than once:\n%s", w.logs.String())
		}
		w.guard("default", "pod-a")
		w.pass(7 * time.Second)
		w.wantDeleted()
		w.wantLog("[b] (savings: $2.00)")
		w.pass(20 * time.Second)
		w.wantMetric("karpenter_voluntary_disruption_decisions_total", 1, "decision=delete", "consolidation_type=single")
	})
}

// TestPoolsThatCannotLaunch: nodes whose pods fit on other nodes are removed even if some or all pools cannot launch.
func TestPoolsThatCannotLaunch(t *testing.T) {
	t.Attr("covers", "C403 C414 W006")
	for name, set := range map[string]func(w *harness){
		"a second pool without instance types": func(w *harness) { w.pool("other", budget("100%"), underutilized, needs("no-such-type")) },
		"a second pool that is not ready":      func(w *harness) { w.pool("other", budget("100%")) },
		"a second pool that is invalid": func(w *harness) {
			w.pool("other", budget("100%"), underutilized, invalid)
		},
	} {
		inBubble(t, name, func(w *harness) {
			l := w.live(ondemand(2))
			w.pool("pool", budget("100%"), underutilized)
			set(w)
			l.of("pool", "a", "x2")
			w.pod("a", "web", asks(900))
			w.unmanagedNode("b", 4)
			defer w.run()()
			w.pass(time.Minute)
			w.wantMetric("karpenter_nodeclaims_disrupted_total", 1, "reason=underutilized")
		})
	}
}

// TestBalancedTakesEmptyNodesFirst: a budget that is too small for both is used for the empty node.
func TestBalancedTakesEmptyNodesFirst(t *testing.T) {
	t.Attr("covers", "C454")
	inBubble(t, "and then the others", func(w *harness) {
		l := w.live(ondemand(1, 8))
		w.pool("pool", budget("1"), underutilized, func(p *v1.NodePool) { p.Spec.Disruption.ConsolidationPolicy = v1.ConsolidationPolicyBalanced })
		l.of("pool", "used", "x8")
		w.pod("used", "web", asks(900))
		l.of("pool", "empty", "x1")
		defer w.run()()
		w.pass(20 * time.Second)
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 1, "reason=empty")
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 1)
		w.pass(2 * time.Minute)
		l.wantInstanceTypes("x1")
	})
}

// TestReplacementsKeepLimits: a replacement that was within the limits of its pool when it was proposed may exceed them later.
func TestReplacementsKeepLimits(t *testing.T) {
	inBubble(t, "and nothing is changed", func(w *harness) {
		l := w.oversized()
		defer w.run()()
		w.pass(10 * time.Second)
		w.wantLog(": replace: ")
		w.limit("pool", "4")
		w.pass(time.Hour)
		w.wantUnmarked("a")
		w.wantDeleted()
		w.wantMetric("karpenter_nodeclaims_created_total", 0)
		w.limit("pool", "16")
		w.pass(time.Hour)
		l.wantInstanceTypes("x1")
	})
}

// limit sets the CPU limit of a pool.
func (w *harness) limit(pool, cores string) {
	w.Helper()
	w.changePool(pool, func(p *v1.NodePool) { p.Spec.Limits = v1.Limits{"cpu": quantity(cores)} })
}

func needs(instanceType string) func(*v1.NodePool) {
	return func(p *v1.NodePool) {
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, cloud.In(corev1.LabelInstanceTypeStable, instanceType))
	}
}

func invalid(p *v1.NodePool) {
	condition.For(p, time.Now()).False(v1.ConditionTypeValidationSucceeded, "NodePoolValidationFailed", "no such taint")
}

// TestCommandsOfDifferentKindsAreValidatedTogether: of commands that are due at the same time, each is validated by a simulation of
// its kind.
func TestCommandsOfDifferentKindsAreValidatedTogether(t *testing.T) {
	inBubble(t, "drift after a consolidation that is refused", func(w *harness) {
		l := w.live(ondemand(1, 8))
		w.pool("pool", budget("1"), underutilized)
		l.of("pool", "a", "x8")
		w.pod("a", "web", asks(900))
		l.of("pool", "b", "x8")
		w.pod("b", "api", asks(7900))
		w.drift("b")
		w.replaceBudgets("pool", []v1.Budget{{Nodes: "0", Reasons: []v1.DisruptionReason{v1.DisruptionReasonDrifted}}})
		defer w.run()()
		w.pass(10 * time.Second)
		due := w.running.queue.due(time.Now().Add(time.Hour))
		if len(due) != 1 || due[0].method.Simulates != disrupt.ForConsolidation {
			w.Fatalf("%d commands wait, want one consolidation", len(due))
		}
		w.guard("default", "web")
		w.replaceBudgets("pool", budget("2"))
		n, _ := w.store.Snapshot().Nodes.Get("test://b")
		var drift disrupt.Method
		for _, m := range disrupt.Methods() {
			if m.Simulates == disrupt.ForReplacement {
				drift = m
			}
		}
		drift.Queued = true
		w.running.queue.put(command{
			id: "later", method: drift, due: due[0].due,
			plan: disrupt.Command{Reason: drift.Reason, Candidates: []disrupt.Candidate{{Node: n}}},
		})
		w.pass(7 * time.Second)
		w.wantUnmarked("a")
		w.wantLog("command-id=later")
	})
}

// TestCommandsOfNodesThatAreGoneAreNotAssumed: a command waits to be validated, and its node is removed meanwhile.
func TestCommandsOfNodesThatAreGoneAreNotAssumed(t *testing.T) {
	inBubble(t, "a node is removed", func(w *harness) {
		l := w.live(ondemand(1, 8))
		w.pool("pool", budget("1"), underutilized)
		l.of("pool", "a", "x8")
		w.pod("a", "web", asks(900))
		defer w.run()()
		w.pass(5 * time.Second)
		assumed := func() int {
			reads := w.running.planner.reads
			v, err := reads.gather(w.Context())
			if err != nil {
				t.Fatal(err)
			}
			sim, err := reads.simContext(w.Context(), v, nil, v.underway)
			if err != nil {
				t.Fatal(err)
			}
			return len(sim.input.Underway)
		}
		if n := assumed(); n != 1 || !w.waitsForValidation("a") {
			t.Fatalf("%d commands are assumed to be complete, want the one that waits", n)
		}
		w.remove(w.claim("a"))
		if n := assumed(); n != 0 {
			t.Errorf("%d commands are assumed to be complete, although their node is being deleted", n)
		}
		if w.running.planner.reads.builder().Policy.DeviceTimeout == nil {
			t.Error("searches for devices have no timeout")
		}
	})
}

// TestNodesOfADroppedCommandTakePodsAgain: a pod starts on an empty node whose command waits, so that the command is dropped. Until then no pod can
// move to the node, and nothing is found for another one.
func TestNodesOfADroppedCommandTakePodsAgain(t *testing.T) {
	inBubble(t, "consolidation searches again", func(w *harness) {
		l := w.live(ondemand(2))
		w.pool("pool", budget("100%"), underutilized)
		w.pool("target", budget("100%"), usable)
		l.of("pool", "a", "x2")
		w.pod("a", "web", asks(900))
		l.of("target", "b", "x2")
		defer w.run()()
		w.pass(5 * time.Second)
		w.wantLog("[b]")
		w.pod("b", "db", asks(900))
		w.pass(40 * time.Second)
		l.wantInstanceTypes("x2")
	})
}
