package disruption

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

func (w *harness) wantNoErrors() {
	w.Helper()
	if strings.Contains(w.logs.String(), "level=ERROR") {
		w.Errorf("errors in the log:\n%s", w.logs.String())
	}
}

// replacing begins to replace the drifted node "a" with its one pod.
func (w *harness) replacing(launch time.Duration) *life {
	l := w.live(ondemand(2))
	w.pool("pool", budget("100%"), usable)
	l.of("pool", "a", "x2")
	w.pod("a", "web", asks(900))
	l.launch.Store(int64(launch))
	w.drift("a")
	w.ends = append(w.ends, w.run())
	return l
}

func TestWaiting(t *testing.T) {
	t.Attr("covers", "C466 C467 C472 C475 C477 C478 C482")
	inBubble(t, "for a node is no error, and the command is kept", func(w *harness) {
		l := w.replacing(9 * time.Minute)
		w.pass(8 * time.Minute)
		w.wantNoErrors()
		w.wantDeleted()
		if !disrupted(w.node("a")) {
			w.Error("the node went back to service")
		}
		w.pass(2 * time.Minute)
		l.wantInstanceTypes("x2")
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 1)
		w.wantMetric("karpenter_nodeclaims_created_total", 1)
	})
	inBubble(t, "a replacement that was created and is not cached yet is waited for", func(w *harness) {
		hidden := atomic.Bool{}
		hidden.Store(true)
		w.hide = func(name string, _ runtime.Object) error {
			if hidden.Load() && strings.HasPrefix(name, "pool-") {
				return apierrors.NewNotFound(schema.GroupResource{Resource: "nodeclaims"}, name)
			}
			return nil
		}
		l := w.replacing(time.Hour)
		w.pass(10 * time.Second)
		w.wantMetric("karpenter_nodeclaims_created_total", 1)
		w.wantNoErrors()
		if !disrupted(w.node("a")) {
			w.Error("the command has ended")
		}
		hidden.Store(false)
		l.launch.Store(int64(time.Second))
		w.pass(time.Minute)
		l.wantInstanceTypes("x2")
		w.wantMetric("karpenter_nodeclaims_created_total", 1)
	})
	inBubble(t, "without replacements nodes are deleted immediately", func(w *harness) {
		l := w.live(ondemand(2))
		w.pool("pool", budget("100%"), usable, func(p *v1.NodePool) { p.Spec.Disruption.ConsolidateAfter = v1.NillableDuration{} })
		l.of("pool", "a", "x2")
		w.drift("a")
		before := w.age()
		defer w.run()()
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 1, "reason=drifted")
		if w.age() != before {
			w.Error("time has passed")
		}
	})
	inBubble(t, "replacements are created before nodes are marked", func(w *harness) {
		var marked atomic.Bool
		w.fail(func(op string, obj runtime.Object) error {
			if _, ok := obj.(*v1.NodeClaim); ok && op == "create" {
				n, _ := w.store.Snapshot().Nodes.Get("test://a")
				marked.Store(n != nil && n.Deleting && disrupted(w.node("a")))
			}
			return nil
		})
		l := w.replacing(time.Minute)
		w.pass(30 * time.Second)
		w.wantMetric("karpenter_nodeclaims_created_total", 1, "reason=drifted")
		if marked.Load() {
			w.Error("the node was marked before its replacement was asked for")
		}
		if n, _ := w.store.Snapshot().Nodes.Get("test://a"); !n.Deleting {
			w.Error("the node is not marked")
		}
		w.pass(5 * time.Minute)
		l.wantInstanceTypes("x2")
		w.wantMetric("karpenter_nodeclaims_created_total", 1)
	})
	inBubble(t, "a pod that appears while a replacement is launching causes no second node", func(w *harness) {
		l := w.replacing(time.Minute)
		l.early.Store(true)
		w.pass(20 * time.Second)
		w.pod("", "late", asks(900))
		w.pass(5 * time.Minute)
		l.wantInstanceTypes("x2")
		w.wantMetric("karpenter_nodeclaims_created_total", 1)
	})
	inBubble(t, "a node that was launched for pods of a deleted node is not consolidated before they are bound", func(w *harness) {
		l := w.live(ondemand(2))
		w.pool("pool", budget("100%"), underutilized)
		l.of("pool", "a", "x2")
		w.pod("a", "web", asks(900))
		defer w.run()()
		l.stuck.Store(true) // the drain does not get on
		w.remove(w.claim("a"))
		w.pass(2 * time.Minute)
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 0)
		l.wantInstanceTypes("x2 x2")
		l.stuck.Store(false)
		w.pass(2 * time.Minute)
		l.wantInstanceTypes("x2")
		w.wantMetric("karpenter_nodeclaims_created_total", 1)
	})
	inBubble(t, "nodes that can be deleted only after the deadline are deleted nevertheless", func(w *harness) {
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		began := time.Now()
		w.fail(func(op string, obj runtime.Object) error {
			// The command starts after 15 seconds and has ten minutes.
			if on(op, obj, "delete", "a") && time.Since(began) < 10*time.Minute+15*time.Second+100*time.Millisecond {
				return errors.New("overloaded")
			}
			return nil
		})
		defer w.run()()
		w.pass(10*time.Minute + 14*time.Second)
		w.wantDeleted()
		w.pass(3 * time.Second)
		w.wantDeleted("a")
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 1)
		w.wantMetric("karpenter_voluntary_disruption_queue_failures_total", 0)
		if !disrupted(w.node("a")) {
			w.Error("the node went back to service")
		}
	})
}

func TestCommandTimeout(t *testing.T) {
	t.Attr("covers", "C474")
	for candidates, want := range map[int]time.Duration{
		0: 10 * time.Minute, 1: 10 * time.Minute, 7500: 10 * time.Minute, 7501: 10*time.Minute + 80*time.Millisecond,
		10_000: 13*time.Minute + 20*time.Second, 40_000: 53*time.Minute + 20*time.Second, 45_000: time.Hour, 1_000_000: time.Hour,
	} {
		if got := commandTimeout(candidates); got != want {
			t.Errorf("%d nodes: %s, want %s", candidates, got, want)
		}
	}
}

// TestEveryWayHasItsLabels: a command is counted once per decision and once per pool.
func TestEveryWayHasItsLabels(t *testing.T) {
	t.Attr("covers", "C479 C480")
	for _, tt := range []struct {
		name, decision, reason, kind string
		set                          func(l *life)
	}{
		{"one empty node", "delete", "empty", "empty", func(l *life) { l.of("pool", "a", "x2") }},
		{"two empty nodes of two pools", "delete", "empty", "empty", func(l *life) {
			l.of("pool", "a", "x2")
			l.of("other", "b", "x2")
		}},
		{"one node to delete", "delete", "underutilized", "single", func(l *life) {
			l.of("pool", "a", "x2")
			l.pod("a", "web", asks(900))
			l.unmanagedNode("b", 2)
		}},
		{"one node to replace", "replace", "underutilized", "single", func(l *life) {
			l.of("pool", "a", "x4")
			l.pod("a", "web", asks(900))
		}},
		{"two nodes of two pools to delete", "delete", "underutilized", "multi", func(l *life) {
			l.of("pool", "a", "x2")
			l.of("other", "b", "x2")
			l.pod("a", "web", asks(900))
			l.pod("b", "api", asks(900))
			l.unmanagedNode("c", 2)
		}},
		{"three nodes of two pools to replace", "replace", "underutilized", "multi", func(l *life) {
			for i, name := range []string{"a", "b", "c"} {
				l.of([]string{"pool", "other", "pool"}[i], name, "x2")
				l.pod(name, "pod-"+name, asks(1300))
			}
		}},
		{"a drifted node to delete", "delete", "drifted", "", func(l *life) {
			l.of("pool", "a", "x2")
			l.drift("a")
		}},
		{"a drifted node to replace", "replace", "drifted", "", func(l *life) {
			l.of("pool", "a", "x1")
			l.pod("a", "web", asks(900))
			l.drift("a")
		}},
	} {
		inBubble(t, tt.name, func(w *harness) {
			l := w.live(ondemand(1, 2, 4))
			for _, pool := range []string{"pool", "other"} {
				w.pool(pool, budget("100%"), underutilized, func(p *v1.NodePool) {
					if tt.reason == "drifted" {
						p.Spec.Disruption.ConsolidateAfter = v1.NillableDuration{}
					}
				})
			}
			tt.set(l)
			defer w.run()()
			w.pass(17 * time.Second)
			labels := []string{"decision=" + tt.decision, "reason=" + tt.reason, "consolidation_type=" + tt.kind}
			const once, each = "karpenter_voluntary_disruption_decisions_total", "karpenter_voluntary_disruption_decisions_by_nodepool_total"
			w.wantMetric(once, 1, labels...)
			w.wantMetric(once, 1)
			w.wantMetric(each, 1, append(labels, "nodepool=pool")...)
			others := 0.0
			if strings.Contains(tt.name, "two pools") {
				others = 1
			}
			w.wantMetric(each, others, append(labels, "nodepool=other")...)
			w.wantMetric(each, 1+others)
		})
	}
}

// TestNodesThatBeginToGo: a node that is deleted during a decision gets no event, and other nodes are disrupted.
func TestNodesThatBeginToGo(t *testing.T) {
	t.Attr("covers", "C485")
	inBubble(t, "without an event", func(w *harness) {
		l := w.live(ondemand(1, 8))
		w.pool("pool", budget("1"), underutilized)
		for _, name := range []string{"a", "b"} {
			l.of("pool", name, "x8")
			w.pod(name, "pod-"+name, asks(5000))
		}
		gone := false
		w.provider.asked = func() {
			if !gone {
				gone = true
				w.remove(w.claim("a"))
			}
		}
		defer w.run()()
		w.pass(10 * time.Second)
		w.wantNoErrors()
		w.wantNoEvent("Unconsolidatable node/a")
		w.pass(10 * time.Minute)
		w.wantNoErrors()
		l.wantInstanceTypes("x8 x8")
	})
}
