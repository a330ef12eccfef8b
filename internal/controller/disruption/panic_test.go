package disruption

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
)

// panicking makes the methods that simulate panic when they consider the node.
func panicking(methods []disrupt.Method, node string) []disrupt.Method {
	out := slices.Clone(methods)
	for i, m := range methods {
		if m.Simulates == disrupt.NoSimulation {
			continue
		}
		out[i].Decide = func(s disrupt.Session, fit []disrupt.Candidate) disrupt.Decision {
			s.Each(len(fit), func(_ *disrupt.Simulator, i int) {
				if fit[i].Node.Name == node {
					panic("no such domain")
				}
			})
			return m.Decide(s, fit)
		}
	}
	return out
}

const panics = "karpenter_scheduler_panics_total"

// TestPanicsDoNotStopDisruption: wherever the engine panics, the process goes on and other nodes are disrupted.
func TestPanicsDoNotStopDisruption(t *testing.T) {
	inBubble(t, "in a pass", func(w *harness) {
		l := w.live(ondemand(1, 8))
		w.pool("pool", budget("100%"), underutilized)
		for _, name := range []string{"a", "b", "bad", "d", "e"} {
			l.of("pool", name, "x8")
			w.pod(name, "pod-"+name, asks(900))
		}
		l.of("pool", "empty", "x1")
		c := New(w.deps)
		c.planner.methods = panicking(c.planner.methods, "bad")
		if err := c.Register(fakeManager{w: w}); err != nil {
			t.Fatal(err)
		}
		defer w.launch(c.Start)()
		w.pass(20 * time.Second)
		if strings.Contains(l.instanceTypes(), "x1") {
			t.Error("the empty node is still there after 20s")
		}
		w.pass(5 * time.Minute)
		l.wantInstanceTypes("x8") // that of the node with the panics, which takes the pods of the others
		w.wantUnmarked("bad")
		w.wantLog("panic: no such domain")
		w.wantLog("panic_test.go")
		w.wantLog("leaving nodes alone after a panic")
		if n := w.metric(panics, "controller=disruption"); n < 2 || n > 10 {
			t.Errorf("%v panics are counted, want 2 to 10", n)
		}
	})
	inBubble(t, "while a command is validated", func(w *harness) {
		l := w.live(ondemand(1, 8))
		w.pool("pool", budget("100%"), underutilized)
		l.of("pool", "a", "x8")
		w.pod("a", "web", asks(900))
		broken := false
		w.provider.asked = func() {
			if !broken && w.running != nil && len(w.running.queue.due(time.Now())) > 0 {
				broken = true
				panic("no such domain")
			}
		}
		defer w.run()()
		w.pass(20 * time.Second)
		if !broken || w.metric(panics) != 1 {
			t.Fatalf("%v panics are counted, want 1", w.metric(panics))
		}
		w.wantUnmarked("a")
		w.pass(2 * time.Minute)
		l.wantInstanceTypes("x1")
	})
	inBubble(t, "while a command is carried out", func(w *harness) {
		l := w.live(ondemand(1, 8))
		w.pool("pool", budget("100%"), underutilized)
		l.of("pool", "a", "x8")
		w.pod("a", "web", asks(900))
		broken := false
		w.fail(func(op string, obj runtime.Object) error {
			if _, node := obj.(*corev1.Node); node && op == "patch" && !broken {
				broken = true
				panic("no such domain")
			}
			return nil
		})
		defer w.run()()
		w.pass(20 * time.Second)
		if !broken || w.metric(panics) != 1 {
			t.Fatalf("%v panics are counted, want 1", w.metric(panics))
		}
		if !strings.Contains(w.logs.String(), "abandoning it") {
			t.Error("the log does not say that the command is abandoned")
		}
		w.pass(2 * time.Minute)
		l.wantInstanceTypes("x1")
	})
}
