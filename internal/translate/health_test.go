package translate

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/cloud"
)

func healthOf(conditions ...corev1.NodeCondition) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "a", CreationTimestamp: metav1.Unix(1000, 0)},
		Status:     corev1.NodeStatus{Conditions: conditions},
	}
}

func unhealthyConditions() []corev1.NodeCondition {
	return []corev1.NodeCondition{
		{Type: "MemoryPressure", Status: corev1.ConditionFalse, LastTransitionTime: metav1.Unix(900, 0)},
		{Type: "Ready", Status: corev1.ConditionFalse, Reason: "KubeletNotReady", LastTransitionTime: metav1.Unix(2000, 0)},
	}
}

func TestWhichChangesOfANodeChangeItsHealth(t *testing.T) {
	t.Attr("covers", "N010")
	t.Attr("covers", "N011")
	for _, tt := range []struct {
		name   string
		change func(n *corev1.Node)
		same   bool
	}{
		{"nothing", func(*corev1.Node) {}, true},
		{"a heartbeat", func(n *corev1.Node) { n.Status.Conditions[1].LastHeartbeatTime = metav1.Unix(3000, 0) }, true},
		{"a message", func(n *corev1.Node) { n.Status.Conditions[1].Message = "still" }, true},
		{"a label", func(n *corev1.Node) { n.Labels = map[string]string{"a": "b"} }, true},
		{"a reason", func(n *corev1.Node) { n.Status.Conditions[1].Reason = "Other" }, false},
		{"a status", func(n *corev1.Node) { n.Status.Conditions[1].Status = corev1.ConditionUnknown }, false},
		{"a type", func(n *corev1.Node) { n.Status.Conditions[1].Type = "Disk" }, false},
		{"a transition", func(n *corev1.Node) { n.Status.Conditions[1].LastTransitionTime = metav1.Unix(2001, 0) }, false},
		{"one condition less", func(n *corev1.Node) { n.Status.Conditions = n.Status.Conditions[1:] }, false},
		{"another node", func(n *corev1.Node) { n.CreationTimestamp = metav1.Unix(1001, 0) }, false},
	} {
		was, is := healthOf(unhealthyConditions()...), healthOf(unhealthyConditions()...)
		tt.change(is)
		if got := SameHealth(was, is); got != tt.same {
			t.Errorf("%s: the health is the same: %t, want %t", tt.name, got, tt.same)
		}
	}
}

func TestComparingTheHealthOfANodeDoesNotAllocate(t *testing.T) {
	t.Attr("covers", "N011")
	was, is := healthOf(unhealthyConditions()...), healthOf(unhealthyConditions()...)
	if n := testing.AllocsPerRun(100, func() { SameHealth(was, is) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// BenchmarkSameHealth is what repair adds to an update of a Node that changes nothing.
func BenchmarkSameHealth(b *testing.B) {
	was, is := healthOf(unhealthyConditions()...), healthOf(unhealthyConditions()...)
	b.ReportAllocs()
	for b.Loop() {
		if !SameHealth(was, is) {
			b.Fatal("the health differs")
		}
	}
}

func TestTheMatchesOfANode(t *testing.T) {
	t.Attr("covers", "N010")
	set, err := RepairPolicies([]cloud.RepairPolicy{
		{ConditionType: "Ready", ConditionStatus: corev1.ConditionFalse, TolerationDuration: time.Hour, Action: cloud.ReplaceNode},
		{ConditionType: "Ready", ConditionStatus: corev1.ConditionFalse, ReasonRegex: "Dead", TolerationDuration: time.Minute, Action: cloud.ReplaceNode},
	})
	if err != nil {
		t.Fatal(err)
	}
	n := healthOf(unhealthyConditions()...)
	matches, unhealthy := RepairMatches(set, n)
	if !unhealthy || len(matches) != 1 || !matches[0].Rule.Fallback {
		t.Fatalf("got the matches %v", matches)
	}
	n.Status.Conditions[1].Reason = "Dead" // the age of the condition stays, the policy is another one
	matches, _ = RepairMatches(set, n)
	if want := time.Unix(2060, 0).UnixNano(); len(matches) != 1 || matches[0].EligibleAt(0) != want {
		t.Errorf("got the matches %v, want one that is due at %d", matches, want)
	}
	if matches, unhealthy := RepairMatches(set, healthOf(unhealthyConditions()[:1]...)); unhealthy || matches != nil {
		t.Errorf("a healthy node has the matches %v", matches)
	}
	if _, err := RepairPolicies([]cloud.RepairPolicy{{ConditionType: "Ready"}}); err == nil {
		t.Error("an invalid policy has no error")
	}
}
