package solve

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
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

// keepsAgentsAway is a problem with a DaemonSet for nodes with the label team=blue, which those of the pool have, and pods that run in zone a
// without it, each on a node without the label. These nodes have capacity for one more pod that is as large.
func keepsAgentsAway(nodes ...string) (p Problem, running []*model.Pod) {
	agent := shape(100, gi/4)
	agent.Selector = requirement.NewSet(requirement.New("team", requirement.In, "blue"))
	lonely := shape(1800, gi)
	lonely.Affinities = append(lonely.Affinities, far(zoneKey, "agent"))
	lonely.Selector = requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-a"))
	blue := pool("default", instanceType("small", 2, 4, 0.1))
	blue.Requirements = blue.Requirements.Add(requirement.New("team", requirement.In, "blue"))
	p = problem(nil, blue)
	p.DaemonSets = []*model.DaemonSet{{Namespace: "default", Name: "agent", Shape: agent, Labels: labelled(pods(1, agent), "agent")[0].Labels}}
	for _, name := range nodes {
		n := existing(name)
		pod := labelled(named(pods(1, lonely), name), "lonely")[0]
		pod.Node, pod.Reschedulable = name, true
		n.Pods, n.AntiAffinityPods, n.Used = []*model.Pod{pod}, []*model.Pod{pod}, lonely.Requests
		p.Nodes, running = append(p.Nodes, n), append(running, pod)
	}
	return p, running
}

// TestPodsThatMoveKeepNoDaemonsAway: while a pod moves within its zone, nothing keeps the DaemonSet off another node there. Its pod may be there
// first, although the DaemonSet does not select the node that the pod moves to.
func TestPodsThatMoveKeepNoDaemonsAway(t *testing.T) {
	p, running := keepsAgentsAway("first")
	blue := existing("blue")
	blue.Requirements = blue.Requirements.Add(requirement.New("team", requirement.In, "blue"))
	p.Nodes = append(p.Nodes, blue, existing("other"))
	base := NewBase(p, running)
	for range 2 { // the first what-if leaves nothing behind
		for name, plan := range map[string]Plan{"plan": Solve(without(p, p.Nodes[:1])), "what-if": base.Solve(p.Nodes[:1], running)} {
			if unschedulablePods(plan) != 1 {
				t.Errorf("the %s without the node of the pod is %v, want the pod refused", name, look(plan))
			}
		}
	}
}

// TestPodsOfCommitsKeepNoDaemonsAway: later what-ifs assume that the first pod has moved within its zone. It may still wait for its node when a
// new one starts there with a pod of the DaemonSet, beside which the second pod has no place.
func TestPodsOfCommitsKeepNoDaemonsAway(t *testing.T) {
	p, running := keepsAgentsAway("first", "second")
	p.Nodes = append(p.Nodes, existing("other"))
	p.Nodes[1].Used = p.Nodes[1].Allocatable
	p.Nodes[2].Used = shape(1800, gi).Requests
	base := NewBase(p, running)
	for range 2 {
		if plan := base.Solve(p.Nodes[:1], running[:1]); len(plan.Placements) != 1 || !base.Commit() {
			t.Fatalf("the first pod is placed as %v, want it on an existing node", look(plan))
		}
		if plan := base.Solve(p.Nodes[1:2], running[1:]); unschedulablePods(plan) != 1 {
			t.Errorf("once the first pod has moved, the second is placed as %v, want it refused", look(plan))
		}
		base.Reset()
		if plan := base.Solve(p.Nodes[1:2], running[1:]); unschedulablePods(plan) != 0 {
			t.Errorf("while the first pod runs, the second is placed as %v, want a new node", look(plan))
		}
	}
}
