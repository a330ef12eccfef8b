package disruption

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestNodesThatAreTaintedDoNotRunAway: another controller taints each node as soon as it is ready, so that the pods that it was launched for never
// run. New nodes are launched repeatedly, but those before them are empty and removed.
func TestNodesThatAreTaintedDoNotRunAway(t *testing.T) {
	t.Attr("covers", "Z171")
	inBubble(t, "there are never many nodes, and in the end none is left", func(w *harness) {
		l := w.live(ondemand(1, 2, 4))
		l.taint = &corev1.Taint{Key: "example.com/quarantine", Effect: corev1.TaintEffectNoSchedule}
		w.pool("pool", budget("100%"), underutilized)
		for _, name := range []string{"a", "b", "c"} {
			w.pod("", name, asks(900))
		}
		defer w.run()()
		most := 0
		for range 150 { // five minutes
			w.pass(2 * time.Second)
			most = max(most, w.alive())
		}
		if launched := l.launched(); launched < 10 || most > 12 {
			w.Errorf("%d nodes launched, %d at a time", launched, most)
		}
		for _, pod := range l.pods(w.Context()) {
			if pod.Spec.NodeName != "" {
				w.Errorf("pod %s runs on tainted node %s", pod.Name, pod.Spec.NodeName)
			}
			w.remove(pod)
		}
		w.pass(10 * time.Minute)
		l.wantInstanceTypes("")
	})
}

// launched is how many nodes became ready.
func (l *life) launched() int {
	n := 0
	for _, entry := range l.history {
		if entry[0] == '+' {
			n++
		}
	}
	return n
}
