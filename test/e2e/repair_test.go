package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// sicken makes a node report that it has not been ready for this long, and stops the simulator from resetting it.
func (w *harness) sicken(node *corev1.Node, since time.Duration) {
	w.t.Helper()
	change(w, node, func(n *corev1.Node) {
		if n.Annotations == nil {
			n.Annotations = map[string]string{}
		}
		n.Annotations["local.karpenter-anew.dev/hands-off"] = "true"
	})
	w.await("the node is not ready", patience, func() string {
		if !w.get(node) {
			return "it is gone"
		}
		for i := range node.Status.Conditions {
			if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
				c.Status, c.Reason = corev1.ConditionFalse, "KubeletNotReady"
				c.LastTransitionTime = metav1.NewTime(time.Now().Add(-since))
			}
		}
		if err := w.client.Status().Update(w.ctx, node); err != nil {
			return err.Error()
		}
		return ""
	})
}

// TestUnhealthyNodeIsRepaired: with legacy node repair, a node that is not ready for too long is replaced, whatever its pod and its pool
// forbid; while too many are unhealthy, none is.
func TestUnhealthyNodeIsRepaired(t *testing.T) {
	t.Attr("covers", "C500 C506 C507")
	t.Parallel()
	w := begin(t)
	p := w.controller("--feature-gates=NodeRepair=true", "--legacy-node-repair")
	web := deployment("web", 2, "3", protected)
	w.create(class(), pool(cores("4"), func(p *v1.NodePool) { p.Spec.Disruption.Budgets = []v1.Budget{{Nodes: "0"}} }), web)
	w.awaitRunning(2)
	w.awaitNodes(2)
	nodes := w.nodes()
	first, second := nodes[0], nodes[1]

	w.sicken(&first, 5*time.Minute)
	w.sicken(&second, time.Hour)
	w.awaitEvent(&second, "NodeRepairBlocked", "more than 20% nodes are unhealthy in the nodepool")

	change(w, &second, func(n *corev1.Node) { delete(n.Annotations, "local.karpenter-anew.dev/hands-off") })
	w.await("the second node is ready again", patience, func() string {
		if w.get(&second); ready(&second) {
			return ""
		}
		return "it is not"
	})
	w.stays("a node that is unhealthy for a short time is kept", 3*time.Second, func() string {
		if !w.get(&first) || first.DeletionTimestamp != nil {
			return "it goes"
		}
		return ""
	})
	w.sicken(&first, time.Hour)
	w.await("the unhealthy node is gone", time.Minute, func() string {
		if w.get(&first) {
			return fmt.Sprintf("taints %v, deleted at %v", first.Spec.Taints, first.DeletionTimestamp)
		}
		return ""
	})
	w.awaitRunning(2)
	w.awaitNodes(2)
	if !w.get(&second) || second.DeletionTimestamp != nil {
		t.Error("the node that is well again was repaired too")
	}
	w.awaitMetric(p, `karpenter_nodeclaims_unhealthy_disrupted_total{capacity_type="spot",condition="ready",image_id="",nodepool="default",termination_mode="graceful"} 1`)
}

// ready is the Ready condition of the node.
func ready(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
