package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// awaitMetric waits until a controller exports a line that begins with this.
func (w *harness) awaitMetric(p *controller, line string) {
	w.t.Helper()
	w.await(fmt.Sprintf("metric %s is exported", line), patience, func() string {
		code, body, err := p.get("metrics", "/metrics")
		if err != nil || code != 200 {
			return fmt.Sprintf("%d %v", code, err)
		}
		name, _, _ := strings.Cut(line, "{")
		var near []string
		for have := range strings.Lines(body) {
			if strings.HasPrefix(have, line) {
				return ""
			}
			if strings.HasPrefix(have, name) {
				near = append(near, strings.TrimSpace(have))
			}
		}
		return fmt.Sprintf("it is not; of that name are %q", near)
	})
}

// TestEndpoints: probes answer, and after a scale-up the metrics of the dashboards exist. The pods have the event that names
// their node.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	w := begin(t)
	p := w.controller()
	for _, path := range []string{"/healthz", "/readyz"} {
		w.await(path+" answers", patience, func() string {
			code, body, err := p.get("health probes", path)
			if err != nil || code != 200 || body != "ok" {
				return fmt.Sprintf("%d %q %v", code, body, err)
			}
			return ""
		})
	}
	w.create(class(), pool(), deployment("web", 3, "500m"))
	w.awaitRunning(3)
	w.awaitNodes(1)
	for _, line := range []string{
		`karpenter_nodeclaims_created_total{min_values_relaxed="false",nodepool="default",reason="provisioned"} 1`,
		`karpenter_nodes_created_total{nodepool="default",zone="test-zone-`,
		`karpenter_nodepools_allowed_disruptions{nodepool="default",`,
		`karpenter_scheduler_scheduling_duration_seconds_count{controller="provisioner"}`,
		`karpenter_scheduler_unschedulable_pods_count{controller="provisioner"} 0`,
		`karpenter_cloudprovider_duration_seconds_count{controller="nodeclaim.lifecycle",method="Create",provider="kwok"} 1`,
		`karpenter_build_info{`,
		`client_go_request_total{`,
		`controller_runtime_reconcile_total{controller="nodeclaim.lifecycle"`,
		`workqueue_depth{`,
		`go_goroutines `,
	} {
		w.awaitMetric(p, line)
	}
	claim := w.claims()[0]
	for _, pod := range w.pods() {
		w.awaitEvent(&pod, "Nominated", "Pod should schedule on: nodeclaim/"+claim.Name)
	}
}
