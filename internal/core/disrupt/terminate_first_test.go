package disrupt

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

const atNodeLimit = "static NodePool is at its node limit and cannot stage a replacement"

func TestTerminateFirstAtTheNodeLimit(t *testing.T) {
	t.Attr("covers", "N126 N127 N128 N129")
	var three []*model.Node
	for i, name := range []string{"a", "b", "c"} {
		three = append(three, drifted(node(name, func(n *model.Node) { n.Pool = "p" }), 3-i))
	}
	full := Pool{Static: true, Usable: true, NoSpareNode: true}
	for _, tt := range []struct {
		name         string
		pool         Pool
		on           bool
		budget, free int
		want         []string
		// obstacles are by node.
		obstacles map[string]Code
	}{
		{
			"nodes go without a replacement, as many as the budget allows", full, true, 2, 0,
			[]string{"terminate-first a", "terminate-first b"},
			map[string]Code{"c": NodePoolBudgetExhausted},
		},
		{"without the feature gate they stay", full, false, 2, 0, nil, map[string]Code{"a": NodeLimit, "b": NodeLimit, "c": NodePoolBudgetExhausted}},
		{"the others wait while one is replaced", full, true, 3, 1, []string{"replace a"}, map[string]Code{"b": NodeLimit, "c": NodeLimit}},
		{
			"they wait for other replacements if the limit leaves a place for one",
			Pool{Static: true, Usable: true},
			true, 3, 0, nil,
			map[string]Code{"a": NodeLimit, "b": NodeLimit, "c": NodeLimit},
		},
		{
			"they stay in a pool that launches no others",
			Pool{Static: true, NoSpareNode: true},
			true, 3, 0, nil,
			map[string]Code{"a": NodeLimit, "b": NodeLimit, "c": NodeLimit},
		},
		{
			"they stay without budget", full, true, 0, 0, nil,
			map[string]Code{"a": NodePoolBudgetExhausted, "b": NodePoolBudgetExhausted, "c": NodePoolBudgetExhausted},
		},
		{"they stay while the pool has surplus nodes", Pool{Static: true, Usable: true, NoSpareNode: true, Surplus: true}, true, 3, 0, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			budgets := Budgets{"p": tt.budget}
			d := decideStatic(map[string]Pool{"p": tt.pool}, Session{
				Budgets: budgets, Grant: func(_ string, wanted int) int { return min(tt.free, wanted) }, TerminateFirst: tt.on, TerminateFirstStatic: tt.on,
			}, three...)
			if diff := cmp.Diff(tt.want, said(d)); diff != "" {
				t.Error(diff)
			}
			obstacles := map[string]Code{}
			for _, o := range d.Obstacles {
				obstacles[o.Node.Name] = o.Code
				if o.Code == NodeLimit && (o.String() != atNodeLimit || o.Code.Event() != DisruptionBlocked || !o.Code.Verbatim()) {
					t.Errorf("the event is %v %q", o.Code.Event(), o)
				}
			}
			if len(tt.obstacles)+len(obstacles) > 0 {
				if diff := cmp.Diff(tt.obstacles, obstacles); diff != "" {
					t.Error(diff)
				}
			}
			for _, c := range d.Commands {
				if c.Decision() == terminateFirst && (c.TerminateFirst != staticAtLimit || c.Static || c.Launches() != 0 || len(c.Candidates) != 1) {
					t.Errorf("the command is %+v", c)
				}
			}
			if budgets["p"] != tt.budget-len(d.Commands) {
				t.Errorf("the budget is %d after %d commands", budgets["p"], len(d.Commands))
			}
		})
	}
}

func TestTerminateFirstRepairAtTheNodeLimit(t *testing.T) {
	t.Attr("covers", "N126 N127 N133")
	f := newFleet(t, sizes(1, onDemand), func(p *Pool) { p.Static, p.NoSpareNode = true, true })
	unhealthy(t, f.node("a", onDemand, "x1", 500), "Hanging", time.Hour)
	unhealthy(t, f.node("b", onDemand, "x1", 500), "Hanging", time.Hour)
	f.wantObstacle(f.repairs(2), "a", NodeLimit, atNodeLimit)
	f.change = func(s *Session) { s.TerminateFirst, s.TerminateFirstStatic = true, true }
	f.want(f.repairs(2), "terminate-first a")
	f.slots = 1
	f.want(f.repairs(2), "replace a")
	f.slots = 0
	f.change = func(s *Session) { s.TerminateFirst = true }
	f.want(f.repairs(2), "")
	f.change = func(s *Session) { s.TerminateFirst, s.TerminateFirstStatic = true, true }
	f.input.Pools["default"] = Pool{Static: true, NoSpareNode: true}
	f.wantObstacle(f.repairs(2), "a", NodeLimit, atNodeLimit)
}

const reservationsAreFull = "static NodePool's capacity reservations are full and cannot stage a replacement"

// usedUp takes the instances out of the reservations of an instance type.
func usedUp(it *catalog.InstanceType) *catalog.InstanceType {
	for i := range it.Offerings {
		it.Offerings[i].ReservationCapacity, it.Offerings[i].Full = 0, true
	}
	return it
}

// unavailable makes the offerings of an instance type unavailable.
func unavailable(it *catalog.InstanceType) *catalog.InstanceType {
	for i := range it.Offerings {
		it.Offerings[i].Group, it.Offerings[i].Full = catalog.Unavailable, false
	}
	return it
}

// holding is a drifted node that holds an instance of a reservation.
func holding(n *model.Node, reservation string) *model.Node {
	n.Labels = map[string]string{capacityTypeKey: reserved, "test/reservation": reservation}
	return n
}

func TestStagingOfAStaticPool(t *testing.T) {
	t.Attr("covers", "N124")
	for _, tt := range []struct {
		name  string
		types catalog.Catalog
		full  bool
		// holds says whether a node of the reservation r-1 holds an instance that its replacement could get.
		holds bool
	}{
		{"all reservations are full", catalog.Catalog{usedUp(heldType("x1", 1, "r-1")), usedUp(heldType("x2", 2, "r-2"))}, true, true},
		{"one has an instance left", catalog.Catalog{usedUp(heldType("x1", 1, "r-1")), heldType("x2", 2, "r-2")}, false, true},
		{"another one is unavailable", catalog.Catalog{usedUp(heldType("x1", 1, "r-1")), unavailable(heldType("x2", 2, "r-2"))}, true, true},
		{"that of the node is unavailable", catalog.Catalog{unavailable(heldType("x1", 1, "r-1")), usedUp(heldType("x2", 2, "r-2"))}, true, false},
		{"on-demand capacity would do", catalog.Catalog{usedUp(heldType("x1", 1, "r-1")), typeOf("x2", 2, onDemand)}, false, true},
		{"on-demand capacity would do, but is unavailable", catalog.Catalog{usedUp(heldType("x1", 1, "r-1")), unavailable(typeOf("x2", 2, onDemand))}, false, true},
		{"no offering meets the template", catalog.Catalog{typeOf("x2", 2, spot)}, true, false},
	} {
		template := &model.Pool{Catalog: tt.types, Requirements: requirement.NewSet(requirement.New(capacityTypeKey, requirement.In, reserved, onDemand))}
		st := stagingOf(template, "test/reservation")
		if got := st.holds(holding(node("a"), "r-1")); st.full != tt.full || got != tt.holds {
			t.Errorf("%s: full %t, holds %t; want %t, %t", tt.name, st.full, got, tt.full, tt.holds)
		}
		if st.holds(node("b")) {
			t.Errorf("%s: a node without a reservation holds one", tt.name)
		}
	}
}

func TestTerminateFirstWithFullReservations(t *testing.T) {
	t.Attr("covers", "N124 N125 N127 N129")
	full := &model.Pool{Catalog: catalog.Catalog{usedUp(heldType("x1", 1, "r-1"))}}
	of := func(pool string, n *model.Node, hours int) *model.Node {
		n.Pool = pool
		return drifted(n, hours)
	}
	pools := map[string]Pool{"p": {Static: true, Usable: true}, "q": {Static: true, Usable: true}}
	decide := func(pools map[string]Pool, budget int, templates map[string]*model.Pool) (Decision, map[string]Code) {
		d := decideStatic(pools, Session{
			Budgets: Budgets{"p": budget, "q": budget}, TerminateFirst: true, TerminateFirstStatic: true, ReservationLabel: "test/reservation",
			StaticPool: func(name string) *model.Pool { return templates[name] },
			Grant: func(pool string, wanted int) int {
				if pool == "p" {
					t.Error("a place was reserved for a node that is not replaced")
				}
				return wanted
			},
		}, of("p", node("a"), 9), of("p", holding(node("b"), "r-1"), 1), of("p", holding(node("c"), "r-1"), 2), of("q", node("d"), 1))
		obstacles := map[string]Code{}
		for _, o := range d.Obstacles {
			obstacles[o.Node.Name] = o.Code
			if o.Code == reservationsFull && (o.String() != reservationsAreFull || o.Code.Event() != DisruptionBlocked || !o.Code.Verbatim()) {
				t.Errorf("the event is %v %q", o.Code.Event(), o)
			}
		}
		return d, obstacles
	}
	other := &model.Pool{Catalog: sizes(1, onDemand)}
	for _, tt := range []struct {
		name      string
		pools     map[string]Pool
		budget    int
		templates map[string]*model.Pool
		want      []string
		obstacles map[string]Code
	}{
		{
			"those that hold an instance go, before others", pools, 2,
			map[string]*model.Pool{"p": full, "q": other},
			[]string{"terminate-first c", "terminate-first b", "replace d"},
			map[string]Code{"a": NodePoolBudgetExhausted},
		},
		{
			"one that holds none stays", pools, 3,
			map[string]*model.Pool{"p": full, "q": other},
			[]string{"terminate-first c", "terminate-first b", "replace d"},
			map[string]Code{"a": reservationsFull},
		},
		{
			"all stay in a pool that launches no others",
			map[string]Pool{"p": {Static: true}, "q": {Static: true}},
			3,
			map[string]*model.Pool{"p": full, "q": other},
			[]string{"replace d"},
			map[string]Code{"a": reservationsFull, "b": reservationsFull, "c": reservationsFull},
		},
		{
			"a pool whose instance types cannot be listed does not stop others", pools, 3,
			map[string]*model.Pool{"q": other},
			[]string{"replace d"},
			map[string]Code{"a": reservationsUnknown, "b": reservationsUnknown, "c": reservationsUnknown},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, obstacles := decide(tt.pools, tt.budget, tt.templates)
			if diff := cmp.Diff(tt.want, said(d)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.obstacles, obstacles); diff != "" {
				t.Error(diff)
			}
			for _, c := range d.Commands {
				if c.Decision() == terminateFirst && c.TerminateFirst != noReservedCapacity {
					t.Errorf("the reason is %q", c.TerminateFirst)
				}
			}
		})
	}
}

func TestTerminateFirstRepairWithFullReservations(t *testing.T) {
	t.Attr("covers", "N124 N127 N133")
	f := newFleet(t, sizes(1, onDemand), func(p *Pool) { p.Static = true })
	f.pool("other", sizes(1, onDemand), func(p *Pool) { p.Static = true })
	unhealthy(t, f.node("a", onDemand, "x1", 400), "Hanging", time.Hour)
	holding(unhealthy(t, f.node("b", onDemand, "x1", 500), "Hanging", time.Hour), "r-1")
	unhealthy(t, f.nodeOf("other", "c", onDemand, "x1", 500, 100), "Hanging", time.Hour)
	f.slots = 1
	templates := map[string]*model.Pool{"default": {Catalog: catalog.Catalog{usedUp(heldType("x1", 1, "r-1"))}}, "other": {Catalog: sizes(1, onDemand)}}
	f.change = func(s *Session) {
		s.TerminateFirst, s.TerminateFirstStatic, s.ReservationLabel = true, true, "test/reservation"
		s.StaticPool = func(name string) *model.Pool { return templates[name] }
	}
	d := f.repairs(3)
	f.want(d, "terminate-first b")
	f.wantObstacle(d, "a", reservationsFull, reservationsAreFull)
	f.input.Pools["default"] = Pool{Static: true}
	d = f.repairs(3)
	f.want(d, "replace c")
	f.wantObstacle(d, "b", reservationsFull, reservationsAreFull)
	delete(templates, "default")
	d = f.repairs(3)
	f.want(d, "replace c")
	f.wantObstacle(d, "a", reservationsUnknown, "")
}

// onReservation is a fleet whose pool launches from the reservation r-1 only, which is full, or in another way that change sets up. Its node a,
// which holds an instance, has drifted and is unhealthy.
func onReservation(t *testing.T, types catalog.Catalog, cpus ...int64) *fleet {
	f := newFleet(t, types)
	f.reserve()
	f.change = func(s *Session) { s.TerminateFirst, s.ReservationLabel = true, "test/reservation" }
	a := drifted(f.node("a", reserved, "x1", cpus...), 1)
	a.Labels["test/reservation"] = "r-1"
	unhealthy(t, a, "Hanging", time.Hour)
	return f
}

func TestTerminateFirstForTheInstanceOfANode(t *testing.T) {
	t.Attr("covers", "N121 N122 N123 N129 N133")
	full := func() catalog.Catalog { return catalog.Catalog{usedUp(heldType("x1", 1, "r-1"))} }
	for _, tt := range []struct {
		name   string
		types  catalog.Catalog
		cpus   []int64
		change func(*fleet)
		want   string
	}{
		{"the reservation has no other instance", full(), []int64{500}, nil, "terminate-first a"},
		{"it has another one", catalog.Catalog{heldType("x1", 1, "r-1")}, []int64{500}, nil, "replace a -> x1 reserved"},
		{"on-demand capacity would do", append(full(), sizes(1, onDemand)...), []int64{500}, nil, "replace a -> x1 on-demand"},
		{"another node would do", full(), []int64{500}, func(f *fleet) { f.node("b", onDemand, "x2", 100) }, "delete a"},
		{"the reservation is unavailable", catalog.Catalog{unavailable(heldType("x1", 1, "r-1"))}, []int64{500}, nil, ""},
		{"the pool has no offering of the reservation", catalog.Catalog{usedUp(heldType("x1", 1, "r-2"))}, []int64{500}, nil, ""},
		{
			"another offering of the reservation is unavailable", append(full(), unavailable(usedUp(heldType("x2", 2, "r-1")))),
			[]int64{500},
			nil,
			"terminate-first a",
		},
		{"the pods need two instances", full(), []int64{600, 600}, nil, ""},
		{"a pod that waits takes the instance", full(), []int64{500}, func(f *fleet) { f.wait("w", 900) }, ""},
		{"the node holds no instance", full(), []int64{500}, func(f *fleet) { delete(f.nodes[0].Labels, "test/reservation") }, ""},
		{"the node is not reserved", full(), []int64{500}, func(f *fleet) { f.nodes[0].Labels[capacityTypeKey] = onDemand }, ""},
		{"the feature gate is off", full(), []int64{500}, func(f *fleet) { f.change = func(s *Session) { s.ReservationLabel = "test/reservation" } }, ""},
		{"reservations are not used", full(), []int64{500}, func(f *fleet) { f.change = func(s *Session) { s.TerminateFirst = true } }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := onReservation(t, tt.types, tt.cpus...)
			if tt.change != nil {
				tt.change(f)
			}
			for method, d := range map[string]Decision{"drift": f.decide(drift(), 1), "repair": f.repairs(1)} {
				if got := say(d); got != tt.want {
					t.Errorf("%s: %q, want %q; obstacles %v", method, got, tt.want, d.Obstacles)
				}
				for _, c := range d.Commands {
					if c.Decision() == terminateFirst && (c.TerminateFirst != noReservedCapacity || c.Launches() != 0) {
						t.Errorf("%s: the command is %+v", method, c)
					}
				}
			}
		})
	}
}

// TestTerminateFirstOncePerPass: two nodes hold the instances of one reservation, and pods of the first one move to a third node.
func TestTerminateFirstOncePerPass(t *testing.T) {
	t.Attr("covers", "N129 N133")
	f := onReservation(t, catalog.Catalog{usedUp(heldType("x1", 1, "r-1"))}, 900, 50)
	b := drifted(f.node("b", reserved, "x1", 900), 2)
	b.Labels["test/reservation"] = "r-1"
	f.node("c", onDemand, "x1", 900)
	d := f.decide(drift(), 2)
	f.want(d, "terminate-first b")
	f.wantObstacle(d, "a", NotReached, "")
	b.Deleting = true
	d = f.decide(drift(), 2)
	f.want(d, "terminate-first a")
	if at := d.Commands[0].Placements; len(at) != 1 || at[0].Node.Name != "c" || len(at[0].Pods) != 1 {
		t.Errorf("placements %+v", at)
	}
}
