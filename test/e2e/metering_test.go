package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestStateIsExported: nodes, pods, pools and conditions have metrics, which are removed with their objects.
func TestStateIsExported(t *testing.T) {
	t.Parallel()
	w := begin(t)
	p := w.controller()
	web := deployment("web", 1, "3")
	w.create(class(), pool(cores("4"), limit(corev1.ResourceCPU, "100")), web)
	w.awaitRunning(1)
	w.awaitNodes(1)
	node, claim, pod := w.nodes()[0], w.claims()[0], w.pods()[0]
	w.awaitMetric(p, `karpenter_nodepools_limit{nodepool="default",resource_type="cpu"} 100`)
	w.awaitMetric(p, `karpenter_nodepools_usage{nodepool="default",resource_type="cpu"} 4`)
	w.awaitMetric(p, `karpenter_nodes_allocatable{arch="amd64",capacity_type="spot",instance_cpu="4"`)
	w.awaitMetric(p, `karpenter_cluster_utilization_percent{resource_type="cpu"} 76.9`)
	w.awaitMetric(p, `karpenter_pods_state{arch="amd64",capacity_type="spot",instance_type="c-4x-amd64-linux",managed="true",name="`+pod.Name+`"`)
	w.awaitMetric(p, `karpenter_pods_bound_duration_seconds_count{dynamic_resources="false"} 1`)
	w.awaitMetric(p, `karpenter_pods_startup_duration_seconds_count 1`)
	w.awaitMetric(p, `operator_nodeclaim_status_condition_count{karpenter_kwok_sh_kwoknodeclass="default",karpenter_sh_nodepool="default",name="`+claim.Name+`",namespace="",reason="Initialized",status="True",type="Initialized"} 1`)
	w.awaitMetric(p, `operator_status_condition_count{group="karpenter.sh",kind="NodePool",name="default",namespace="",reason="Ready",status="True",type="Ready"} 1`)
	w.awaitMetric(p, `operator_node_status_condition_transitions_total{karpenter_kwok_sh_kwoknodeclass="default",karpenter_sh_initialized="",karpenter_sh_nodepool="default"`)
	w.awaitEvent(&claim, "Launched", "Status condition transitioned, Type: Launched, Status: Unknown -> True, Reason: Launched")

	w.delete(web)
	w.delete(&node)
	w.awaitNodes(0)
	w.await("nothing is shown of what is gone", patience, func() string {
		_, body, err := p.get("metrics", "/metrics")
		if err != nil {
			return err.Error()
		}
		for line := range strings.Lines(body) {
			if strings.Contains(line, `"`+node.Name+`"`) || strings.Contains(line, `"`+pod.Name+`"`) || strings.Contains(line, `"`+claim.Name+`"`) {
				return fmt.Sprintf("there is %s", line)
			}
		}
		return ""
	})
	w.awaitMetric(p, `operator_nodeclaim_termination_duration_seconds_count{karpenter_kwok_sh_kwoknodeclass="default",karpenter_sh_nodepool="default"} 1`)
}

// TestStateIsNotExportedWhenDisabled: a flag disables the metrics of objects and the events about conditions.
func TestStateIsNotExportedWhenDisabled(t *testing.T) {
	t.Parallel()
	w := begin(t)
	p := w.controller("--disable-cluster-state-observability")
	w.create(class(), pool(), deployment("web", 1, "500m"))
	w.awaitRunning(1)
	w.awaitNodes(1)
	w.awaitMetric(p, `karpenter_nodes_created_total{nodepool="default"`)
	_, body, err := p.get("metrics", "/metrics")
	w.must(err)
	for line := range strings.Lines(body) {
		for _, off := range []string{"operator_", "karpenter_pods_state{", "karpenter_nodes_allocatable{", "karpenter_nodepools_usage{"} {
			if strings.HasPrefix(line, off) {
				t.Errorf("exported: %s", line)
			}
		}
	}
	claim := w.claims()[0]
	if told := w.events(&claim, "Launched"); len(told) > 0 {
		t.Errorf("events %q", told)
	}
}
