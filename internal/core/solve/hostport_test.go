package solve

import (
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

// listening is a small pod shape with host ports.
func listening(ports ...model.HostPort) *model.Shape {
	s := shape(100, gi/8)
	s.HostPorts = ports
	return s
}

func tcp(port int32) model.HostPort { return model.HostPort{Port: port, Protocol: "TCP"} }

func TestPodsWithTheSamePortGetSeparateNodes(t *testing.T) {
	t.Attr("covers", "L181")
	p := pool("default", instanceType("small", 4, 16, 0.10))
	for name, c := range map[string]struct {
		pods []*model.Pod
		want int
	}{
		"one shape":               {pods(3, listening(tcp(80))), 3},
		"another port":            {append(pods(1, listening(tcp(80))), pods(1, listening(tcp(81)))...), 1},
		"another protocol":        {append(pods(1, listening(tcp(80))), pods(1, listening(model.HostPort{Port: 80, Protocol: "UDP"}))...), 1},
		"another address":         {append(pods(1, listening(model.HostPort{IP: "10.0.0.1", Port: 80, Protocol: "TCP"})), pods(1, listening(model.HostPort{IP: "10.0.0.2", Port: 80, Protocol: "TCP"}))...), 1},
		"every address conflicts": {append(pods(1, listening(model.HostPort{IP: "10.0.0.1", Port: 80, Protocol: "TCP"})), pods(1, listening(tcp(80)))...), 2},
	} {
		plan := Solve(problem(c.pods, p))
		if len(plan.NodeClaims) != c.want || len(plan.Unschedulable) != 0 {
			t.Errorf("%s: %d claims, want %d", name, len(plan.NodeClaims), c.want)
		}
	}
}

func TestPortsOfExistingNodesAreRespected(t *testing.T) {
	in := problem(pods(1, listening(tcp(80))))
	roomy := resource.Vector{8000, 32 * gi, 110}
	in.Nodes = []*model.Node{
		{ID: "a", Name: "a", Launched: true, Initialized: true, Allocatable: roomy, Pods: pods(1, listening(tcp(80)))},
		{ID: "b", Name: "b", Launched: true, Initialized: true, Allocatable: roomy},
	}
	plan := Solve(in)
	if len(plan.Placements) != 1 || plan.Placements[0].Node.Name != "b" {
		t.Errorf("placed on %+v, want the node whose port is free", plan.Placements)
	}
}

func TestDaemonsTakeTheirPortsOnTheTypesTheyRunOn(t *testing.T) {
	t.Attr("covers", "L156 L157 L406")
	small, large := instanceType("small", 4, 16, 0.10), instanceType("large", 8, 32, 0.21)
	exporter := listening(tcp(9100))
	exporter.Selector = requirement.NewSet(requirement.New(instanceTypeKey, requirement.In, "small"))
	in := problem(pods(1, listening(tcp(9100))), pool("default", small, large))
	in.DaemonSets = []*model.DaemonSet{{Namespace: "kube-system", Name: "exporter", Shape: exporter}}
	plan := Solve(in)
	if len(plan.NodeClaims) != 1 || len(plan.NodeClaims[0].InstanceTypes) != 1 || plan.NodeClaims[0].InstanceTypes[0] != "large" {
		t.Fatalf("got %+v, want the type without the daemon", plan.NodeClaims)
	}
	in.DaemonSets[0].Shape = listening(tcp(9100))
	plan = Solve(in)
	if len(plan.NodeClaims) != 0 || plan.Unschedulable[0].Reasons[0].Code != unschedulable.HostPortTaken {
		t.Errorf("got %d claims and %v, want the port as the reason", len(plan.NodeClaims), plan.Unschedulable)
	}
}

// TestDaemonSetsWithOneHostPortCountOnce: each node runs one of the two, so that a node in each zone has as many pods as the next.
func TestDaemonSetsWithOneHostPortCountOnce(t *testing.T) {
	agent, web := shape(50, gi/16), shape(3000, gi)
	agent.HostPorts = []model.HostPort{tcp(80)}
	web.Spreads = []topology.Spread{spreadOver(zoneKey, 1, "counted")}
	in := problem(named(pods(6, web), "web"), pool("default", instanceType("m", 4, 16, 1)))
	in.DaemonSets = append(agents(agent), agents(agent)...)
	in.DaemonSets[1].Name = "other"
	if plan := Solve(in); len(plan.NodeClaims) != 6 || len(plan.Unschedulable) != 0 {
		t.Errorf("got %v, want a node for each pod", look(plan))
	}
}

// TestTheOnlyDomainHasNoSkew: one of two DaemonSets gets the host port of each node, so that no or three pods that the spread counts run in the
// zone. As it is the only zone, both counts are its minimum, too.
func TestTheOnlyDomainHasNoSkew(t *testing.T) {
	agent, other, web, batch := shape(50, gi/16), shape(50, gi/16), shape(3000, gi), shape(100, gi/16)
	agent.HostPorts, other.HostPorts, web.HostPorts = []model.HostPort{tcp(80)}, []model.HostPort{tcp(80)}, []model.HostPort{tcp(81)}
	batch.Spreads = []topology.Spread{spreadOver(zoneKey, 2, "counted")}
	only := pool("default", instanceType("m", 4, 16, 1))
	only.Requirements = only.Requirements.Add(requirement.New(zoneKey, requirement.In, "zone-a"))
	in := problem(append(named(pods(3, web), "web"), named(pods(1, batch), "batch")...), only)
	in.DaemonSets = append(agents(agent), &model.DaemonSet{Namespace: "default", Name: "other", Shape: other, Labels: &model.Labels{Namespace: "default"}})
	if plan := Solve(in); len(plan.NodeClaims) != 3 || len(plan.Unschedulable) != 0 {
		t.Errorf("got %v, want three nodes, batch beside a pod of web", look(plan))
	}
}
