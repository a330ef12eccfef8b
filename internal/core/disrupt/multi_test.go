package disrupt

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

func TestMulti(t *testing.T) {
	t.Run("three nodes are merged into one", func(t *testing.T) {
		f := newFleet(t, sizes(3, onDemand))
		for _, name := range []string{"a", "b", "c"} {
			f.node(name, onDemand, "x2", 1500)
		}
		f.nodes[0].Labels[instanceTypeKey] = "x2"
		f.want(f.decide(multiNode(), 3), "")
		g := newFleet(t, catalog.Catalog{typeOf("x2", 2, onDemand), typeOf("x4", 4, onDemand)})
		for _, name := range []string{"a", "b", "c"} {
			g.node(name, onDemand, "x2", 1300)
		}
		g.want(g.decide(multiNode(), 3), "replace a+b+c -> x4 on-demand")
	})
	t.Run("two nodes are not merged into one of the same type", func(t *testing.T) {
		t.Attr("covers", "C425")
		f := newFleet(t, catalog.Catalog{typeOf("x2", 2, onDemand)})
		f.node("a", onDemand, "x2", 900)
		f.node("b", onDemand, "x2", 900)
		f.want(f.decide(multiNode(), 2), "")
	})
	t.Run("several nearly empty nodes are deleted together", func(t *testing.T) {
		t.Attr("covers", "C426")
		f := newFleet(t, sizes(1, onDemand))
		for _, name := range []string{"a", "b", "c"} {
			f.node(name, onDemand, "x1", 100)
		}
		f.node("d", onDemand, "x2", 1000, 200).Disruption.Consolidatable = false
		f.want(f.decide(multiNode(), 9), "delete a+b+c")
	})
	t.Run("only nodes within budgets are taken", func(t *testing.T) {
		t.Attr("covers", "C427")
		f := newFleet(t, sizes(1, onDemand))
		for _, name := range []string{"a", "b", "c"} {
			f.node(name, onDemand, "x1", 100)
		}
		f.node("d", onDemand, "x2", 1000, 200).Disruption.Consolidatable = false
		d := f.decide(multiNode(), 2)
		f.want(d, "delete a+b")
		if !d.Incomplete {
			t.Error("the budget held a node back, and nothing says so")
		}
	})
	t.Run("a short budget is not spent on cheap nodes whose pods cost nothing to evict", func(t *testing.T) {
		f := newFleet(t, sizes(1, onDemand))
		f.node("a", onDemand, "x4", 100).Pods[0].EvictionCost = 0
		f.node("b", onDemand, "x6", 100)
		f.node("c", onDemand, "x6", 100)
		f.node("d", onDemand, "x8", 1000, 200).Disruption.Consolidatable = false
		f.want(f.decide(multiNode(), 2), "delete b+c")
	})
	t.Run("a short budget is not spent on a node that cannot be removed", func(t *testing.T) {
		f := newFleet(t, sizes(1, onDemand))
		f.node("a", onDemand, "x6", 100)
		f.node("b", onDemand, "x6", 5900)
		f.node("c", onDemand, "x6", 150)
		f.node("d", onDemand, "x8", 1000, 200).Disruption.Consolidatable = false
		f.nodes[1].Pods[0].Shape.Requests = f.nodes[1].Pods[0].Shape.Requests.Set(resource.CPU, 7000)
		f.want(f.decide(multiNode(), 2), "delete a+c")
	})
	t.Run("a pod with choices leaves a place to one without", func(t *testing.T) {
		f := newFleet(t, sizes(1, onDemand))
		f.node("a", onDemand, "x2", 1500)
		only := f.node("b", onDemand, "x2", 1200).Pods[0]
		only.Shape.Selector = requirement.NewSet(requirement.New("kubernetes.io/hostname", requirement.In, "first"))
		f.node("first", onDemand, "x2", 100).Disruption.Consolidatable = false
		f.node("second", onDemand, "x2", 100).Disruption.Consolidatable = false
		d := f.decide(multiNode(), 9)
		f.want(d, "delete a+b")
		if len(d.Commands) != 1 {
			return
		}
		list := f.candidates()
		fit, _ := multiNode().FilterNodes(list)
		v := f.input.Simulator(list, ForConsolidation).Validate(d.Commands[0], fit, nil, Budgets{"default": 9})
		if len(v.Dropped) > 0 || len(v.Command.Candidates) != 2 || len(v.Command.Placements) != 2 || !v.Command.First[only.UID] {
			t.Errorf("validation gives %s and drops %v", v.Command.Text("x"), v.Dropped)
		}
	})
	t.Run("a cheap node is left out for one that costs more", func(t *testing.T) {
		// By savings ratio a and b come first, and then there is no capacity for the pods of c.
		f := newFleet(t, catalog.Catalog{typeOf("x64", 64, onDemand)})
		f.node("a", onDemand, "x1", 900)
		f.node("b", onDemand, "x1", 100)
		f.node("c", onDemand, "x3", 300, 300, 300, 300, 300, 300)
		f.node("target", onDemand, "x3", 1050).Disruption.Consolidatable = false
		f.want(f.decide(multiNode(), 9), "delete b+c")
	})
	t.Run("two cheap nodes are left out for one that costs more than both", func(t *testing.T) {
		f := newFleet(t, catalog.Catalog{typeOf("x64", 64, onDemand)})
		f.node("a", onDemand, "x1", 900)
		f.node("b", onDemand, "x1", 900)
		f.node("c", onDemand, "x4", 300, 300, 300, 300, 300, 300, 50, 50)
		f.node("d", onDemand, "x1", 50, 50, 50, 50)
		f.node("target", onDemand, "x4", 1850).Disruption.Consolidatable = false
		f.want(f.decide(multiNode(), 9), "delete c+d")
	})
	t.Run("at least two nodes are needed", func(t *testing.T) {
		t.Attr("covers", "C430")
		f := newFleet(t, sizes(3, onDemand))
		f.node("a", onDemand, "x4", 100)
		f.want(f.decide(multiNode(), 9), "")
	})
	t.Run("at most 100 nodes are taken at once", func(t *testing.T) {
		t.Attr("covers", "C431")
		f := newFleet(t, sizes(1, onDemand))
		for i := range 120 {
			f.node(fmt.Sprintf("n%03d", i), onDemand, "x1", 100)
		}
		f.node("large", onDemand, "x64", 1).Disruption.Consolidatable = false
		d := f.decide(multiNode(), 200)
		if len(d.Commands) != 1 || len(d.Commands[0].Candidates) != 100 {
			t.Errorf("decided %.200q, want 100 nodes", say(d))
		}
	})
	t.Run("minValues that the same-type rule breaks stop the move", func(t *testing.T) {
		t.Attr("covers", "C390")
		reqs := requirement.NewSet(requirement.New(instanceTypeKey, requirement.Exists).WithMinValues(2))
		left := quotes(catalog.Catalog{typeOf("x8", 8, onDemand), typeOf("x10", 10, onDemand)}, nil)
		set := []Candidate{{Node: &model.Node{Labels: map[string]string{instanceTypeKey: "x10"}}, Price: 10}}
		if kept, o := sameType(set, left, nil); o != nil || len(kept) != 1 || kept[0].it.Name != "x8" {
			t.Errorf("kept %v, %v; want x8", kept, o)
		}
		if _, o := sameType(set, left, reqs); o == nil || o.Code != tooFewValues {
			t.Errorf("obstacle %v, want one for minValues", o)
		}
	})
	t.Run("a set that no prefix is may be the best one", func(t *testing.T) {
		// The first node by savings ratio cannot be removed, so every prefix fails.
		f := newFleet(t, catalog.Catalog{typeOf("x1", 1, onDemand)})
		f.node("first", onDemand, "x64", 63_000)
		f.node("a", onDemand, "x1", 100, 100)
		f.node("b", onDemand, "x1", 100, 100)
		f.node("target", onDemand, "x2", 1000).Disruption.Consolidatable = false
		f.want(f.decide(multiNode(), 9), "delete a+b")
	})
}

// prefix is the command that upstream finds: bisection over prefixes of all candidates, written from the specification and sharing no
// code with the search. At most 100 nodes are taken, where upstream takes 101.
//
// Source: disruption specification, multi-node search.
func (f *fleet) prefix(budget int) Command {
	list := f.candidates()
	sim := f.input.Simulator(list, ForConsolidation)
	fit, _ := multiNode().FilterNodes(list)
	left := Budgets{}
	for name := range f.input.Pools {
		left[name] = budget
	}
	var within []Candidate
	for _, c := range byRatio(fit) {
		if left.Take(c.Node.Pool) {
			within = append(within, c)
		}
	}
	var found Command
	for low, high := 1, min(100, len(within)-1); low <= high; {
		mid := (low + high) / 2
		command, o := sim.Consolidate(within[:min(mid+1, 100)], "multi")
		if o == nil && sim.Score(command).Approved {
			found, low = command, mid+1
		} else {
			high = mid - 1
		}
	}
	return found
}

func TestTheSearchIsNeverWorseThanThePrefix(t *testing.T) {
	t.Attr("covers", "W028")
	gained := 0
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 5)) //nolint:gosec // a test
		f := randomFleet(t, random, 6+random.IntN(14))
		budget := 1 + random.IntN(12)
		d := f.decide(multiNode(), budget)
		want := f.prefix(budget)
		got := Command{}
		if len(d.Commands) > 0 {
			got = d.Commands[0]
			if len(got.Candidates) < 2 || len(got.Replacements) > 1 || got.Savings() <= 0 {
				t.Errorf("seed %d: %s", seed, got.Text("x"))
			}
			taken := map[string]int{}
			for _, c := range got.Candidates {
				if taken[c.Node.Pool]++; taken[c.Node.Pool] > budget {
					t.Errorf("seed %d: over the budget of %d: %s", seed, budget, got.Text("x"))
				}
			}
		}
		if got.Savings() < want.Savings()-1e-9 {
			t.Errorf("seed %d: saves %.3f, the prefix saves %.3f", seed, got.Savings(), want.Savings())
		}
		if got.Savings() > want.Savings()+1e-9 {
			gained++
		}
	}
	if gained == 0 {
		t.Error("the search never found anything better than a prefix")
	}
}

// randomFleet has nodes of mixed sizes, more or less full, in two pools.
func randomFleet(t *testing.T, random *rand.Rand, n int) *fleet {
	f := newFleet(t, sizes(5, onDemand, spot))
	f.pool("other", sizes(4, onDemand))
	f.input.SpotToSpot = true
	for i := range n {
		cores := int64(1) << random.IntN(5)
		free := int64(float64(cores*1000) * random.Float64())
		var cpus []int64
		for free > 100 && len(cpus) < 12 {
			cpu := 100 + random.Int64N(900)
			if cpu > free {
				break
			}
			cpus, free = append(cpus, cpu), free-cpu
		}
		if len(cpus) == 0 {
			cpus = []int64{100}
		}
		pool, kind := "default", []string{onDemand, spot}[random.IntN(2)]
		if random.IntN(3) == 0 {
			pool, kind = "other", onDemand
		}
		f.nodeOf(pool, fmt.Sprintf("n%02d", i), kind, fmt.Sprintf("x%d", cores), cpus...)
	}
	return f
}

func TestDecisionsLeaveEveryPodPlaced(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 9)) //nolint:gosec // a test
		f := randomFleet(t, random, 10)
		for i, n := range f.nodes {
			drifted(n, 1+i%3)
		}
		for _, m := range []Method{singleNode(), multiNode(), drift()} {
			d := f.decide(m, 4)
			gone, load := map[string]bool{}, map[string]*model.Node{}
			for _, n := range f.nodes {
				now := *n
				load[n.ID] = &now
			}
			for _, c := range d.Commands {
				for _, candidate := range c.Candidates {
					if gone[candidate.Node.ID] {
						t.Fatalf("seed %d: %s is in two commands", seed, candidate.Node.Name)
					}
					gone[candidate.Node.ID] = true
				}
			}
			for _, c := range d.Commands {
				homes := 0
				for _, at := range c.Placements {
					n := load[at.Node.ID]
					for _, p := range at.Pods {
						n.Used = n.Used.Add(p.Shape.Requests)
						homes++
					}
					if gone[at.Node.ID] || !n.Used.Fits(n.Allocatable) {
						t.Errorf("seed %d: %s counts on %s", seed, c.Text("x"), at.Node.Name)
					}
				}
				for _, claim := range c.Replacements {
					homes += len(claim.Pods)
				}
				if homes != c.Pods() {
					t.Errorf("seed %d: %s moves %d pods and has places for %d", seed, c.Text("x"), c.Pods(), homes)
				}
			}
		}
	}
}

// TestTheSearchIsNeverWorseThanThePrefixOfALargeFleet: with more candidates than one command may take, the bisection tries the same
// prefixes as upstream.
func TestTheSearchIsNeverWorseThanThePrefixOfALargeFleet(t *testing.T) {
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 11)) //nolint:gosec // a test
		f := randomFleet(t, random, 95+random.IntN(40))
		if seed%2 == 1 {
			pool := f.input.Pools["other"]
			pool.Policy = Balanced
			f.input.Pools["other"] = pool
		}
		for range random.IntN(4) {
			f.wait(fmt.Sprintf("waits-%d", random.Int()), 200+random.Int64N(3000))
		}
		var got Command
		if d := f.decide(multiNode(), 200); len(d.Commands) > 0 {
			got = d.Commands[0]
		}
		if want := f.prefix(200); got.Savings() < want.Savings()-1e-9 {
			t.Errorf("seed %d: saves %.3f with %d nodes, the prefix saves %.3f with %d", seed, got.Savings(), len(got.Candidates), want.Savings(), len(want.Candidates))
		}
	}
}
