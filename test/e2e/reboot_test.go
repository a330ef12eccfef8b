package e2e

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// requestReboot requests the reboot of the node of a claim, as any client may: first the limit of the drain, unless it is negative, then the condition.
func (w *harness) requestReboot(claim *v1.NodeClaim, drain time.Duration) {
	w.t.Helper()
	w.await("the reboot is requested", patience, func() string {
		if !w.get(claim) {
			return "the nodeclaim is gone"
		}
		before := claim.DeepCopy()
		if drain >= 0 {
			claim.Annotations[v1.RebootTerminationGracePeriodAnnotationKey] = drain.String()
		}
		if err := w.client.Patch(w.ctx, claim, client.MergeFrom(before)); err != nil {
			return err.Error()
		}
		condition.For(claim, time.Now()).TrueWithReason(v1.ConditionTypeRebooting, v1.RebootReasonRequested, "rebooting for a test")
		if err := w.client.Status().Update(w.ctx, claim); err != nil {
			return err.Error()
		}
		return ""
	})
}

// TestRebootSurvivesKills reboots the only node. The controller is killed during the drain, and the next one continues. A pod that must
// not be disrupted stays during the reboot. The others are evicted and come back to the same node; no other is launched for them, although
// this one has no space for them while the pods that they replace terminate.
func TestRebootSurvivesKills(t *testing.T) {
	t.Attr("covers", "N055 N061 N062 N068")
	t.Parallel()
	w := begin(t)
	first := w.controller()
	w.create(class(), pool(cores("4")), deployment("web", 2, "1", hooked(5, 60)), deployment("held", 1, "1", protected))
	w.awaitRunning(3)
	w.awaitNodes(1)
	node, claim := w.nodes()[0], w.claims()[0]
	before := map[string]string{}
	for _, p := range w.pods() {
		before[string(p.UID)] = p.Labels["app"]
	}

	w.requestReboot(&claim, 20*time.Second)
	w.awaitLog(first, "tainted node")
	w.must(first.Kill())
	if w.get(&claim); condition.Status(&claim, v1.ConditionTypeRebooting) != metav1.ConditionTrue || !w.get(&node) || node.Status.NodeInfo.BootID != "" {
		t.Fatal("the controller was killed too late")
	}
	second := w.controller()
	w.await("the reboot has succeeded", time.Minute, func() string {
		if !w.get(&claim) {
			return "the nodeclaim is gone"
		}
		if c := condition.For(&claim, time.Now()).Get(v1.ConditionTypeRebooting); c.Reason != v1.RebootReasonSucceeded {
			return fmt.Sprintf("%s: %s", c.Reason, c.Message)
		}
		return ""
	})
	w.awaitRunning(3)
	w.awaitNodes(1)
	w.await("the node is initialized again", patience, func() string {
		if !w.get(&node) || node.Labels[v1.NodeInitializedLabelKey] != "true" || len(node.Spec.Taints) > 0 {
			return fmt.Sprintf("labels %v, taints %v", node.Labels, node.Spec.Taints)
		}
		return ""
	})
	if node.Status.NodeInfo.BootID == "" {
		t.Error("the node has not booted")
	}
	for _, p := range w.pods() {
		app, survived := before[string(p.UID)]
		if survived != (p.Labels["app"] == "held") || p.Spec.NodeName != node.Name {
			t.Errorf("pod %s on node %s is one from before the reboot: %v (%s)", p.Name, p.Spec.NodeName, survived, app)
		}
	}
	w.awaitEvent(&claim, "RebootObserved", "New boot observed (bootID changed); awaiting node readiness")
	w.awaitMetric(second, `karpenter_nodes_reboots_total{result="succeeded"} 1`)
}

// TestOpenDrainHoldsNoPods: while a drain without a limit waits for a protected pod, the evicted ones get another node.
func TestOpenDrainHoldsNoPods(t *testing.T) {
	t.Attr("covers", "N054 N055")
	t.Parallel()
	w := begin(t)
	w.controller()
	held := deployment("held", 1, "1", protected)
	w.create(class(), pool(cores("4")), deployment("web", 1, "1"), held)
	w.awaitRunning(2)
	w.awaitNodes(1)
	node, claim := w.nodes()[0], w.claims()[0]

	w.requestReboot(&claim, -1)
	w.awaitNodes(2)
	w.awaitRunning(2)
	for _, p := range w.pods() {
		if (p.Spec.NodeName == node.Name) != (p.Labels["app"] == "held") {
			t.Errorf("pod %s is on node %s", p.Name, p.Spec.NodeName)
		}
	}
	if w.get(&node); node.Status.NodeInfo.BootID != "" {
		t.Error("the node was rebooted with a protected pod")
	}
	w.delete(held)
	w.awaitEvent(&claim, "RebootObserved", "New boot observed")
}

// TestAWSReboot reboots an instance of EC2. A permission that is missing at first is final: that node is replaced.
func TestAWSReboot(t *testing.T) {
	t.Attr("covers", "N059 N303 N304")
	t.Parallel()
	w := begin(t)
	a := w.account("m5.large")
	p := w.controller(a.Flags()...)
	w.create(awsClass("web"), awsPool("web", []string{"m5.large"}), awsPods("web", 1))
	w.awaitCases(map[string]int32{"web": 1})
	w.awaitNodes(1)
	before, claim := w.nodesOf(a, "web")[0], w.claims()[0]

	w.requestReboot(&claim, 0)
	w.await("the node has another boot ID and is initialized again", awsPatience, func() string {
		now := w.nodesOf(a, "web")
		switch {
		case len(now) != 1:
			return fmt.Sprintf("%d nodes are initialized", len(now))
		case now[0].Status.NodeInfo.BootID == before.Status.NodeInfo.BootID:
			return "it has not booted"
		case now[0].Name != before.Name:
			return "it is another node"
		}
		return ""
	})
	if n := len(a.Account.Calls("RebootInstances")); n != 1 {
		t.Errorf("%d calls of RebootInstances", n)
	}
	w.awaitMetric(p, `karpenter_nodes_reboots_total{result="succeeded"} 1`)

	a.Account.Fail("RebootInstances", "UnauthorizedOperation", "You are not authorized to perform this operation.", -1)
	w.requestReboot(&claim, 0)
	w.awaitEvent(&claim, "RebootFailed", "reboot rejected by the cloud provider")
	w.await("the nodeclaim is gone", awsPatience, func() string {
		if w.get(&claim) {
			return "it is not"
		}
		return ""
	})
	w.awaitCases(map[string]int32{"web": 1})
	w.awaitMetric(p, `karpenter_nodes_reboots_total{result="provider_error"} 1`)
}
