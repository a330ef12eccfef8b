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
