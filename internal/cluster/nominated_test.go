package cluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// nominated is a pod that kube-scheduler refused and that is nominated to a node, or to none.
func nominated(node string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p"}}
	p.Status.NominatedNodeName = node
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	return p
}

// TestNominatedPodsAskForCapacityOnlyWithoutTheirNode: a pod waits for the node that it is nominated to, if that can take it, and the node is
// kept from disruption; what happens to the node counts at once.
func TestNominatedPodsAskForCapacityOnlyWithoutTheirNode(t *testing.T) {
	t.Attr("covers", "N480 N485")
	s := newStore()
	check := func(when string, pending, protected bool) {
		t.Helper()
		snapshot := s.Snapshot()
		if _, ok := snapshot.Pending.Get("p"); ok != pending {
			t.Errorf("%s, the pod asks for capacity: %t, want %t", when, ok, pending)
		}
		n, _ := snapshot.Nodes.Get("test://1")
		if got := n != nil && n.NominatedUntil > time.Now().Add(time.Hour).UnixNano(); got != protected {
			t.Errorf("%s, the node is protected: %t, want %t", when, got, protected)
		}
	}
	s.UpdatePod(nominated("n"))
	check("before the node exists", true, false)
	s.UpdateNode(node("n", "test://1"))
	check("with the node", false, true)
	tainted := node("n", "test://1")
	tainted.Spec.Taints = append(tainted.Spec.Taints, v1.DisruptedNoScheduleTaint())
	s.UpdateNode(tainted)
	check("while the node is disrupted", true, true)
	s.UpdateNode(node("n", "test://1"))
	check("after the disruption was abandoned", false, true)
	s.Mark("test://1")
	check("while the node is marked for deletion", true, true)
	s.Unmark("test://1")
	s.DeleteNode("n")
	check("after the node is gone", true, false)
	expected := claim("a", "test://1")
	expected.Status.NodeName = "n"
	s.UpdateNodeClaim(expected)
	check("while a NodeClaim expects the node, which is not disrupted before it exists", false, false)
	s.UpdatePod(nominated(""))
	check("without a nomination", true, false)
	s.UpdatePod(nominated("n"))
	s.DeletePod("p")
	check("after the pod is gone", false, false)
}

// TestNominationsEndWithTheBinding: the node of a bound pod is not protected by a nomination.
func TestNominationsEndWithTheBinding(t *testing.T) {
	t.Attr("covers", "N483")
	s := newStore()
	s.UpdateNode(node("n", "test://1"))
	s.UpdatePod(nominated("n"))
	s.Snapshot()
	bound := nominated("")
	bound.Spec.NodeName = "n"
	s.UpdatePod(bound)
	n, _ := s.Snapshot().Nodes.Get("test://1")
	if n.NominatedUntil != 0 || len(n.Pods) != 1 {
		t.Errorf("the node has %d pods and is nominated until %d, want one pod and no nomination", len(n.Pods), n.NominatedUntil)
	}
}

// TestNominatedPodsTakeTheirPlace: the requests of a pod count on the node that it is nominated to, whether kube-scheduler refused it before or
// not, for as long as the node can take it.
func TestNominatedPodsTakeTheirPlace(t *testing.T) {
	t.Attr("covers", "N481")
	s := newStore()
	s.UpdateNode(node("n", "test://1"))
	check := func(when string, pods int) {
		t.Helper()
		n, _ := s.Snapshot().Nodes.Get("test://1")
		if len(n.Pods) != pods || pods > 0 && n.Pods[0].Node != "n" {
			t.Errorf("%s, %d pods count on the node, want %d", when, len(n.Pods), pods)
		}
	}
	s.UpdatePod(nominated("n"))
	check("after a refusal", 1)
	untried := nominated("n")
	untried.Status.Conditions = nil
	s.UpdatePod(untried)
	check("about to be bound", 1)
	s.Mark("test://1")
	check("while the node is marked for deletion", 0)
	if _, pending := s.Snapshot().Pending.Get("p"); pending {
		t.Error("a pod that kube-scheduler did not refuse asks for capacity")
	}
	s.Unmark("test://1")
	check("after that", 1)
	s.UpdatePod(nominated("other"))
	check("with a nomination to another node", 0)
}
