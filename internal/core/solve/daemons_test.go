package solve

import (
	"fmt"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// manyDaemonSets is a problem with one DaemonSet that no node holds and n others, each kept off the nodes with one value of a label.
func manyDaemonSets(n int) Problem {
	p := pool("default", ladder(400)...)
	p.Requirements = p.Requirements.Add(requirement.New("example.com/set", requirement.Exists))
	in := problem(pods(10, shape(1000, gi)), p)
	in.DaemonSets = []*model.DaemonSet{{Name: "too-large", Shape: shape(1<<40, gi)}}
	for i := range n {
		s := &model.Shape{Requests: resource.Vector{1, 1 << 20}}
		s.Selector = requirement.NewSet(requirement.New("example.com/set", requirement.NotIn, fmt.Sprint(i)))
		in.DaemonSets = append(in.DaemonSets, &model.DaemonSet{
			Namespace: "default", Name: fmt.Sprintf("set-%d", i), Shape: s, Created: int64(i),
			Labels: &model.Labels{Namespace: "default", Values: map[string]string{"app": fmt.Sprint(i)}},
		})
	}
	return in
}

func TestManyRestrictedDaemonSetsAreAllReserved(t *testing.T) {
	in := manyDaemonSets(100)
	plan := Solve(in)
	if len(plan.OmittedDaemons) != 1 || plan.OmittedDaemons[0].DaemonSet.Name != "too-large" {
		t.Errorf("%d DaemonSets are omitted, want the one that is too large only", len(plan.OmittedDaemons))
	}
	if len(plan.NodeClaims) != 1 {
		t.Errorf("%d nodes, want one", len(plan.NodeClaims))
	}
}

// agents is a DaemonSet whose pods have the app label "counted".
func agents(s *model.Shape) []*model.DaemonSet {
	return []*model.DaemonSet{{
		Namespace: "default", Name: "agent", Shape: s, Labels: &model.Labels{Namespace: "default", Values: map[string]string{"app": "counted"}},
	}}
}

// TestNodesOfASpreadThatCountsOnlyDaemonSetsUseAllDomains: a node brings a pod of the DaemonSet, and the next one belongs in another zone. In the
// same zone it would have to be of the capacity type that the DaemonSet does not select.
func TestNodesOfASpreadThatCountsOnlyDaemonSetsUseAllDomains(t *testing.T) {
	agent, s := shape(100, gi/16), shape(3000, gi)
	agent.Selector = requirement.NewSet(requirement.New(capacityTypeKey, requirement.In, "spot"))
	s.Spreads = []topology.Spread{spreadOver(zoneKey, 1, "counted")}
	p := problem(named(pods(3, s), "web"), pool("default", withSpot(instanceType("m", 4, 16, 3), 1)))
	p.DaemonSets = agents(agent)
	if plan := Solve(p); len(plan.NodeClaims) != 3 || plan.Price() != 3 {
		t.Errorf("got %v, want three spot nodes", look(plan))
	}
}

// withSpot adds a spot offering in each zone.
func withSpot(it *catalog.InstanceType, price float64) *catalog.InstanceType {
	it.Requirements = it.Requirements.Without(capacityTypeKey).Add(requirement.New(capacityTypeKey, requirement.In, "on-demand", "spot"))
	for _, o := range it.Offerings {
		o.Kind = &catalog.Kind{Requirements: o.Requirements.Without(capacityTypeKey).Add(requirement.New(capacityTypeKey, requirement.In, "spot"))}
		o.Price = price
		it.Offerings = append(it.Offerings, o)
	}
	return it
}

// BenchmarkManyDaemonSets shows that compiling takes time that grows with the number of DaemonSets, not with its square.
func BenchmarkManyDaemonSets(b *testing.B) {
	for _, n := range []int{100, 200, 400} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			in := manyDaemonSets(n)
			b.ReportAllocs()
			for b.Loop() {
				compile.NewRun(in)
			}
		})
	}
}

// BenchmarkDaemonConflicts shows what it costs to find the DaemonSets that pods with many terms of anti-affinity keep away from.
func BenchmarkDaemonConflicts(b *testing.B) {
	in := manyDaemonSets(200)
	in.DaemonSets = in.DaemonSets[1:]
	in.Pods = nil
	for i := range 100 {
		s := shape(100+int64(i), gi)
		for k := range 50 {
			s.Affinities = append(s.Affinities, topology.Affinity{
				Key: zoneKey, Anti: true, Selector: appIs(fmt.Sprint("other-", i, "-", k)), Namespaces: []string{"default"},
			})
		}
		in.Pods = append(in.Pods, pods(1, s)...)
	}
	b.ReportAllocs()
	for b.Loop() {
		compile.NewRun(in)
	}
}

// TestPodsBesideDaemonsMayBeTriedFirst: a pod with anti-affinity to pods of a DaemonSet comes after all others, unless a what-if asks for it to be
// the first. Only the other pod fits on the second node.
func TestPodsBesideDaemonsMayBeTriedFirst(t *testing.T) {
	agent, shy := shape(100, gi/4), shape(2000, gi)
	agent.Selector = requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-b"))
	shy.Affinities = append(shy.Affinities, far(zoneKey, "agent"))
	list := append(labelled(named(pods(1, shy), "shy"), "shy"), named(pods(1, shape(2000, gi)), "other")...)
	p := problem(nil)
	p.DaemonSets = []*model.DaemonSet{{Namespace: "default", Name: "agent", Shape: agent, Labels: labelled(pods(1, agent), "agent")[0].Labels}}
	first, second, gone := existing("first"), existing("second"), existing("third")
	first.Used, second.Used, gone.Pods = shape(1000, gi).Requests, shape(1000, gi).Requests, list
	second.Requirements = second.Requirements.Without(zoneKey).Add(requirement.New(zoneKey, requirement.In, "zone-b"))
	p.Nodes = []*model.Node{first, second, gone}
	for _, pod := range list {
		pod.Node, pod.Reschedulable = gone.Name, true
	}
	base := NewBase(p, list)
	if plan := base.Solve(p.Nodes[2:], list); unschedulablePods(plan) != 1 {
		t.Errorf("in order, the plan is %v, want one pod refused", look(plan))
	}
	if plan := base.SolveTo(p.Nodes[2:], list, Choices{First: map[string]bool{list[0].UID: true}}); unschedulablePods(plan) > 0 {
		t.Errorf("with the pod first, the plan is %v, want no pod refused", look(plan))
	}
}
