package judge

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
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
