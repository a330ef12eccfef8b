package explain

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
)

// disrupting makes a NodeClaim one of a command that is under way.
func disrupting(claim string) func([]client.Object) {
	return change(claim, func(c *v1.NodeClaim) {
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: v1.ConditionTypeDisruptionReason, Status: metav1.ConditionTrue, Reason: "Underutilized"})
	})
}

// TestRebootUnderWay: the command that reboots a node is not in the way of what is known of the reboot.
func TestRebootUnderWay(t *testing.T) {
	got, err := AboutNode(t.Context(), shop(t, quiet, disrupting("web-2"), change("web-2", func(c *v1.NodeClaim) {
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: v1.ConditionTypeRebooting, Status: metav1.ConditionTrue})
	})), "node-2")
	if err != nil {
		t.Fatal(err)
	}
	if o := got.Obstacle; o == nil || o.Code != string(disrupt.Rebooting) || got.Lifetime.UnderWay != "Underutilized" {
		t.Errorf("obstacle %+v, lifetime %+v", o, got.Lifetime)
	}
}

// both puts a small pod on each of the two nodes, which one node could run.
func both(objects []client.Object) {
	for _, f := range (changes{free, budgets(v1.Budget{Nodes: "2"}), small("front-1"), small("small")}) {
		f(objects)
	}
	change("small", func(p *corev1.Pod) { p.Spec.NodeName, p.Status = "node-2", corev1.PodStatus{Phase: corev1.PodRunning} })(objects)
	quiet(objects)
}

// TestNodesTogether: the answers about a NodePool and about its nodes agree on what consolidation of several nodes removes, and on commands under way.
func TestNodesTogether(t *testing.T) {
	for name, c := range map[string]struct {
		changes changes
		want    string
	}{
		"a command for two nodes": {changes{both}, `  Underutilized: 2 could be removed, 2 now (2 allowed at a time, 0 disrupting)
`},
		"a command for another node is under way": {changes{both, disrupting("web-2")}, `  Node node-2 counts against the budgets: the controller is disrupting it (Underutilized)
  1 node not disrupted: node is part of a disruption command (node-2)
    what would help: Wait until the command has ended.
  Empty: 0 could be removed, 0 now (2 allowed at a time, 1 disrupting)
    1 node no: pods on the node would have to move (node-1)
      what would help: Nothing: the node is in use.
  Drifted: 0 could be removed, 0 now (2 allowed at a time, 1 disrupting)
    1 node no: node has not drifted (node-1)
      what would help: Nothing: the node is as it should be.
  Underutilized: 1 could be removed, 1 now (2 allowed at a time, 1 disrupting)
`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := AboutNodePool(t.Context(), shop(t, c.changes...), "web")
			if err != nil {
				t.Fatal(err)
			}
			if text := got.Text(); !strings.HasSuffix(text, c.want) {
				t.Errorf("got:\n%s\nwant at the end:\n%s", text, c.want)
			}
		})
	}
}
