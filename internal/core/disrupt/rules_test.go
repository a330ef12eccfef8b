package disrupt

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// wants adds a demand for distinct values of a label to the pool "default".
func (f *fleet) wants(key string, values int) {
	p := f.input.Problem.Pools[0]
	p.Requirements = p.Requirements.Add(requirement.New(key, requirement.Exists).WithMinValues(values))
}

// of labels pods with an app, which a selector selects.
func of(app string) (*model.Labels, *topology.Selector) {
	return &model.Labels{Namespace: "default", Values: map[string]string{"app": app}},
		topology.NewSelector(requirement.NewSet(requirement.New("app", requirement.In, app)))
}

func TestReplacementRules(t *testing.T) {
	t.Run("minValues that the price breaks stop the move on demand", func(t *testing.T) {
		t.Attr("covers", "C389")
		f := newFleet(t, sizes(3, onDemand))
		f.wants(instanceTypeKey, 3)
		f.node("a", onDemand, "x4", 500)
		d := f.decide(singleNode(), 1)
		f.want(d, "")
		f.wantObstacle(d, "a", tooFewValues, "")
	})
	t.Run("and on spot", func(t *testing.T) {
		t.Attr("covers", "C389")
		f := newFleet(t, append(sizes(3, spot), typeOf("x8", 8, spot)))
		f.input.SpotToSpot = true
		f.wants(instanceTypeKey, 4)
		f.node("a", spot, "x8", 500)
		d := f.decide(singleNode(), 1)
		f.want(d, "")
		f.wantObstacle(d, "a", tooFewValues, "")
	})
	t.Run("a large pending pod keeps a node of its size", func(t *testing.T) {
		t.Attr("covers", "C343")
		f := newFleet(t, sizes(4, onDemand))
		f.node("a", onDemand, "x8", 500)
		f.want(f.decide(singleNode(), 1), "replace a -> x1,x2,x4 on-demand")
		f.wait("large", 7000)
		d := f.decide(singleNode(), 1)
		f.want(d, "")
		f.wantObstacle(d, "a", NotCheaper, "")
	})
	t.Run("a node with the maximum consolidateAfter takes no pods", func(t *testing.T) {
		f := newFleet(t, sizes(3, onDemand), func(p *Pool) { p.ConsolidateAfter = math.MaxInt64 })
		f.node("a", onDemand, "x1", 500)
		f.node("b", onDemand, "x1", 100)
		d := f.decide(singleNode(), 1)
		f.want(d, "")
		f.wantObstacle(d, "a", NotCheaper, "")
	})
	t.Run("another node within its consolidateAfter does not stop it", func(t *testing.T) {
		t.Attr("covers", "C397")
		f := newFleet(t, sizes(3, onDemand), func(p *Pool) { p.ConsolidateAfter = 2 * time.Hour })
		f.node("a", onDemand, "x4", 500).Disruption.LastPodEvent = noon.Add(-3 * time.Hour).UnixNano()
		f.node("busy", onDemand, "x2", 500).Disruption.Consolidatable = false
		f.want(f.decide(singleNode(), 1), "replace a -> x1,x2 on-demand")
	})
	for policy, want := range map[model.PreferencePolicy]string{"": "", model.EconomicalPreferences: "", model.IgnorePreferences: "replace a -> x1,x2 on-demand"} {
		t.Run("with the preference policy "+string(policy), func(t *testing.T) {
			t.Attr("covers", "C399")
			f := newFleet(t, sizes(3, onDemand))
			f.input.Problem.Options.Preferences = policy
			n := f.node("a", onDemand, "x4", 500)
			n.Pods[0].Shape.Preferred = []model.Preference{
				{Weight: 100, Terms: requirement.NewSet(requirement.New(instanceTypeKey, requirement.In, "x4"))},
			}
			f.want(f.decide(singleNode(), 1), want)
		})
	}
	t.Run("a reserved node is replaced from a cheaper reservation", func(t *testing.T) {
		t.Attr("covers", "C493")
		f := newFleet(t, catalog.Catalog{heldType("x8", 8, "r-8"), heldType("x2", 2, "r-2")})
		f.reserve()
		f.node("a", reserved, "x8", 500)
		f.want(f.decide(singleNode(), 1), "replace a -> x2 reserved")
		g := newFleet(t, catalog.Catalog{heldType("x8", 8, "r-8"), heldType("x2", 2, "r-2")})
		g.reserve()
		g.node("a", reserved, "x2", 500)
		g.want(g.decide(singleNode(), 1), "")
	})
	t.Run("a node with pods and a buffer is replaced by a cheaper one for both", func(t *testing.T) {
		t.Attr("covers", "C497")
		f := newFleet(t, sizes(4, onDemand))
		f.node("a", onDemand, "x8", 500).Headroom = 1
		f.wait("virtual", 1200).Virtual = true
		f.want(f.decide(singleNode(), 1), "replace a -> x2,x4 on-demand")
	})
	t.Run("nodes that only reserve capacity for a buffer are never consolidated", func(t *testing.T) {
		t.Attr("covers", "C381")
		f := newFleet(t, sizes(4, onDemand))
		f.node("a", onDemand, "x8").Headroom = 2
		f.node("b", onDemand, "x8").Headroom = 2
		for _, m := range []Method{singleNode(), multiNode()} {
			d := f.decide(m, 9)
			f.want(d, "")
			f.wantObstacle(d, "a", AlreadyEmpty, "")
		}
		_, refused := emptiness().FilterNodes(f.candidates())
		if diff := cmp.Diff([]Code{KeepsHeadroom, KeepsHeadroom}, codes(refused)); diff != "" {
			t.Error(diff)
		}
	})
}

// heldType is an instance type with one instance in a reservation, at almost no cost.
func heldType(name string, cores int64, reservation string) *catalog.InstanceType {
	it := typeOf(name, cores, reserved)
	for i := range it.Offerings {
		it.Offerings[i].Kind = &catalog.Kind{Requirements: it.Offerings[i].Requirements.Add(requirement.New("test/reservation", requirement.In, reservation))}
		it.Offerings[i].ReservationCapacity = 1
	}
	return it
}

// reserve enables reservations.
func (f *fleet) reserve() {
	f.input.Problem.Options.Reserved, f.input.Problem.Options.ReservationLabel = solve.ReservedFallback, "test/reservation"
	known := f.input.Problem.Options.WellKnown
	f.input.Problem.Options.WellKnown = func(key string) bool { return key == "test/reservation" || known(key) }
}

func TestDeletionRules(t *testing.T) {
	t.Run("only nodes without recent pod events are deleted", func(t *testing.T) {
		t.Attr("covers", "C402")
		f := newFleet(t, sizes(1, onDemand))
		f.node("busy", onDemand, "x1", 500).Disruption.Consolidatable = false
		f.node("quiet", onDemand, "x1", 500)
		f.node("large", onDemand, "x4", 2000).Disruption.Consolidatable = false
		d := f.decide(singleNode(), 9)
		f.want(d, "delete quiet")
		f.wantObstacle(d, "busy", NotConsolidatable, "")
	})
	t.Run("pods are placed on initialized nodes first", func(t *testing.T) {
		t.Attr("covers", "C409")
		f := newFleet(t, sizes(1, onDemand))
		f.node("m", onDemand, "x1", 500)
		f.node("a", onDemand, "x2").Initialized = false
		f.node("z", onDemand, "x2", 500).Disruption.Consolidatable = false
		d := f.decide(singleNode(), 1)
		f.want(d, "delete m")
		if at := d.Commands[0].Placements; len(at) != 1 || at[0].Node.Name != "z" {
			t.Errorf("placed %+v, want all on z", at)
		}
	})
	t.Run("anti-affinity is respected", func(t *testing.T) {
		t.Attr("covers", "C415")
		for apart, want := range map[bool]string{false: "delete a", true: ""} {
			f := newFleet(t, sizes(1, onDemand))
			face, selector := of("web")
			for _, name := range []string{"a", "b"} {
				n := f.node(name, onDemand, map[string]string{"a": "x1", "b": "x2"}[name])
				n.Disruption.Consolidatable = name == "a"
				p := f.run(n, "web-"+name, 500)
				if p.Labels = face; apart {
					p.Shape.Affinities = []topology.Affinity{{Key: "kubernetes.io/hostname", Anti: true, Selector: selector, Namespaces: []string{"default"}}}
					n.AntiAffinityPods = append(n.AntiAffinityPods, p)
				}
			}
			f.want(f.decide(singleNode(), 1), want)
		}
	})
	t.Run("replacements keep the spread over zones", func(t *testing.T) {
		t.Attr("covers", "C415")
		f := newFleet(t, sizes(3, onDemand))
		face, selector := of("web")
		for i, zone := range []string{"zone-1", "zone-2"} {
			n := f.node(string(rune('a'+i)), onDemand, "x4")
			n.Labels[zoneKey] = zone
			n.Requirements, n.Disruption.Consolidatable = requirement.Labels(n.Labels), i == 0
			for k := range 2 {
				p := f.run(n, fmt.Sprintf("web-%d-%d", i, k), 300)
				p.Labels = face
				p.Shape.Spreads = []topology.Spread{{Key: zoneKey, MaxSkew: 1, Selector: selector, Namespace: "default"}}
			}
		}
		d := f.decide(singleNode(), 1)
		// Neither of the two pods may be placed on b, and both fit into the other zone only if the first one is there.
		if len(d.Commands) != 1 || len(d.Commands[0].Replacements) != 1 {
			t.Fatalf("decided %q; obstacles %v", say(d), d.Obstacles)
		}
		claim := d.Commands[0].Replacements[0]
		zones := claim.Requirements.Get(zoneKey).Values()
		if len(zones) != 1 || zones[0] != "zone-1" || len(claim.Pods) == 0 {
			t.Errorf("the replacement may be in %v with %d pods, want zone-1", zones, len(claim.Pods))
		}
	})
}

func TestSeveralBecomeOne(t *testing.T) {
	t.Attr("covers", "C424")
	for _, tt := range []struct{ name, first, second, third, want string }{
		{"on demand", onDemand, onDemand, onDemand, "replace a+b+c -> x4 on-demand"},
		{"spot", spot, spot, spot, "replace a+b+c -> x4 spot"},
		{"mixed", onDemand, spot, onDemand, "replace a+b+c -> x4 spot"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kinds := []string{onDemand, spot}
			if tt.second == onDemand {
				kinds = kinds[:1]
			}
			f := newFleet(t, catalog.Catalog{typeOf("x2", 2, kinds...), typeOf("x4", 4, kinds...)})
			f.input.SpotToSpot = true
			for i, kind := range []string{tt.first, tt.second, tt.third} {
				f.node(string(rune('a'+i)), kind, "x2", 1300)
			}
			f.want(f.decide(multiNode(), 3), tt.want)
		})
	}
}

// over is a deadline that expires after the given number of calls.
func over(looks int) func() bool {
	return func() bool {
		looks--
		return looks < 0
	}
}

// until returns the decision of a method with the given deadline.
func (f *fleet) until(m Method, over func() bool, first map[string]bool) Decision {
	f.input.Problem.Nodes = f.nodes
	list := f.candidates()
	sim := f.input.Simulator(list, m.Simulates)
	budgets := Budgets{}
	for name := range f.input.Pools {
		budgets[name] = 100
	}
	fit, _ := m.FilterNodes(list)
	return m.Decide(Session{
		Input: &f.input, Budgets: budgets, Simulators: []*Simulator{sim}, Expired: over, FirstPools: first,
		Each: func(n int, do func(*Simulator, int)) {
			for i := range n {
				do(sim, i)
			}
		},
	}, fit)
}

func TestDeadlines(t *testing.T) {
	quarters := func(t *testing.T) *fleet {
		f := newFleet(t, sizes(1, onDemand))
		for _, name := range []string{"a", "b", "c", "d"} {
			f.node(name, onDemand, "x1", 100)
		}
		f.node("large", onDemand, "x4", 100).Disruption.Consolidatable = false
		return f
	}
	t.Run("the best result before the deadline counts", func(t *testing.T) {
		t.Attr("covers", "C428")
		f := quarters(t)
		d := f.until(multiNode(), over(1), nil)
		f.want(d, "delete a+b+c")
		if !d.TimedOut {
			t.Error("nothing says that time was up")
		}
		f.want(f.until(multiNode(), over(1000), nil), "delete a+b+c+d")
	})
	t.Run("or nothing", func(t *testing.T) {
		t.Attr("covers", "C428")
		f := quarters(t)
		if d := f.until(multiNode(), over(0), nil); len(d.Commands) != 0 || !d.TimedOut || len(d.Scored) != 0 {
			t.Errorf("decided %q, timed out %t", say(d), d.TimedOut)
		}
	})
	t.Run("a complete pass leaves no pool unvisited", func(t *testing.T) {
		t.Attr("covers", "C434")
		f := quarters(t)
		f.pool("other", sizes(1, onDemand))
		f.nodeOf("other", "o", onDemand, "x1", 100)
		d := f.until(singleNode(), over(1), nil)
		if !d.TimedOut || len(d.Unvisited) != 1 {
			t.Fatalf("timed out %t, unvisited %v; want one pool", d.TimedOut, d.Unvisited)
		}
		if d = f.until(singleNode(), over(1000), d.Unvisited); d.TimedOut || len(d.Unvisited) != 0 {
			t.Errorf("timed out %t, unvisited %v", d.TimedOut, d.Unvisited)
		}
	})
}

// TestSavingsPerDisruption: nodes are ordered by price over disruption cost, for every policy.
func TestSavingsPerDisruption(t *testing.T) {
	t.Attr("covers", "C304 C436")
	for _, policy := range []string{whenEmptyOrUnderutilized, Balanced} {
		f := newFleet(t, sizes(1, onDemand), func(p *Pool) { p.Policy = policy })
		f.node("crowded", onDemand, "x2", 100, 100)
		f.node("cheap", onDemand, "x1", 100)
		f.node("dear", onDemand, "x2", 100)
		f.node("precious", onDemand, "x2", 100).Pods[0].EvictionCost = 9
		f.node("large", onDemand, "x16", 9000).Disruption.Consolidatable = false
		f.want(f.decide(singleNode(), 1), "delete dear")
		f.want(f.decide(multiNode(), 2), "delete crowded+dear")
	}
	empty := func(price float64, name string) Candidate {
		return Candidate{Node: node(name), Price: price, DisruptionCost: baseCost}
	}
	for _, policy := range []string{whenEmpty, whenEmptyOrUnderutilized, Balanced} {
		list := []Candidate{empty(1, "cheap"), empty(3, "dear"), empty(2, "middle")}
		for i := range list {
			list[i].Pool.Policy = policy
		}
		got := emptiness().Decide(Session{Budgets: Budgets{"default": 2}}, list).Commands
		if diff := cmp.Diff([]string{"dear", "middle"}, names(got[0].Candidates)); diff != "" {
			t.Errorf("%s: %s", policy, diff)
		}
	}
}

func TestPricesOfReplacements(t *testing.T) {
	t.Run("an on-demand pool ignores spot prices", func(t *testing.T) {
		t.Attr("covers", "C451")
		f := newFleet(t, catalog.Catalog{typeOf("x1", 1, onDemand, spot), typeOf("x8", 8, onDemand, spot)}, func(p *Pool) { p.Policy = Balanced })
		p := f.input.Problem.Pools[0]
		p.Requirements = p.Requirements.Add(requirement.New(capacityTypeKey, requirement.In, onDemand))
		f.node("a", onDemand, "x8", 500)
		d := f.decide(singleNode(), 1)
		f.want(d, "replace a -> x1 on-demand")
		if got := d.Commands[0].Savings(); got != 7 {
			t.Errorf("saves %v, want 7", got)
		}
		if got := d.Scored[0].Scoring.Scores[0].Savings; got != 7.0/8 {
			t.Errorf("a share of %v is saved, want 7/8", got)
		}
	})
	t.Run("only zones that fit count", func(t *testing.T) {
		t.Attr("covers", "C459")
		odd := typeOf("x1", 1, onDemand)
		odd.Offerings[1].Price = 0.25 // in zone-2
		f := newFleet(t, catalog.Catalog{odd, typeOf("x8", 8, onDemand)})
		n := f.node("a", onDemand, "x8", 500)
		n.Pods[0].Shape.Selector = requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-1"))
		if got := f.decide(singleNode(), 1).Commands[0].Savings(); got != 7 {
			t.Errorf("saves %v, want 7", got)
		}
	})
	t.Run("without any restriction the cheapest offering counts", func(t *testing.T) {
		t.Attr("covers", "C460")
		odd := typeOf("x1", 1, onDemand)
		odd.Offerings[1].Price = 0.25
		f := newFleet(t, catalog.Catalog{odd, typeOf("x8", 8, onDemand)})
		f.node("a", onDemand, "x8", 500)
		if got := f.decide(singleNode(), 1).Commands[0].Savings(); got != 7.75 {
			t.Errorf("saves %v, want 7.75", got)
		}
	})
	t.Run("pods of all nodes are counted", func(t *testing.T) {
		t.Attr("covers", "C463")
		f := newFleet(t, sizes(1, onDemand))
		f.node("a", onDemand, "x1", 100, 100)
		f.node("b", onDemand, "x1", 100, 100, 100)
		f.node("large", onDemand, "x4", 100).Disruption.Consolidatable = false
		if d := f.decide(multiNode(), 9); d.Commands[0].Pods() != 5 {
			t.Errorf("%d pods, want 5", d.Commands[0].Pods())
		}
	})
}

// TestTheExpectedPriceDecides: with the cheapest instance type of the list the command would be approved, with the most
// expensive one, which may be launched, it is not.
func TestTheExpectedPriceDecides(t *testing.T) {
	t.Attr("covers", "W035")
	f := newFleet(t, sizes(3, onDemand, spot), func(p *Pool) { p.Policy = Balanced })
	f.node("a", onDemand, "x4", 100, 100, 100, 100, 100)
	f.node("b", onDemand, "x4", 3900).Disruption.Consolidatable = false
	d := f.decide(singleNode(), 1)
	f.want(d, "")
	f.wantObstacle(d, "a", ScoreTooLow, "")
	if len(d.Scored) != 1 {
		t.Fatalf("%d judgements", len(d.Scored))
	}
	command := d.Scored[0].Command
	if j := score(command, command.Savings(), &f.input); !j.Approved {
		t.Errorf("the cheapest price would not be approved either: %+v", j.Scores)
	}
}

// TestSimulationsLeaveNoTrace: the input is shared, not copied, and unchanged afterwards.
func TestSimulationsLeaveNoTrace(t *testing.T) {
	t.Attr("covers", "C486 W025")
	bytes := map[int]uint64{}
	for _, size := range []int{100, 2000} {
		f := newFleet(t, sizes(3, onDemand))
		for i := range size {
			f.node(fmt.Sprintf("n%04d", i), onDemand, "x2", 500, 500, 500)
		}
		f.input.Problem.Nodes = f.nodes
		list := f.candidates()
		sim := f.input.Simulator(list, ForConsolidation)
		sim.Simulate(list[:1])
		was := fmt.Sprintf("%+v %+v %+v", *f.nodes[0], *f.nodes[1], *f.nodes[0].Pods[0])
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		const questions = 20
		for i := range questions {
			sim.Simulate(list[i : i+1])
		}
		runtime.ReadMemStats(&after)
		bytes[size] = (after.TotalAlloc - before.TotalAlloc) / questions
		if now := fmt.Sprintf("%+v %+v %+v", *f.nodes[0], *f.nodes[1], *f.nodes[0].Pods[0]); now != was {
			t.Errorf("was\n%s\nis\n%s", was, now)
		}
	}
	// Twenty times the nodes; a copy of each would be a kilobyte more.
	if bytes[2000] > bytes[100]+64<<10 {
		t.Errorf("a question takes %d bytes among 100 nodes and %d among 2000", bytes[100], bytes[2000])
	}
}

// TestTheSameClusterGivesTheSameDecision: the order of the input does not matter.
func TestTheSameClusterGivesTheSameDecision(t *testing.T) {
	t.Attr("covers", "W029")
	for seed := range uint64(10) {
		for _, m := range []Method{singleNode(), multiNode(), drift(), dispensable()} {
			var first string
			for try := range 4 {
				f := randomFleet(t, rand.New(rand.NewPCG(seed, 3)), 12) //nolint:gosec // a test
				for i, n := range f.nodes {
					drifted(n, 1+i%3)
					if i%4 == 0 {
						for _, p := range n.Pods {
							p.EvictionCost = -1
						}
					}
				}
				shuffle := rand.New(rand.NewPCG(seed, uint64(try))) //nolint:gosec // a test
				shuffle.Shuffle(len(f.nodes), func(i, k int) { f.nodes[i], f.nodes[k] = f.nodes[k], f.nodes[i] })
				if try%2 == 1 {
					slices.Reverse(f.input.Problem.Pools)
				}
				got := say(f.decide(m, 2))
				if try == 0 {
					first = got
				}
				if got != first {
					t.Errorf("seed %d, %s: decided %q, then %q", seed, m.Type, first, got)
				}
			}
		}
	}
}
