package judge

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

func TestFailuresHaveAllReasons(t *testing.T) {
	const affinity = "InterPodAffinity"
	l := launch{}
	waiting := []arrival{{pod: &corev1.Pod{}, node: "a"}, {pod: &corev1.Pod{}, node: "a"}, {pod: &corev1.Pod{}, node: "b"}}
	mixed := *l.unbound(waiting, []string{spreadPlugin + ": x", affinity + ": y", spreadPlugin + ": x"})
	if len(mixed.Plugins) != 2 || mixed.only(spreadPlugin) || mixed.only(affinity) {
		t.Errorf("a mixed failure has the reasons %v", mixed.Plugins)
	}
	known := *l.unbound(waiting[:1], []string{spreadPlugin + ": x"})
	if !known.only(spreadPlugin) {
		t.Errorf("a failure because of a spread has the reasons %v", known.Plugins)
	}
	if !mixed.Same(known) || known.Same(mixed) || mixed.Same(Failure{Kind: Unbound}) || (Failure{Kind: Unbound}).Same(known) {
		t.Error("a failure is the same as one with other reasons")
	}
}

func TestLaunchWithoutSpreads(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "a", TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1}}}}
	l := launch{arrivals: []arrival{{pod: pod, node: "b"}}}
	without := l.withoutSpreads()
	if got := without.arrivals[0]; got.node != "b" || got.pod.Spec.NodeName != "a" || got.pod.Spec.TopologySpreadConstraints != nil {
		t.Errorf("the pod is %+v", got)
	}
	if pod.Spec.TopologySpreadConstraints == nil || l.arrivals[0].pod != pod {
		t.Error("the pod of the launch was changed")
	}
}

func TestFailuresOfOtherCausesDiffer(t *testing.T) {
	f := Failure{Kind: Refused, Reasons: []unschedulable.Code{unschedulable.NoInstanceType, unschedulable.TopologyUnsatisfiable}, Workloads: []string{"default/ReplicaSet a"}}
	with := func(change func(*Failure)) Failure {
		other := f
		change(&other)
		return other
	}
	if !f.Same(with(func(o *Failure) { o.Text, o.Reasons = "other pods", o.Reasons[1:] })) {
		t.Error("a failure with fewer reasons is not the same")
	}
	for name, other := range map[string]Failure{
		"kind":       with(func(o *Failure) { o.Kind = Unbound }),
		"reasons":    with(func(o *Failure) { o.Reasons = []unschedulable.Code{unschedulable.NoPools} }),
		"no reasons": with(func(o *Failure) { o.Reasons = nil }),
		"workloads":  with(func(o *Failure) { o.Workloads = []string{"default/ReplicaSet b"} }),
	} {
		if f.Same(other) {
			t.Errorf("a failure with other %s is the same", name)
		}
	}
}

func TestWorkloadOfReplicas(t *testing.T) {
	is := true
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "work", Controller: &is}},
		}}
	}
	if a, b := workloadOf(pod("work-0")), workloadOf(pod("work-1")); a != b {
		t.Errorf("replicas belong to %q and %q", a, b)
	}
	if a, b := workloadOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}), workloadOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "b"}}); a == b {
		t.Errorf("pods without a workload both belong to %q", a)
	}
}
