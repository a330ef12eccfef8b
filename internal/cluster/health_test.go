package cluster

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/repair"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/test/logcapture"
)

// repairing is a store that repairs nodes that are not ready, and its log.
func repairing(t *testing.T) (*Store, *logcapture.Buffer) {
	t.Helper()
	policies, err := repair.Compile([]repair.Policy{
		{ConditionType: "Ready", ConditionStatus: "False", Toleration: time.Hour, Action: repair.Replace},
		{ConditionType: "Ready", ConditionStatus: "False", ReasonRegex: "Dead", Toleration: time.Minute, Action: repair.Replace},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, logs := newStore(), &logcapture.Buffer{}
	s.Health.Use(policies, observe.LogConfig{Level: "debug", Output: logs}.Logger())
	return s, logs
}

// inPool is a Node of a pool with the condition Ready.
func inPool(name, pool string, ready corev1.ConditionStatus, reason string) *corev1.Node {
	n := node(name, "test://"+name)
	n.Labels[v1.NodePoolLabelKey], n.CreationTimestamp = pool, metav1.Unix(1000, 0)
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Reason: reason, LastTransitionTime: metav1.Unix(2000, 0)}}
	return n
}

func TestUnhealthyNodesAreCountedByPool(t *testing.T) {
	t.Attr("covers", "N029")
	s, _ := repairing(t)
	want := func(what, pool string, all, unhealthy int) {
		t.Helper()
		if got := s.Snapshot().Health[pool]; got != (repair.Nodes{All: all, Unhealthy: unhealthy}) {
			t.Errorf("%s: %d of %d nodes of pool %s are unhealthy, want %d of %d", what, got.Unhealthy, got.All, pool, unhealthy, all)
		}
	}
	s.UpdateNode(inPool("a", "x", corev1.ConditionTrue, ""))
	s.UpdateNode(inPool("b", "x", corev1.ConditionFalse, "any reason, since now"))
	before := s.Snapshot().Health
	want("two nodes without NodeClaims", "x", 2, 1)
	s.UpdateNode(inPool("b", "x", corev1.ConditionFalse, "another reason"))
	want("another reason", "x", 2, 1)
	s.UpdateNode(inPool("b", "x", corev1.ConditionUnknown, ""))
	want("a status that no policy covers", "x", 2, 0)
	s.UpdateNode(inPool("a", "y", corev1.ConditionFalse, ""))
	want("a node changes its pool", "x", 1, 0)
	want("a node changes its pool", "y", 1, 1)
	moved := inPool("a", "y", corev1.ConditionFalse, "")
	moved.Spec.ProviderID = "test://other"
	s.UpdateNode(moved)
	want("a node gets another provider ID", "y", 1, 1)
	unlabeled := inPool("b", "x", corev1.ConditionFalse, "")
	delete(unlabeled.Labels, v1.NodePoolLabelKey)
	s.UpdateNode(unlabeled)
	want("a node without the label", "x", 0, 0)
	s.DeleteNode("a")
	want("a node that is gone", "y", 0, 0)
	if before["x"] != (repair.Nodes{All: 2, Unhealthy: 1}) {
		t.Errorf("a published count has changed to %v", before["x"])
	}
}

func TestMatchesFollowTheConditionsOfANode(t *testing.T) {
	t.Attr("covers", "N011")
	t.Attr("covers", "N012")
	s, logs := repairing(t)
	c := claim("a", "test://a")
	condition.For(c, time.Unix(9000, 0)).False(v1.ConditionTypeRebooting, v1.RebootReasonSucceeded, "")
	s.UpdateNodeClaim(c)
	health := func() repair.Health {
		n, _ := s.Snapshot().Nodes.Get("test://a")
		return n.Health
	}
	step := func(n *corev1.Node) string {
		before := len(logs.String())
		s.UpdateNode(n)
		return logs.String()[before:]
	}
	if said := step(inPool("a", "default", corev1.ConditionTrue, "")); said != "" || health().Matches != nil {
		t.Errorf("a healthy node matches %v: %s", health().Matches, said)
	}
	said := step(inPool("a", "default", corev1.ConditionFalse, "Broken"))
	for _, want := range []string{
		"matched repair policy", `"condition":"Ready"`, `"status":"False"`, `"reason":"Broken"`, `"reason-regex":""`, `"fallback":true`,
		`"action":"ReplaceNode"`, `"eligible-at":"1970-01-01T01:33:20Z"`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the log lacks %q: %s", want, said)
		}
	}
	if h := health(); len(h.Matches) != 1 || h.Rebooted != time.Unix(9000, 0).UnixNano() {
		t.Errorf("the health is %v, want one match and the end of the reboot", h)
	}
	beating := inPool("a", "default", corev1.ConditionFalse, "Broken")
	beating.Status.Conditions[0].LastHeartbeatTime, beating.Labels["new"] = metav1.Unix(8000, 0), "label"
	if said := step(beating); said != "" {
		t.Errorf("a heartbeat is logged: %s", said)
	}
	if said := step(inPool("a", "default", corev1.ConditionFalse, "Dead")); strings.Count(said, "matched repair policy") != 1 || !strings.Contains(said, `"reason-regex":"Dead"`) {
		t.Errorf("after the change of the reason the log says: %s", said)
	}
	if said := step(inPool("a", "default", corev1.ConditionTrue, "")); !strings.Contains(said, "no longer matches any repair policy") || health().Matches != nil {
		t.Errorf("after the recovery the log says: %s", said)
	}
}

func TestWithoutPoliciesNothingIsKept(t *testing.T) {
	t.Attr("covers", "N002")
	s := newStore()
	s.UpdateNode(inPool("a", "x", corev1.ConditionFalse, ""))
	if got := s.Snapshot(); got.Health != nil || s.Health.Enabled() {
		t.Errorf("the counts are %v, want none", got.Health)
	}
	if n, _ := s.Snapshot().Nodes.Get("test://a"); n != nil && n.Health.Matches != nil {
		t.Errorf("the node matches %v", n.Health.Matches)
	}
}
