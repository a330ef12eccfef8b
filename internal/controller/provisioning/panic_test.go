package provisioning

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// createdAt is a change of a pod.
func createdAt(at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(at) }
}

// TestPanicsDoNotStopProvisioning: the pod that makes the solver panic is found and left out, the others get nodes, and the loop
// never ends.
func TestPanicsDoNotStopProvisioning(t *testing.T) {
	prepare := func(ws watches) {
		ws.w.p.solver = func(p solve.Problem) solve.Plan {
			if slices.ContainsFunc(p.Pods, func(pod *model.Pod) bool { return pod.Name == "bad" }) {
				panic("no such domain")
			}
			return solve.Solve(p)
		}
	}
	metric := "karpenter_scheduler_panics_total"
	script := func(w *harness, ws watches) {
		pods := ws.of(&corev1.Pod{})
		for i := range 7 {
			pods.Add(pendingPod(fmt.Sprintf("honest-%d", i), createdAt(time.Now().Add(-time.Duration(i)*time.Minute))))
		}
		pods.Add(pendingPod("bad", createdAt(time.Now().Add(-90*time.Second))))
		advance(20 * time.Second)
		if n := len(w.claims()); n == 0 {
			t.Error("honest pods have no nodes after 20s")
		}
		advance(20 * time.Second)
		placed := 0
		for _, e := range w.eventsOf("Nominated") {
			if !strings.Contains(e, "honest-") {
				t.Errorf("unexpected event %q", e)
			}
			placed++
		}
		if placed < 7 {
			t.Errorf("%d honest pods are placed after 40s, want 7", placed)
		}
		panics := w.Count(metric)
		if panics < 2 || panics > 8 {
			t.Errorf("%v panics are counted, want 2 to 8", panics)
		}
		told := slices.DeleteFunc(w.eventsOf("FailedScheduling"), func(e string) bool { return !strings.Contains(e, "bad") })
		if len(told) == 0 || !strings.Contains(told[0], "leaves it out until") {
			t.Errorf("events of the pod: %q", told)
		}
		for _, want := range []string{"panic: no such domain", "panic_test.go"} {
			if !strings.Contains(w.log.String(), want) {
				t.Errorf("the log lacks %q", want)
			}
		}
		// It is retried, less and less often.
		advance(10 * time.Minute)
		if again := w.Count(metric) - panics; again < 2 || again > 4 {
			t.Errorf("%v panics in the next ten minutes, want 2 to 4", again)
		}
		pods.Add(pendingPod("late"))
		advance(15 * time.Second)
		if !slices.ContainsFunc(w.eventsOf("Nominated"), func(e string) bool { return strings.Contains(e, "late") }) {
			t.Error("a pod that is created later has no node")
		}
	}
	running(t, prepare, script, readyPool("pool"))
}
