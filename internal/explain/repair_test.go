package explain

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// unhealthy gives a node a condition that kwok repairs after 30 seconds.
func unhealthy(node, kind string, since time.Duration) func([]client.Object) {
	return change(node, func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: corev1.NodeConditionType(kind), Status: corev1.ConditionTrue, Reason: "Broken", LastTransitionTime: metav1.NewTime(noon().Add(-since)),
		})
	})
}

// TestUnhealthyNode: the answer says which condition calls for a repair, whether and when the node is repaired, and what is in the way.
func TestUnhealthyNode(t *testing.T) {
	const broken = "  Unhealthy: KWOKUnhealthy=True since 2026-01-02T11:59:00Z, tolerated for 30s, then ReplaceNode with at most 45s to drain\n"
	annotated := func(key string) func([]client.Object) {
		return change("node-1", func(n *corev1.Node) { n.Annotations = map[string]string{key: "true"} })
	}
	for _, c := range []struct {
		name    string
		changes changes
		want    string
	}{
		{"replaced", changes{full, unhealthy("node-1", "KWOKUnhealthy", time.Minute)}, broken + "    would be replaced by c-4x-amd64-linux, saving $0.0000/h, now\n"},
		{"rebooted", changes{unhealthy("node-1", "KWOKRebootRequired", time.Minute)}, "  Unhealthy: KWOKRebootRequired=True since 2026-01-02T11:59:00Z, tolerated for 30s, then RebootNode with at most 1m0s to drain\n" +
			"    would be rebooted now\n"},
		{"tolerated", changes{unhealthy("node-1", "KWOKUnhealthy", 10*time.Second)}, "    blocked: conditions of the node are tolerated for some time\n    until 2026-01-02T12:00:20Z\n"},
		{
			"tolerated, and then do-not-repair",
			changes{unhealthy("node-1", "KWOKUnhealthy", 10*time.Second), annotated(v1.DoNotRepairAnnotationKey)},
			"    blocked: conditions of the node are tolerated for some time\n    until 2026-01-02T12:00:20Z\n" +
				"    what would help: Wait, or repair the node.\n" +
				"    then blocked: repair is blocked through the \"karpenter.sh/do-not-repair\" annotation\n" +
				"      what would help: Remove the annotation karpenter.sh/do-not-repair from the node.\n",
		},
		{"do-not-repair", changes{unhealthy("node-1", "KWOKUnhealthy", time.Minute), annotated(v1.DoNotRepairAnnotationKey)}, broken +
			"    blocked: repair is blocked through the \"karpenter.sh/do-not-repair\" annotation\n"},
		{
			"do-not-disrupt",
			changes{full, unhealthy("node-1", "KWOKUnhealthy", time.Minute), annotated(v1.DoNotDisruptAnnotationKey)},
			broken + "    would be replaced by c-4x-amd64-linux, saving $0.0000/h, now\n",
		},
		{"without a budget", changes{unhealthy("node-1", "KWOKUnhealthy", time.Minute), budgets(v1.Budget{Nodes: "0"})}, broken +
			"    blocked: budgets of NodePool \"web\" allow no further disruption\n    0 allowed at a time, 0 disrupting; the tightest budget is 0: 0 at a time\n"},
		{"of a static pool at its limit", changes{static, unhealthy("node-1", "KWOKUnhealthy", time.Minute)}, broken +
			"    would be terminated before its replacement launches (static-at-limit), now\n"},
		{"many are unhealthy", changes{unhealthy("node-1", "KWOKUnhealthy", time.Minute), unhealthy("node-2", "KWOKUnhealthy", time.Minute)}, broken +
			"    blocked: more than 20% of nodes in nodepool \"web\" are unhealthy\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := shop(t, append(changes{quiet}, c.changes...)...)
			q.Options.NodeRepair, q.Options.TerminateFirstRepair = true, true
			got, err := AboutNode(t.Context(), q, "node-1")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got.Text(), c.want) {
				t.Errorf("got:\n%s\nwithout:\n%s", got.Text(), c.want)
			}
			q.Options.NodeRepair = false
			if got, err = AboutNode(t.Context(), q, "node-1"); err != nil || strings.Contains(got.Text(), "Unhealthy") {
				t.Errorf("%v, and without the feature gate:\n%s", err, got.Text())
			}
		})
	}
}

// TestUnhealthyNodesOfPool: the answer about a NodePool says how many unhealthy nodes are repaired, and what its budgets allow for that reason.
func TestUnhealthyNodesOfPool(t *testing.T) {
	for _, c := range []struct {
		name    string
		changes changes
		want    string
	}{
		{"all are healthy", nil, "  Unhealthy: 0 could be repaired, 0 now (1 allowed at a time, 0 disrupting)\n  Empty: "},
		{
			"one is unhealthy",
			changes{full, unhealthy("node-1", "KWOKUnhealthy", time.Minute)},
			"  Unhealthy: 1 could be repaired, 1 now (1 allowed at a time, 0 disrupting)\n  Empty: ",
		},
		{
			"without a budget",
			changes{full, unhealthy("node-1", "KWOKUnhealthy", time.Minute), budgets(v1.Budget{Nodes: "0", Reasons: []v1.DisruptionReason{v1.DisruptionReasonUnhealthy}})},
			"  Unhealthy: 1 could be repaired, 0 now (0 allowed at a time, 0 disrupting)\n  Empty: ",
		},
		{
			"tolerated",
			changes{unhealthy("node-1", "KWOKUnhealthy", 10*time.Second)},
			"  Unhealthy: 0 could be repaired, 0 now (1 allowed at a time, 0 disrupting)\n" +
				"    1 node blocked: conditions of the node are tolerated for some time (node-1)\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := shop(t, append(changes{quiet}, c.changes...)...)
			q.Options.NodeRepair = true
			got, err := AboutNodePool(t.Context(), q, "web")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got.Text(), c.want) {
				t.Errorf("got:\n%s\nwithout:\n%s", got.Text(), c.want)
			}
			if len(got.Allowances) != len(got.Disruption) || got.Disruption[0].Reason != string(v1.DisruptionReasonUnhealthy) {
				t.Errorf("%d allowances for %d reasons, first %s", len(got.Allowances), len(got.Disruption), got.Disruption[0].Reason)
			}
			q.Options.NodeRepair = false
			if got, err = AboutNodePool(t.Context(), q, "web"); err != nil || strings.Contains(got.Text(), "\n  Unhealthy:") {
				t.Errorf("%v, and without the feature gate:\n%s", err, got.Text())
			}
		})
	}
}
