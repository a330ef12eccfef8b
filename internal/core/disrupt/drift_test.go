package disrupt

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// drifted marks a node as drifted so many hours ago.
func drifted(n *model.Node, hours int) *model.Node {
	n.Disruption.Drifted, n.Disruption.DriftedSince = true, noon.Add(-time.Duration(hours)*time.Hour).UnixNano()
	return n
}

func TestDrift(t *testing.T) {
	t.Run("only drifted nodes are considered", func(t *testing.T) {
		t.Attr("covers", "C347")
		f := newFleet(t, sizes(1, onDemand))
		f.node("a", onDemand, "x1", 500)
		d := f.decide(drift(), 1)
		f.want(d, "")
		f.wantObstacle(d, "a", NotDrifted, "")
	})
	t.Run("a node with pods is replaced, whatever it costs", func(t *testing.T) {
		t.Attr("covers", "C354")
		f := newFleet(t, sizes(2, onDemand))
		drifted(f.node("a", onDemand, "x1", 500), 1)
		f.want(f.decide(drift(), 1), "replace a -> x1,x2 on-demand")
	})
	t.Run("an empty node is deleted, whatever the consolidation policy", func(t *testing.T) {
		t.Attr("covers", "C355")
		f := newFleet(t, sizes(1, onDemand), func(p *Pool) { p.ConsolidationDisabled = true })
		drifted(f.node("a", onDemand, "x1"), 1).Disruption.Consolidatable = false
		f.want(f.decide(drift(), 1), "delete a")
	})
	t.Run("empty nodes go first, then the oldest drift", func(t *testing.T) {
		t.Attr("covers", "C356 C357")
		f := newFleet(t, sizes(1, onDemand))
		drifted(f.node("young", onDemand, "x1", 600), 1)
		drifted(f.node("old", onDemand, "x1", 600), 9)
		drifted(f.node("empty", onDemand, "x1"), 1)
		f.nodes[2].Allocatable = nil // no pod moves there
		f.want(f.decide(drift(), 2), "delete empty; replace old -> x1 on-demand")
		f.want(f.decide(drift(), 1), "delete empty")
	})
	t.Run("a node whose pods have no place is skipped", func(t *testing.T) {
		t.Attr("covers", "C348")
		f := newFleet(t, sizes(1, onDemand))
		drifted(f.node("stuck", onDemand, "x4", 3000), 9)
		drifted(f.node("a", onDemand, "x1", 900), 1)
		d := f.decide(drift(), 2)
		if len(d.Commands) != 1 || names(d.Commands[0].Candidates)[0] != "a" {
			t.Errorf("decided %q, want a", say(d))
		}
		f.wantObstacle(d, "stuck", NoPlaceToDrift, "")
		if text := d.Obstacles[0].String(); !strings.HasPrefix(text, "not all pods would schedule, default/stuck-0 => ") {
			t.Errorf("text %q", text)
		}
	})
	t.Run("a node may be replaced by several smaller ones", func(t *testing.T) {
		t.Attr("covers", "C358")
		f := newFleet(t, catalog.Catalog{typeOf("x1", 1, onDemand)})
		drifted(f.node("a", onDemand, "x4", 800, 800), 1)
		f.want(f.decide(drift(), 1), "replace a -> x1 on-demand -> x1 on-demand")
	})
	t.Run("pending pods and pods of deleting nodes are left to provisioning", func(t *testing.T) {
		f := newFleet(t, sizes(1, onDemand))
		drifted(f.node("a", onDemand, "x1", 900), 1)
		f.wait("waits", 900)
		going := f.run(f.node("going", onDemand, "x1"), "moves", 900)
		f.nodes[1].Deleting = true
		f.input.Problem.Pods = append(f.input.Problem.Pods, going)
		f.want(f.decide(drift(), 1), "replace a -> x1 on-demand")
	})
	for _, name := range []string{"a-later", "0-earlier"} { // than the pod of the candidate
		t.Run("a place that another pod needs is not counted twice, "+name, func(t *testing.T) {
			f := newFleet(t, sizes(1, onDemand))
			drifted(f.node("a", onDemand, "x1", 900), 1)
			f.node("free", onDemand, "x1")
			f.wait(name, 900)
			f.want(f.decide(drift(), 1), "replace a -> x1 on-demand")

			f = newFleet(t, sizes(1, onDemand))
			drifted(f.node("a", onDemand, "x1", 900), 1)
			f.node("free", onDemand, "x1")
			going := f.run(f.node("going", onDemand, "x1"), name, 900)
			f.nodes[2].Deleting = true
			f.input.Problem.Pods = append(f.input.Problem.Pods, going)
			f.want(f.decide(drift(), 1), "replace a -> x1 on-demand")
		})
	}
	t.Run("capacity for virtual pods is kept", func(t *testing.T) {
		f := newFleet(t, sizes(1, onDemand))
		drifted(f.node("a", onDemand, "x1"), 1)
		f.wait("headroom", 900).Virtual = true
		f.nodes[0].Allocatable = nil
		f.want(f.decide(drift(), 1), "replace a -> x1 on-demand")
	})
	t.Run("pods that may not be moved are not placed", func(t *testing.T) {
		t.Attr("covers", "C351 C352")
		f := newFleet(t, sizes(1, onDemand))
		drifted(f.node("a", onDemand, "x1", 500), 1)
		f.input.Unevictable["a-0"] = true
		f.want(f.decide(drift(), 1), "delete a")
	})
	t.Run("static nodes are left to static drift", func(t *testing.T) {
		t.Attr("covers", "C360")
		f := newFleet(t, sizes(1, onDemand), func(p *Pool) { p.Static = true })
		drifted(f.node("a", onDemand, "x1", 500), 1)
		f.want(f.decide(drift(), 1), "")
	})
	t.Run("budgets bind each pool, and a pool that is stuck does not stop others", func(t *testing.T) {
		t.Attr("covers", "C361 C363")
		f := newFleet(t, sizes(1, onDemand))
		f.pool("other", sizes(1, onDemand))
		for _, name := range []string{"a", "b", "c"} {
			drifted(f.nodeOf("other", "other-"+name, onDemand, "x1", 900), 1)
			drifted(f.node(name, onDemand, "x4", 3900), 5)
		}
		d := f.decide(drift(), 2)
		f.want(d, "replace other-a -> x1 on-demand; replace other-b -> x1 on-demand")
		if !d.Incomplete {
			t.Error("the third node was held back by the budget, and nothing says so")
		}
	})
	t.Run("nodes that drift together do not count on the same capacity", func(t *testing.T) {
		f := newFleet(t, sizes(1, onDemand))
		drifted(f.node("a", onDemand, "x1", 900), 2)
		drifted(f.node("b", onDemand, "x1", 900), 1)
		f.node("c", onDemand, "x2", 1000)
		f.want(f.decide(drift(), 2), "delete a; replace b -> x1 on-demand")
	})
}

// decideStatic is the decision of static drift about nodes in a session.
func decideStatic(pools map[string]Pool, s Session, nodes ...*model.Node) Decision {
	w := qualifyInput(nodes...)
	w.Pools = pools
	list, _ := Qualify(w)
	m := staticDrift()
	fit, _ := m.FilterNodes(list)
	return m.Decide(s, fit)
}

// said are the commands of a decision.
func said(d Decision) []string {
	var out []string
	for _, c := range d.Commands {
		out = append(out, c.Decision()+" "+strings.Join(names(c.Candidates), "+"))
	}
	return out
}

func TestStaticDrift(t *testing.T) {
	t.Attr("covers", "C364 C365 C366 C367 C369 C372")
	staticNode := func(pool, name string) *model.Node {
		return drifted(node(name, func(n *model.Node) { n.Pool = pool }), 1)
	}
	decide := func(pools map[string]Pool, budgets Budgets, free map[string]int, nodes ...*model.Node) []string {
		d := decideStatic(pools, Session{
			Budgets: budgets, Grant: func(pool string, wanted int) int { return min(free[pool], wanted) },
		}, nodes...)
		return said(d)
	}
	one := map[string]Pool{"p": {Name: "p", Static: true}}
	three := []*model.Node{staticNode("p", "a"), staticNode("p", "b"), staticNode("p", "c")}
	for _, tt := range []struct {
		name   string
		pools  map[string]Pool
		budget int
		free   int
		nodes  []*model.Node
		want   []string
	}{
		{"the budget is respected", one, 2, 9, three, []string{"replace a", "replace b"}},
		{"nothing drifts without capacity under the limit", one, 3, 0, three, nil},
		{"with enough capacity every node is replaced one for one", one, 3, 3, three, []string{"replace a", "replace b", "replace c"}},
		{"with partial capacity only as many as fit", one, 3, 1, three, []string{"replace a"}},
		{"nothing drifts while the pool has too many nodes", map[string]Pool{"p": {Static: true, Surplus: true}}, 3, 3, three, nil},
		{"nodes that have not drifted are ignored", one, 3, 3, []*model.Node{node("a", func(n *model.Node) { n.Pool = "p" })}, nil},
		{"dynamic pools are ignored", map[string]Pool{"p": {}}, 3, 3, three, nil},
		{"nothing drifts without budget", one, 0, 3, three, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, decide(tt.pools, Budgets{"p": tt.budget}, map[string]int{"p": tt.free}, tt.nodes...)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("several pools drift independently", func(t *testing.T) {
		t.Attr("covers", "C370")
		two := map[string]Pool{"p": {Static: true}, "q": {Static: true}}
		got := decide(two, Budgets{"p": 1, "q": 1}, map[string]int{"q": 1}, staticNode("p", "a"), staticNode("q", "b"))
		if diff := cmp.Diff([]string{"replace b"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDispensablePodsNeedAPlace(t *testing.T) {
	t.Attr("covers", "W008")
	free := func(n *model.Node) *model.Node {
		for _, p := range n.Pods {
			p.EvictionCost = -5
		}
		return n
	}
	t.Run("a node whose pods fit elsewhere goes", func(t *testing.T) {
		f := newFleet(t, sizes(1, onDemand))
		free(f.node("a", onDemand, "x1", 500))
		f.node("b", onDemand, "x1", 100)
		f.want(f.decide(dispensable(), 1), "delete a")
	})
	t.Run("a node whose pods fit nowhere stays", func(t *testing.T) {
		f := newFleet(t, sizes(1, onDemand))
		free(f.node("a", onDemand, "x1", 500))
		f.node("b", onDemand, "x1", 800)
		f.want(f.decide(dispensable(), 1), "")
	})
	t.Run("pods that cost something are not dispensable", func(t *testing.T) {
		f := newFleet(t, sizes(1, onDemand))
		f.node("a", onDemand, "x1", 500)
		f.node("b", onDemand, "x1", 100)
		f.want(f.decide(dispensable(), 2), "")
	})
}

func TestSingleInterleavesPools(t *testing.T) {
	t.Attr("covers", "C432 C433 C435")
	candidates := []Candidate{}
	for _, name := range []string{"a1", "a2", "b1", "b2", "c1"} {
		candidates = append(candidates, newCandidate(node(name, func(n *model.Node) { n.Pool = name[:1] }), Pool{}))
	}
	if diff := cmp.Diff([]string{"a1", "b1", "c1", "a2", "b2"}, names(interleave(candidates, nil))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"c1", "a1", "b1", "a2", "b2"}, names(interleave(candidates, map[string]bool{"c": true}))); diff != "" {
		t.Errorf("with a pool that came too short: %s", diff)
	}
	f := newFleet(t, sizes(1, onDemand))
	f.pool("other", sizes(1, onDemand))
	f.node("a", onDemand, "x1", 500)
	f.nodeOf("other", "b", onDemand, "x1", 500)
	sim := f.input.Simulator(f.candidates(), ForConsolidation)
	d := singleNode().Decide(Session{
		Input: &f.input, Budgets: Budgets{"default": 1, "other": 1}, Simulators: []*Simulator{sim}, Expired: func() bool { return true },
		Each: func(n int, do func(*Simulator, int)) {
			for i := range n {
				do(sim, i)
			}
		},
	}, f.candidates())
	if !d.TimedOut || !d.Unvisited["default"] || !d.Unvisited["other"] {
		t.Errorf("timed out %t, unvisited %v; want both pools", d.TimedOut, d.Unvisited)
	}
}

// TestDriftedNodesAreReplacedBesideAMaintainedOne: their pods do not go where an administrator works.
func TestDriftedNodesAreReplacedBesideAMaintainedOne(t *testing.T) {
	t.Attr("covers", "N511")
	for maintained, want := range map[bool]string{false: "delete a", true: "replace a -> x1 on-demand"} {
		f := newFleet(t, sizes(1, onDemand))
		drifted(f.node("a", onDemand, "x1", 500), 1)
		f.node("b", onDemand, "x2").Maintenance = maintained
		f.want(f.decide(drift(), 1), want)
	}
}
