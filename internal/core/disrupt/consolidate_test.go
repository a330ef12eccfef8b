package disrupt

import (
	"fmt"
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

func TestReplace(t *testing.T) {
	t.Run("an on-demand node is replaced by a cheaper one", func(t *testing.T) {
		t.Attr("covers", "C382")
		f := newFleet(t, sizes(4, onDemand))
		f.node("a", onDemand, "x8", 500)
		f.want(f.decide(singleNode(), 1), "replace a -> x1,x2,x4 on-demand")
	})
	t.Run("an equal price is not cheaper", func(t *testing.T) {
		t.Attr("covers", "C400")
		f := newFleet(t, sizes(1, onDemand))
		f.node("a", onDemand, "x1", 500)
		d := f.decide(singleNode(), 1)
		f.want(d, "")
		f.wantObstacle(d, "a", NotCheaper, "can't replace with a cheaper node")
	})
	t.Run("no replacement when any spot launch could be more expensive", func(t *testing.T) {
		t.Attr("covers", "C394")
		dear := typeOf("x1", 1, spot)
		dear.Offerings[1].Price = 9 // in the other zone
		f := newFleet(t, catalog.Catalog{dear, typeOf("x8", 8, onDemand)})
		f.node("a", onDemand, "x8", 500)
		f.want(f.decide(singleNode(), 1), "")
	})
	t.Run("no replacement when on-demand would be more expensive", func(t *testing.T) {
		t.Attr("covers", "C395")
		f := newFleet(t, sizes(2, onDemand))
		n := f.node("a", onDemand, "x1", 500)
		f.prices[n.ID] = 0.5
		f.want(f.decide(singleNode(), 1), "")
	})
	t.Run("a replacement that could be spot or on-demand is pinned to spot", func(t *testing.T) {
		t.Attr("covers", "C396")
		f := newFleet(t, sizes(2, onDemand, spot))
		f.node("a", onDemand, "x2", 500)
		f.want(f.decide(singleNode(), 1), "replace a -> x1,x2 spot")
	})
	t.Run("minValues are strict whatever the policy", func(t *testing.T) {
		t.Attr("covers", "C398")
		f := newFleet(t, sizes(3, onDemand))
		p := f.input.Problem.Pools[0]
		p.Requirements = p.Requirements.Add(requirement.New(instanceTypeKey, requirement.Exists).WithMinValues(3))
		f.input.Problem.Options.BestEffortMinValues = true
		f.node("a", onDemand, "x4", 500)
		d := f.decide(singleNode(), 1)
		f.want(d, "")
		f.wantObstacle(d, "a", tooFewValues, "")
	})
	t.Run("another pool without instance types does not prevent a replacement", func(t *testing.T) {
		t.Attr("covers", "C391")
		f := newFleet(t, sizes(2, onDemand))
		f.pool("barren", nil)
		f.node("a", onDemand, "x2", 500)
		f.want(f.decide(singleNode(), 1), "replace a -> x1 on-demand")
	})
	t.Run("one node is not replaced by two", func(t *testing.T) {
		f := newFleet(t, catalog.Catalog{typeOf("x1", 1, onDemand), typeOf("x8", 8, onDemand)})
		f.node("a", onDemand, "x8", 700, 700)
		d := f.decide(singleNode(), 1)
		f.want(d, "")
		// On a single node the pods need the large instance type again.
		f.wantObstacle(d, "a", NotCheaper, "")
	})
	t.Run("a reservation is cheaper than anything else", func(t *testing.T) {
		t.Attr("covers", "C494")
		held := typeOf("x8", 8, reserved, onDemand)
		for i := range held.Offerings[:2] {
			held.Offerings[i].Kind = &catalog.Kind{Requirements: held.Offerings[i].Requirements.Add(requirement.New("test/reservation", requirement.In, "r-1"))}
			held.Offerings[i].ReservationCapacity = 1
		}
		f := newFleet(t, catalog.Catalog{held})
		f.input.Problem.Options.Reserved, f.input.Problem.Options.ReservationLabel = 2, "test/reservation"
		wk := f.input.Problem.Options.WellKnown
		f.input.Problem.Options.WellKnown = func(key string) bool { return key == "test/reservation" || wk(key) }
		f.node("a", onDemand, "x8", 5000)
		f.want(f.decide(singleNode(), 1), "replace a -> x8 reserved")
	})
}

func TestSpotToSpot(t *testing.T) {
	many := func(n int) catalog.Catalog {
		var out catalog.Catalog
		for i := range n {
			it := typeOf(fmt.Sprintf("s%02d", i), 2, spot)
			for k := range it.Offerings {
				it.Offerings[k].Price = 0.1 + 0.01*float64(i)
			}
			out = append(out, it)
		}
		return append(out, typeOf("x4", 4, spot))
	}
	t.Run("it is rejected when the feature is disabled", func(t *testing.T) {
		t.Attr("covers", "C385")
		f := newFleet(t, many(20))
		f.node("a", spot, "x4", 500)
		d := f.decide(singleNode(), 1)
		f.want(d, "")
		f.wantObstacle(d, "a", spotToSpotOff, "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node")
	})
	t.Run("the cheapest 15 types are launched", func(t *testing.T) {
		t.Attr("covers", "C383 C387")
		f := newFleet(t, many(20))
		f.input.SpotToSpot = true
		f.node("a", spot, "x4", 500)
		f.want(f.decide(singleNode(), 1), "replace a -> s00,s01,s02,s03,s04,s05,s06,s07,s08,s09,s10,s11,s12,s13,s14 spot")
	})
	t.Run("at least 15 cheaper types are required", func(t *testing.T) {
		t.Attr("covers", "C384 C386")
		f := newFleet(t, many(14))
		f.input.SpotToSpot = true
		f.node("a", spot, "x4", 500)
		d := f.decide(singleNode(), 1)
		f.want(d, "")
		f.wantObstacle(d, "a", spotToSpotInflexible,
			"SpotToSpotConsolidation requires 15 cheaper instance type options than the current candidate to consolidate, got 14")
	})
	t.Run("minValues may need more than 15", func(t *testing.T) {
		t.Attr("covers", "C388")
		f := newFleet(t, many(20))
		f.input.SpotToSpot = true
		p := f.input.Problem.Pools[0]
		p.Requirements = p.Requirements.Add(requirement.New(instanceTypeKey, requirement.Exists).WithMinValues(17))
		f.node("a", spot, "x4", 500)
		d := f.decide(singleNode(), 1)
		if len(d.Commands) != 1 || len(d.Commands[0].Replacements[0].InstanceTypes) != 17 {
			t.Errorf("decided %q, want 17 instance types", say(d))
		}
	})
	t.Run("several nodes need no minimum of types", func(t *testing.T) {
		f := newFleet(t, sizes(3, spot))
		f.input.SpotToSpot = true
		for _, name := range []string{"a", "b", "c"} {
			f.node(name, spot, "x4", 300)
		}
		f.want(f.decide(multiNode(), 3), "replace a+b+c -> x1,x2 spot")
	})
}

func TestDelete(t *testing.T) {
	t.Run("a node whose pods fit elsewhere is deleted", func(t *testing.T) {
		t.Attr("covers", "C401")
		f := newFleet(t, sizes(2, onDemand))
		f.node("a", onDemand, "x2", 500)
		f.node("b", onDemand, "x2", 500, 500, 100)
		f.want(f.decide(singleNode(), 1), "delete a")
	})
	t.Run("unmanaged nodes can absorb pods", func(t *testing.T) {
		t.Attr("covers", "C404")
		f := newFleet(t, sizes(1, onDemand))
		f.node("a", onDemand, "x1", 500)
		f.node("b", onDemand, "x2").Managed = false
		f.want(f.decide(singleNode(), 1), "delete a")
	})
	t.Run("volumes move to nodes that can attach them", func(t *testing.T) {
		t.Attr("covers", "N436")
		for name, c := range map[string]struct {
			limits volume.Limits
			used   int
			want   string
		}{
			"the driver has capacity":                  {volume.Limits{"d": 2}, 1, "delete a"},
			"the driver is at its limit":               {volume.Limits{"d": 2}, 2, ""},
			"the driver is required and not installed": {volume.Limits{}, 0, ""},
		} {
			f := newFleet(t, sizes(1, onDemand))
			using := f.node("a", onDemand, "x1", 500).Pods[0]
			using.Dependencies = model.NewDependencies([]volume.Attachment{{Driver: "d", Claim: "ns/moving"}}, nil)
			s := *using.Shape
			s.Drivers, s.InstalledDrivers = []string{"d"}, []string{"d"}
			using.Shape = &s
			b := f.node("b", onDemand, "x2", 500)
			b.Disruption.Consolidatable, b.Attachable = false, c.limits
			for i := range c.used {
				b.Attached = append(b.Attached, volume.Attachment{Driver: "d", Claim: fmt.Sprint("ns/", i)})
			}
			t.Log(name)
			f.want(f.decide(singleNode(), 1), c.want)
		}
	})
	t.Run("no deletion relies on an uninitialized node", func(t *testing.T) {
		t.Attr("covers", "C408")
		f := newFleet(t, sizes(1, onDemand))
		f.node("a", onDemand, "x1", 500)
		f.node("b", onDemand, "x2").Initialized = false
		d := f.decide(singleNode(), 1)
		f.want(d, "")
		f.wantObstacle(d, "a", NoOtherPlace,
			"not all pods would schedule, default/a-0 => would schedule against uninitialized nodeclaim/claim-b, node/b ")
	})
	t.Run("pods of deleting nodes may be planned onto uninitialized nodes", func(t *testing.T) {
		t.Attr("covers", "C483")
		f := newFleet(t, sizes(1, onDemand))
		f.node("a", onDemand, "x1", 500).Disruption.Consolidatable = false
		f.node("b", onDemand, "x1", 200)
		f.node("c", onDemand, "x2").Initialized = false
		gone := f.node("d", onDemand, "x1", 900)
		gone.Deleting = true
		f.input.Problem.Pods = append(f.input.Problem.Pods, gone.Pods...)
		f.want(f.decide(singleNode(), 1), "delete b")
	})
	t.Run("no pod is moved onto a node within its consolidateAfter", func(t *testing.T) {
		t.Attr("covers", "C410")
		f := newFleet(t, sizes(1, onDemand), func(p *Pool) { p.ConsolidateAfter = 2 * time.Hour })
		f.node("a", onDemand, "x1", 500).Disruption.LastPodEvent = noon.Add(-3 * time.Hour).UnixNano()
		busy := f.node("b", onDemand, "x2", 500)
		busy.Disruption.Consolidatable = false
		f.want(f.decide(singleNode(), 1), "")
		busy.Disruption.LastPodEvent = noon.Add(-2 * time.Hour).UnixNano()
		f.want(f.decide(singleNode(), 1), "delete a")
	})
	t.Run("no pod is moved onto a node under maintenance", func(t *testing.T) {
		t.Attr("covers", "N511")
		f := newFleet(t, sizes(1, onDemand))
		f.input.OpensDestinations = true // that the administrator works on a node does not depend on consolidateAfter
		f.node("a", onDemand, "x1", 500)
		busy := f.node("b", onDemand, "x2", 500)
		busy.Disruption.Consolidatable, busy.Maintenance = false, true
		f.want(f.decide(singleNode(), 1), "")
		busy.Maintenance = false
		f.want(f.decide(singleNode(), 1), "delete a")
	})
	t.Run("pods that have not started may be placed there", func(t *testing.T) {
		t.Attr("covers", "C410")
		f := newFleet(t, sizes(1, onDemand), func(p *Pool) { p.ConsolidateAfter = 2 * time.Hour })
		f.node("a", onDemand, "x1", 500).Pods[0].Unstarted = true
		busy := f.node("b", onDemand, "x2", 500)
		busy.Disruption.Consolidatable = false
		f.want(f.decide(singleNode(), 1), "delete a")
	})
	t.Run("a node with consolidateAfter Never is a target", func(t *testing.T) {
		t.Attr("covers", "C411")
		f := newFleet(t, sizes(1, onDemand))
		f.pool("never", nil, func(p *Pool) { p.ConsolidationDisabled = true })
		f.node("a", onDemand, "x1", 500)
		f.nodeOf("never", "b", onDemand, "x2", 500).Disruption.LastPodEvent = noon.UnixNano()
		f.want(f.decide(singleNode(), 1), "delete a")
	})
	t.Run("a permanently pending pod does not block", func(t *testing.T) {
		t.Attr("covers", "C412")
		f := newFleet(t, sizes(1, onDemand))
		f.wait("giant", 900_000)
		f.node("a", onDemand, "x1", 500)
		f.node("b", onDemand, "x2", 500).Disruption.Consolidatable = false
		f.want(f.decide(singleNode(), 1), "delete a")
	})
	t.Run("a node is kept for a pending pod that needs its capacity", func(t *testing.T) {
		f := newFleet(t, sizes(1, onDemand))
		f.wait("large", 1500)
		f.node("a", onDemand, "x1", 500)
		f.node("b", onDemand, "x2", 500).Disruption.Consolidatable = false
		f.want(f.decide(singleNode(), 1), "")
	})
	t.Run("a running pod never becomes pending", func(t *testing.T) {
		t.Attr("covers", "C413")
		f := newFleet(t, nil)
		f.node("a", onDemand, "x1", 500)
		f.node("b", onDemand, "x1", 800)
		d := f.decide(singleNode(), 2)
		f.want(d, "")
		f.wantObstacle(d, "a", NoOtherPlace, "")
	})
	t.Run("pods move without any pool that may launch", func(t *testing.T) {
		f := newFleet(t, nil)
		f.input.Problem.Pools = nil
		f.node("a", onDemand, "x1", 500)
		f.node("b", onDemand, "x2", 500).Disruption.Consolidatable = false
		f.want(f.decide(singleNode(), 1), "delete a")
	})
}

func TestSingleMovesDoNotShareCapacity(t *testing.T) {
	f := newFleet(t, sizes(1, onDemand))
	f.node("a", onDemand, "x1", 900)
	f.node("b", onDemand, "x1", 900)
	f.node("c", onDemand, "x1", 900)
	f.node("large", onDemand, "x4", 1000, 1000)
	// There is capacity for two of the three.
	f.want(f.decide(singleNode(), 10), "delete a; delete b")
}

func TestCommandsUnderwayAreAssumedComplete(t *testing.T) {
	f := newFleet(t, sizes(1, onDemand))
	f.node("a", onDemand, "x1", 900)
	f.node("b", onDemand, "x1", 900)
	f.node("large", onDemand, "x4", 1000, 1000, 900)
	d := f.decide(singleNode(), 1)
	f.want(d, "delete a")
	f.input.Underway = d.Commands
	f.nodes[0].NominatedUntil = noon.Add(time.Hour).UnixNano() // busy
	f.want(f.decide(singleNode(), 1), "")
}

func TestConsolidationCandidates(t *testing.T) {
	t.Attr("covers", "C373 C374 C375 C377 C378 C379 C380")
	for _, tt := range []struct {
		name   string
		change func(f *fleet, n *model.Node, p *Pool)
		want   Code
		text   string
	}{
		{"an ordinary node", func(*fleet, *model.Node, *Pool) {}, NotCheaper, ""},
		{"static pools", func(_ *fleet, _ *model.Node, p *Pool) { p.Static = true }, Static, ""},
		{
			"no capacity type", func(_ *fleet, n *model.Node, _ *Pool) { delete(n.Labels, capacityTypeKey) },
			NoCapacityType, `Node does not have label "karpenter.sh/capacity-type"`,
		},
		{
			"no zone", func(_ *fleet, n *model.Node, _ *Pool) { delete(n.Labels, zoneKey) },
			noZone, `Node does not have label "topology.kubernetes.io/zone"`,
		},
		{
			"consolidateAfter Never", func(_ *fleet, _ *model.Node, p *Pool) { p.ConsolidationDisabled = true },
			ConsolidationOff, `NodePool "default" has consolidation disabled`,
		},
		{"empty nodes", func(_ *fleet, n *model.Node, _ *Pool) { n.Pods = nil }, AlreadyEmpty, ""},
		{
			"WhenEmpty", func(_ *fleet, _ *model.Node, p *Pool) { p.Policy = whenEmpty },
			EmptyOnly, `NodePool "default" has consolidation policy WhenEmpty, but node is not empty`,
		},
		{"not quiet for long enough", func(_ *fleet, n *model.Node, _ *Pool) { n.Disruption.Consolidatable = false }, NotConsolidatable, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(t, sizes(1, onDemand))
			n := f.node("a", onDemand, "x1", 500)
			p := f.input.Pools["default"]
			tt.change(f, n, &p)
			f.input.Pools["default"] = p
			f.wantObstacle(f.decide(singleNode(), 1), "a", tt.want, tt.text)
		})
	}
	t.Run("an unresolvable instance type", func(t *testing.T) {
		t.Attr("covers", "C376")
		c := newCandidate(node("a", func(n *model.Node) { n.Labels = map[string]string{instanceTypeKey: "x9"} }), Pool{})
		_, refused := singleNode().FilterNodes([]Candidate{c})
		if len(refused) != 1 || refused[0].String() != `Instance Type "x9" not found` {
			t.Errorf("refused: %v", refused)
		}
	})
}

func TestUnplacedPodsAreNamed(t *testing.T) {
	var list []UnplacedPod
	for i := range 6 {
		list = append(list, UnplacedPod{&model.Pod{Namespace: "ns", Name: fmt.Sprint(i)}, "no"})
	}
	if got, want := (&Simulator{}).describeUnplaced(list[:1]), "not all pods would schedule, ns/0 => no "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (&Simulator{}).describeUnplaced(list[:5]), "not all pods would schedule, ns/0 => no ns/1 => no ns/2 => no ns/3 => no ns/4 => no  and 0 other(s)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (&Simulator{}).describeUnplaced(list), "not all pods would schedule, ns/0 => no ns/1 => no ns/2 => no ns/3 => no ns/4 => no  and 1 other(s)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPodsOfDeletedNodesAreNotNamed: why a node stays is about its pods, unless only those of nodes that are being deleted have no place.
func TestPodsOfDeletedNodesAreNotNamed(t *testing.T) {
	own, other := &model.Pod{UID: "own", Namespace: "default", Name: "own"}, &model.Pod{UID: "other", Namespace: "default", Name: "other"}
	sim := &Simulator{leaving: map[string]bool{"other": true}}
	both := []UnplacedPod{{own, "no capacity"}, {other, "no capacity"}}
	if got, want := sim.describeUnplaced(both), "not all pods would schedule, default/own => no capacity "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := sim.describeUnplaced(both[1:]), "not all pods would schedule, default/other => no capacity "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
