package solve

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// TestWhatIfsOpenTheDomainsThatMovedPodsClose: a pod with anti-affinity keeps the DaemonSet off the nodes of its zone. In a what-if without its
// node it does so no longer: a new node in the zone has a pod of the DaemonSet, and so may the other node there.
func TestWhatIfsOpenTheDomainsThatMovedPodsClose(t *testing.T) {
	agent, lonely := shape(100, gi/4), shape(500, gi)
	lonely.Affinities = append(lonely.Affinities, far(zoneKey, "agent"))
	p := problem(nil, pool("default", instanceType("small", 1, 2, 0.1), instanceType("medium", 2, 4, 0.2)))
	p.DaemonSets = []*model.DaemonSet{{Namespace: "default", Name: "agent", Shape: agent, Labels: labelled(pods(1, agent), "agent")[0].Labels}}
	first, second := existing("first"), existing("second")
	pod := labelled(named(pods(1, lonely), "lonely"), "lonely")[0]
	pod.Node, pod.Reschedulable = "first", true
	first.Pods, first.AntiAffinityPods, first.Used = []*model.Pod{pod}, []*model.Pod{pod}, lonely.Requests
	p.Nodes = []*model.Node{first, second}
	base := NewBase(p, first.Pods)
	for range 2 { // the first what-if leaves nothing behind
		for name, plan := range map[string]Plan{"plan": Solve(without(p, p.Nodes[:1])), "what-if": base.Solve(p.Nodes[:1], first.Pods)} {
			if unschedulablePods(plan) != 1 {
				t.Errorf("the %s without the node of the pod is %v, want the pod refused", name, look(plan))
			}
		}
		web := named(pods(4, shape(950, gi/4)), "web")
		q := p
		q.Pods = web
		if diff := cmp.Diff(look(Solve(q)), look(base.Solve(nil, web))); diff != "" {
			t.Errorf("the what-if with other pods differs from their plan (-plan +what-if):\n%s", diff)
		}
	}
}
