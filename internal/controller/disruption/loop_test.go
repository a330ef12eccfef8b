package disruption

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

const evaluations = "karpenter_voluntary_disruption_decision_evaluation_duration_seconds"

func TestRhythm(t *testing.T) {
	t.Attr("covers", "C260 C261 C267")
	inBubble(t, "without commands every method is evaluated once in ten seconds", func(w *harness) {
		w.pool("pool", budget("100%"))
		defer w.run()()
		w.pass(5 * time.Second)
		for n := range 6 {
			for _, labels := range [][]string{
				{"reason=empty", "consolidation_type=empty"},
				{"reason=underutilized", "consolidation_type=multi"},
				{"reason=underutilized", "consolidation_type=single"},
			} {
				w.wantMetric(evaluations, float64(n+1), labels...)
			}
			w.wantMetric(evaluations, float64(2*(n+1)), "reason=drifted", "consolidation_type=") // of static pools and of others
			w.pass(10 * time.Second)
		}
	})
	inBubble(t, "after a command the next pass follows immediately", func(w *harness) {
		l := w.live(ondemand(1))
		w.pool("pool", budget("100%"), usable)
		l.of("pool", "empty", "x1")
		l.of("pool", "drifted", "x1")
		w.pod("drifted", "web", asks(900))
		w.drift("drifted")
		before := w.age()
		defer w.run()()
		if w.age() != before {
			w.Fatal("time has passed")
		}
		w.wantLog(`command="Empty/`)
		w.wantMetric("karpenter_voluntary_disruption_decisions_total", 1, "reason=drifted")
	})
}

// TestMethodsInOrder: each pass of a controller whose loop does not run takes only the next method that has a command.
func TestMethodsInOrder(t *testing.T) {
	t.Attr("covers", "C262 C263 C344")
	inBubble(t, "first emptiness, then static drift, drift, several nodes, one node", func(w *harness) {
		l := w.live(ondemand(1, 2, 4, 8))
		l.launch.Store(-1)
		w.pool("pool", budget("1"), underutilized)
		w.pool("trio", budget("100%"), underutilized)
		w.pool("fixed", budget("100%"), usable, func(p *v1.NodePool) { p.Spec.Replicas = new(int64(1)) })
		own := func(pool string) func(*corev1.Pod) {
			return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{v1.NodePoolLabelKey: pool} }
		}
		large := func(pool string) {
			w.pool(pool, budget("100%"), underutilized)
			l.of(pool, pool, "x8")
			w.pod(pool, "pod-"+pool, asks(900), own(pool))
		}
		large("old")
		l.of("pool", "empty", "x1")
		l.of("fixed", "static", "x1")
		for _, name := range []string{"trio-1", "trio-2", "trio-3"} {
			l.of("trio", name, "x2")
			w.pod(name, "pod-"+name, asks(1300), own("trio"))
		}
		w.drift("static", "empty", "old")
		c := New(w.deps)
		ctx, cancel := context.WithCancel(w.Context())
		defer c.executor.running.Wait()
		defer cancel()
		var ways []string
		for i := range 6 {
			if i == 4 {
				large("alone")
			}
			from := len(w.logs.String())
			acted, err := c.planner.safePass(ctx)
			if err != nil {
				w.Fatal(err)
			}
			w.pass(0) // until what was begun waits for something
			var proposed []string
			for line := range strings.Lines(w.logs.String()[from:]) {
				if !strings.Contains(line, "proposing disruption") {
					continue
				}
				_, command, _ := strings.Cut(line, "command=")
				_, nodes, _ := strings.Cut(command, "]: ")
				proposed = append(proposed, strings.Trim(upTo(command, "/"), `"`)+" "+upTo(nodes, "]")+"]")
			}
			if acted != (len(proposed) > 0) {
				w.Errorf("acted %t, proposed %v", acted, proposed)
			}
			ways = append(ways, strings.Join(proposed, " and "))
		}
		want := []string{"Empty [empty]", "Drifted [static]", "Drifted [old]", "Underutilized [trio-1, trio-2, trio-3]", "Underutilized [alone]", ""}
		if fmt.Sprint(ways) != fmt.Sprint(want) {
			w.Errorf("ways %q, want %q", ways, want)
		}
	})
}

// TestNoSearchIsDoneThatRanOutOfTime: a search that ends by its deadline does not keep the next pass from searching.
func TestNoSearchIsDoneThatRanOutOfTime(t *testing.T) {
	t.Attr("covers", "C429")
	inBubble(t, "without a command", func(w *harness) {
		l := w.live(ondemand(2, 4))
		w.pool("pool", budget("100%"), underutilized)
		for _, name := range []string{"a", "b", "c"} {
			l.of("pool", name, "x2")
			w.pod(name, "pod-"+name, asks(1300))
		}
		clock := &leapingClock{Clock: w.deps.Clock}
		w.deps.Clock = clock
		asked := 0
		w.provider.asked = func() {
			asked++
			clock.leap(asked == 2) // when the first search begins
		}
		defer w.run()()
		w.pass(time.Second)
		w.wantMetric("karpenter_voluntary_disruption_consolidation_timeouts_total", 1, "consolidation_type=multi")
		w.pass(time.Minute)
		w.wantMetric("karpenter_voluntary_disruption_decisions_total", 1, "consolidation_type=multi")
	})
}

// upTo is what stands before the separator.
func upTo(text, separator string) string {
	out, _, _ := strings.Cut(text, separator)
	return out
}
