package provisioning

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

func TestWhatEveryPassFindsAgainIsLoggedOnceInAWhile(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	p := &Provisioner{Deps: Deps{Shared: deps.Shared{Clock: clk}}, logged: ttlcache.New[string, bool](clk, repeatAfter)}
	step := func(about string) slog.Level {
		clk.Step(10 * time.Second)
		return p.level(slog.LevelError, about)
	}
	if got := step("pod a"); got != slog.LevelError {
		t.Errorf("first time: %v", got)
	}
	if got := step("pod a"); got != slog.LevelDebug {
		t.Errorf("again: %v", got)
	}
	if got := step("pod a, another reason"); got != slog.LevelError {
		t.Errorf("something else: %v", got)
	}
	clk.Step(repeatAfter)
	if got := step("pod a"); got != slog.LevelError {
		t.Errorf("after a while: %v", got)
	}
}

// TestARefusalIsLoggedOnceForEachPod: the same pods in larger groups are no news, and neither is a pool that a user deletes.
func TestARefusalIsLoggedOnceForEachPod(t *testing.T) {
	w := newHarness(t, readyPool("pool"))
	nowhere := selecting(corev1.LabelTopologyZone, "nowhere")
	check := func(level string, want int) {
		t.Helper()
		w.decide()
		if got := strings.Count(w.log.String(), "level="+level+" msg=\"could not schedule pod(s)\""); got != want {
			t.Errorf("%d lines of level %s, want %d:\n%s", got, level, want, w.log.String())
		}
	}
	w.see(pendingPod("a", nowhere), pendingPod("b", nowhere))
	check("ERROR", 1)
	check("ERROR", 1)
	w.see(pendingPod("c", nowhere))
	check("ERROR", 2)
	w.store.DeletePod("a")
	check("ERROR", 2)
	fakecluster.Change(w.Cluster, readyPool("pool"), func(p *v1.NodePool) { p.Finalizers = []string{"test/keep"} })
	w.Delete(readyPool("pool"))
	w.see(pendingPod("d", nowhere))
	check("ERROR", 2)
	check("INFO", 1)
}

// TestADaemonSetThatFitsNowhereIsToldOnce: its pods stay pending, other pods get nodes, and its owner sees why.
func TestADaemonSetThatFitsNowhereIsToldOnce(t *testing.T) {
	w := newHarness(t, readyPool("pool"))
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent", UID: "agent-uid"}}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: fakecluster.Resources("cpu", "1000")}}}
	w.store.Daemons.Update(set)
	for _, name := range []string{"a", "b"} {
		w.see(pendingPod(name))
		w.decide()
	}
	if got := len(w.claims()); got == 0 {
		t.Error("no node is launched")
	}
	if got := w.eventsOf("DaemonSetTooLarge"); len(got) != 1 || !strings.Contains(got[0], "No instance type of NodePool pool") {
		t.Errorf("events %q", got)
	}
	if got := strings.Count(w.log.String(), "level=WARN msg=\"planning without the daemonset"); got != 1 {
		t.Errorf("%d warnings:\n%s", got, w.log.String())
	}
}
