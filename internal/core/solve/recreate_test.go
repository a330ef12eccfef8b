package solve

import (
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/place"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// avoided is a node of six cores in zone-a that pods prefer to avoid, with a pod of the DaemonSet.
func avoided(name string, agent *model.Shape) *model.Node {
	n := existing(name)
	n.Allocatable = instanceType(name, 6, 24, 1).Capacity
	n.Labels = map[string]string{zoneKey: "zone-a", hostnameKey: name}
	n.Taints = []model.Taint{{Key: "old", Effect: model.PreferNoSchedule}}
	pod := labelled(named(pods(1, agent), name), "counted")[0]
	pod.Node, pod.Daemon = name, true
	n.Pods, n.Used = []*model.Pod{pod}, agent.Requests
	return n
}

// leftOver is two existing nodes, three pods of which each needs a node for its host port, and a large pod that is spread beside these. Two of
// the three have to be on the existing nodes before the large pod is placed, which would rather not be there; the third can join it.
func leftOver() Problem {
	agent, small, big := shape(50, gi/16), shape(250, gi/16), shape(4000, 4*gi)
	small.HostPorts = []model.HostPort{tcp(80)}
	small.Tolerations = []model.Toleration{{Exists: true}}
	big.Spreads = []topology.Spread{spreadOver(zoneKey, 2, "counted")}
	p := problem(append(labelled(named(pods(3, small), "small"), "counted"), named(pods(1, big), "big")...),
		pool("small", instanceType("1", 1, 2, 0.1)), pool("large", instanceType("8", 8, 32, 1)))
	p.Nodes, p.DaemonSets = []*model.Node{avoided("a", agent), avoided("b", agent)}, agents(agent)
	p.Options.Preferences = model.IgnorePreferences
	return p
}

// TestPodsOfOneNodeMayComeLast: no order of classes places the last pod on the node that another class needs.
func TestPodsOfOneNodeMayComeLast(t *testing.T) {
	plan := Solve(leftOver())
	if len(plan.NodeClaims) != 1 || len(plan.Unschedulable) != 0 || plan.Price() != 1 {
		t.Errorf("got %v, want one node", look(plan))
	}
}

// TestPodsThatComeLastMayTakePlacesOfOthers: workers that the spread of "web" counts leave it a place in each zone if they are placed first. If
// they come last, they may be in one zone, where "web" has to be bound before them. Such a plan is not taken.
func TestPodsThatComeLastMayTakePlacesOfOthers(t *testing.T) {
	web := shape(100, gi/4)
	web.Spreads = []topology.Spread{spreadOver(zoneKey, 1, "web")}
	p := problem(append(labelled(named(pods(2, shape(900, gi/4)), "worker"), "web"), labelled(named(pods(3, web), "web"), "web")...),
		pool("default", instanceType("small", 1, 2, 0.1), instanceType("medium", 2, 4, 0.15)))
	r := compile.NewRun(p)
	r.Seed()
	for _, last := range []*place.PodSet{nil, {p.Pods[0].UID: true, p.Pods[1].UID: true}} {
		w := &search{run: r, restart: compile.BaseOf(r).Restart}
		if _, overfull := w.refill(place.Strategy{Last: last}); overfull > 0 != (last != nil) {
			t.Errorf("with %v last, %d pods depend on the order of binding", last, overfull)
		}
	}
}
