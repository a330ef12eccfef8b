package e2e

import (
	"fmt"
	"testing"
	"time"
)

// reconnectPatience is how long clients may take to reconnect to an API server that was down: each client waits longer after
// every failure, half a minute at most, and a pod runs only when scheduler, node simulator and controller are all back.
const reconnectPatience = 2 * time.Minute

// TestAPIServerRestart stops the API server for some seconds, once while pods are pending and once while
// nodes register. Afterwards all pods run on as many nodes as without the outage.
func TestAPIServerRestart(t *testing.T) {
	t.Parallel()
	const pods, nodes, down = 20, 3, 6 * time.Second
	for _, tc := range []struct {
		moment  string
		reached func(w *harness) string
	}{
		// Before kube-scheduler has tried a pod, it is not pending for the controller: some of the pods would get nodes before the others.
		{"pods are pending", func(w *harness) string {
			if n := w.unschedulable(); n < pods {
				return fmt.Sprintf("%d pods", n)
			}
			return ""
		}},
		{"nodes are registering", func(w *harness) string {
			if n := len(w.claims()); n < nodes {
				return fmt.Sprintf("%d nodeclaims", n)
			}
			return ""
		}},
	} {
		t.Run(tc.moment, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			p := w.launch("--disable-leader-election")
			w.awaitLog(p, "elected leader")
			w.create(slowClass(2*time.Second), pool(cores("4")), deployment("web", pods, "500m"))
			w.await(tc.moment, patience, func() string { return tc.reached(w) })
			w.must(w.plane.RestartAPIServer(w.ctx, down))
			back := time.Now()

			w.await(fmt.Sprintf("%d pods run", pods), reconnectPatience, func() string { return w.notRunning(pods) })
			w.awaitNodes(nodes)
			t.Logf("everything runs %s after the API server came back", time.Since(back).Round(time.Millisecond))
			w.stays("there are as many nodes as needed", 3*time.Second, func() string { return w.notPaired(nodes) })
			if p.Ended() {
				t.Errorf("the controller did not survive the outage: %s", p.State())
			}
		})
	}
}
