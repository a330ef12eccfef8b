package solve

import (
	"fmt"
	"slices"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

const reservationKey = "test.io/reservation-id"

// withReservation adds a reserved offering in zone-a to an on-demand instance type.
func withReservation(it *catalog.InstanceType, id string, capacity int) *catalog.InstanceType {
	for i := range it.Offerings {
		o := &it.Offerings[i]
		if o.Requirements.Get(capacityTypeKey).Has("on-demand") {
			o.Kind = &catalog.Kind{Requirements: o.Requirements.Replace(requirement.New(reservationKey, requirement.DoesNotExist))}
		}
	}
	it.Offerings = append(it.Offerings, catalog.Offering{
		Kind: &catalog.Kind{Requirements: requirement.NewSet(
			requirement.New(zoneKey, requirement.In, "zone-a"),
			requirement.New(capacityTypeKey, requirement.In, capacityTypeReserved),
			requirement.New(reservationKey, requirement.In, id),
		)},
		Price: 0.001, ReservationCapacity: int32(capacity), Full: capacity == 0,
	})
	it.Requirements = it.Requirements.Replace(requirement.New(capacityTypeKey, requirement.In, "on-demand", capacityTypeReserved))
	return it
}

func reservedProblem(p []*model.Pod, pools ...*model.Pool) Problem {
	out := problem(p, pools...)
	out.Options.Reserved, out.Options.ReservationLabel = ReservedStrict, reservationKey
	known := out.Options.WellKnown
	out.Options.WellKnown = func(key string) bool { return key == reservationKey || known(key) }
	return out
}

// apart is n pods that never share a node.
func apart(n int) []*model.Pod {
	s := shape(500, gi)
	s.Affinities = []topology.Affinity{far(hostnameKey, "apart")}
	return labelled(pods(n, s), "apart")
}

// held lists the reservations of every claim, sorted; "-" for a claim without any.
func held(p Plan) []string {
	var out []string
	for _, c := range p.NodeClaims {
		if c.Requirements.Has(reservationKey) && c.Requirements.Get(capacityTypeKey).Has(capacityTypeReserved) {
			out = append(out, fmt.Sprint(c.Requirements.Get(reservationKey).Values()))
		} else {
			out = append(out, "-")
		}
	}
	slices.Sort(out)
	return out
}

func TestAnOpenNodeIsPinnedToItsReservation(t *testing.T) {
	t.Attr("covers", "L294 L302")
	p := pool("default", withReservation(instanceType("m", 4, 16, 1), "r-1", 1))
	plan := Solve(reservedProblem(apart(1), p))
	if got := held(plan); !slices.Equal(got, []string{"[r-1]"}) {
		t.Fatalf("reservations %v, want r-1", got)
	}
	if got := plan.NodeClaims[0].Requirements.Get(capacityTypeKey).Values(); !slices.Equal(got, []string{"reserved"}) {
		t.Errorf("capacity type %v, want reserved alone", got)
	}
	if plan.NodeClaims[0].Price != 0.001 {
		t.Errorf("price %v, want that of the reservation", plan.NodeClaims[0].Price)
	}
}

// TestOpenNodesHoldReservationsThatOthersDoNotNeed: each node holds one instance, and the first of them what is left.
func TestOpenNodesHoldReservationsThatOthersDoNotNeed(t *testing.T) {
	t.Attr("covers", "L294 L297 L303")
	twoTypes := func(first, second int) *model.Pool {
		return pool("default", withReservation(instanceType("m", 4, 16, 1), "r-1", first), withReservation(instanceType("n", 4, 16, 1), "r-2", second))
	}
	for _, c := range []struct {
		name          string
		first, second int
		pods          int
		held          []string
		deferred      int
	}{
		{"both left for one claim", 1, 1, 1, []string{"[r-1 r-2]"}, 0},
		{"both left: two claims take one each, the other pod waits", 1, 1, 3, []string{"[r-1]", "[r-2]"}, 1},
		{"one left", 0, 1, 2, []string{"[r-2]"}, 1},
		{"none left: the rest falls back", 0, 0, 1, []string{"-"}, 0},
		{"of one and two", 1, 2, 4, []string{"[r-1]", "[r-2]", "[r-2]"}, 1},
		{"of one and two for two", 1, 2, 2, []string{"[r-1 r-2]", "[r-2]"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := Solve(reservedProblem(apart(c.pods), twoTypes(c.first, c.second)))
			if got := held(plan); !slices.Equal(got, c.held) || len(plan.Deferred) != c.deferred {
				t.Errorf("held %v and %d deferred, want %v and %d", got, len(plan.Deferred), c.held, c.deferred)
			}
			if n := unschedulablePods(plan); n != 0 {
				t.Errorf("%d pods are called unschedulable", n)
			}
		})
	}
}

// TestAllReservationsAreUsedInOnePass: one pass takes all instances of seventeen reservations, and the next one the pod that is left.
func TestAllReservationsAreUsedInOnePass(t *testing.T) {
	const reservations = 17
	reserving := func(capacity int) *model.Pool {
		var types []*catalog.InstanceType
		for i := range reservations {
			types = append(types, withReservation(instanceType(fmt.Sprintf("m%02d", i), 4, 16, 1), fmt.Sprintf("r-%02d", i), capacity))
		}
		return pool("default", types...)
	}
	var want []string
	for i := range reservations {
		want = append(want, fmt.Sprintf("[r-%02d]", i))
	}
	plan := Solve(reservedProblem(apart(reservations+1), reserving(1)))
	if got := held(plan); !slices.Equal(got, want) || len(plan.Deferred) != 1 {
		t.Errorf("held %v and %d deferred, want one claim for each reservation and one pod deferred", got, len(plan.Deferred))
	}
	plan = Solve(reservedProblem(plan.Deferred, reserving(0)))
	if got := held(plan); !slices.Equal(got, []string{"-"}) || len(plan.Deferred) != 0 {
		t.Errorf("in the next pass held %v and %d deferred, want one claim without a reservation", got, len(plan.Deferred))
	}
}

// TestAnOpenNodeGivesWayToOneWithFewerReservations: the large pods come first and can do with any reservation, the small ones have to have
// those that these would take.
func TestAnOpenNodeGivesWayToOneWithFewerReservations(t *testing.T) {
	p := pool("default")
	for i, zone := range []string{"m", "n", "o"} {
		p.Catalog = append(p.Catalog, withReservation(instanceType(zone, 4, 16, 1), fmt.Sprintf("r-%d", i+1), 1))
	}
	bound := func(cpu int64, types ...string) *model.Shape {
		s := shape(cpu, gi)
		s.Selector = requirement.NewSet(requirement.New(instanceTypeKey, requirement.In, types...))
		s.Affinities = []topology.Affinity{far(hostnameKey, "apart")}
		return s
	}
	var all []*model.Pod
	for _, s := range []*model.Shape{bound(3000, "m", "n", "o"), bound(2000, "m", "n"), bound(1000, "m")} {
		all = append(all, pods(1, s)...)
	}
	plan := Solve(reservedProblem(labelled(all, "apart"), p))
	if got := held(plan); !slices.Equal(got, []string{"[r-1]", "[r-2]", "[r-3]"}) || len(plan.Deferred) != 0 {
		t.Errorf("held %v and %d deferred, want a reservation for each pod", got, len(plan.Deferred))
	}
}

func TestAReservationSharedByTwoPoolsCountsOnce(t *testing.T) {
	t.Attr("covers", "L295")
	shared := withReservation(instanceType("m", 4, 16, 1), "r-1", 1)
	plan := Solve(reservedProblem(apart(2), pool("one", shared), pool("two", shared)))
	if got := held(plan); !slices.Equal(got, []string{"[r-1]"}) || len(plan.Deferred) != 1 {
		t.Errorf("held %v and %d deferred, want one claim and one pod deferred", got, len(plan.Deferred))
	}
}

func TestDistinctReservationsServeOneRun(t *testing.T) {
	t.Attr("covers", "L296")
	inZone := func(zone string) *model.Shape {
		s := shape(500, gi)
		s.Selector = requirement.NewSet(requirement.New(instanceTypeKey, requirement.In, zone))
		return s
	}
	p := pool("default", withReservation(instanceType("m", 4, 16, 1), "r-1", 1), withReservation(instanceType("n", 4, 16, 1), "r-2", 1))
	plan := Solve(reservedProblem(append(pods(1, inZone("m")), pods(1, inZone("n"))...), p))
	if got := held(plan); !slices.Equal(got, []string{"[r-1]", "[r-2]"}) {
		t.Errorf("held %v, want both", got)
	}
}

func TestAPodIsDeferredRatherThanPlacedInAPoolOfLowerWeight(t *testing.T) {
	t.Attr("covers", "L298 L299")
	first := pool("first", withReservation(instanceType("m", 4, 16, 1), "r-1", 1))
	first.Weight = 10
	all := apart(2)
	all[0].Shape.Preferred = []model.Preference{{Weight: 1, Terms: requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-a"))}}
	plan := Solve(reservedProblem(all, first, pool("second", instanceType("n", 4, 16, 1))))
	if len(plan.NodeClaims) != 1 || plan.NodeClaims[0].Pool != "first" || len(plan.Deferred) != 1 {
		t.Errorf("%d claims and %d deferred, want one claim of the first pool and one pod deferred", len(plan.NodeClaims), len(plan.Deferred))
	}
}

// TestAFullReservationDefersNoPod: a pool that has nothing but full reservations is no reason to wait. Pods go to other pools, with their
// preferences relaxed if need be; those that can only use the reservation stay pending.
func TestAFullReservationDefersNoPod(t *testing.T) {
	t.Attr("covers", "N232 N233 N234")
	reservedOnly := func(full bool) *model.Pool {
		out := pool("reserved", withReservation(instanceType("m", 4, 16, 1), "r-1", 3))
		out.Weight = 10
		out.Catalog[0].Offerings = out.Catalog[0].Offerings[len(out.Catalog[0].Offerings)-1:]
		if full {
			out.Catalog[0].Offerings[0].Full, out.Catalog[0].Offerings[0].ReservationCapacity = true, 0
		} else {
			out.Catalog[0].Offerings[0].Group = catalog.Unavailable // and it still reports capacity
		}
		return out
	}
	inReserved := requirement.NewSet(requirement.New(capacityTypeKey, requirement.In, capacityTypeReserved))
	for _, mode := range []compile.ReservedMode{ReservedStrict, ReservedFallback} {
		for _, full := range []bool{true, false} {
			all := apart(3)
			preferring, requiring := *all[0].Shape, *all[0].Shape
			preferring.Preferred = []model.Preference{{Weight: 1, Terms: inReserved}}
			requiring.Required = []requirement.Set{inReserved}
			all[1].Shape, all[2].Shape = &preferring, &requiring
			pr := reservedProblem(all, reservedOnly(full), pool("ordinary", instanceType("n", 4, 16, 5)))
			pr.Options.Reserved = mode
			plan := Solve(pr)
			if got := held(plan); len(plan.Deferred) != 0 || len(plan.Unschedulable) != 1 || !slices.Equal(plan.Unschedulable[0].Pods, all[2:]) || !slices.Equal(got, []string{"-", "-"}) {
				t.Errorf("mode %d, full %t: held %v, %d deferred, %d unschedulable, want two ordinary nodes and the pod that requires a reservation unschedulable", mode, full, got, len(plan.Deferred), len(plan.Unschedulable))
			}
		}
	}
}

// TestAFullReservationHasNoPriceAndNoCapacityType: NodeClaims neither name it nor count on its price.
func TestAFullReservationHasNoPriceAndNoCapacityType(t *testing.T) {
	t.Attr("covers", "N231")
	types := []*catalog.InstanceType{withReservation(instanceType("full", 4, 16, 5), "r-1", 0), instanceType("cheap", 4, 16, 1)}
	plan := Solve(reservedProblem(pods(1, shape(500, gi)), pool("default", types...)))
	if len(plan.NodeClaims) != 1 {
		t.Fatalf("%d claims", len(plan.NodeClaims))
	}
	c := plan.NodeClaims[0]
	if got := c.Requirements.Get(capacityTypeKey).Values(); slices.Contains(got, capacityTypeReserved) {
		t.Errorf("capacity types %v", got)
	}
	if c.Price != 1 || !slices.Equal(c.InstanceTypes, []string{"cheap", "full"}) {
		t.Errorf("types %v for $%v/h, want the cheap one first, for its price", c.InstanceTypes, c.Price)
	}
}

func TestPodsShareAReservedNode(t *testing.T) {
	t.Attr("covers", "L300")
	p := pool("default", withReservation(instanceType("m", 4, 16, 1), "r-1", 1))
	plan := Solve(reservedProblem(pods(5, shape(500, gi)), p))
	if got := held(plan); !slices.Equal(got, []string{"[r-1]"}) || len(plan.NodeClaims[0].Pods) != 5 {
		t.Errorf("held %v, want one reserved node for all five", got)
	}
}

func TestPodsDoNotGrowAnOpenNodeOutOfItsReservation(t *testing.T) {
	p := pool("default", withReservation(instanceType("m", 4, 16, 1), "r-1", 2), instanceType("huge", 64, 256, 16))
	plan := Solve(reservedProblem(pods(7, shape(1000, gi)), p))
	if got := held(plan); len(plan.Deferred) != 1 || !slices.Equal(got, []string{"[r-1]", "[r-1]"}) {
		t.Errorf("held %v and %d deferred, want two full reserved nodes of three pods each and one pod deferred", got, len(plan.Deferred))
	}
}

func TestFallbackNeverDefers(t *testing.T) {
	t.Attr("covers", "L305")
	pr := reservedProblem(apart(3), pool("default", withReservation(instanceType("m", 4, 16, 1), "r-1", 1)))
	pr.Options.Reserved = ReservedFallback
	plan := Solve(pr)
	if got := held(plan); len(plan.Deferred) != 0 || !slices.Equal(got, []string{"-", "-", "[r-1]"}) {
		t.Errorf("held %v and %d deferred, want one reserved and two ordinary nodes", got, len(plan.Deferred))
	}
	if got := plan.Price(); got != 2.001 {
		t.Errorf("$%v/h, want that of one reserved and two ordinary nodes", got)
	}
}

func TestIgnoredReservationsAreOrdinaryOfferings(t *testing.T) {
	t.Attr("covers", "L304")
	pr := reservedProblem(apart(3), pool("default", withReservation(instanceType("m", 4, 16, 1), "r-1", 1)))
	pr.Options.Reserved = ReservedIgnored
	plan := Solve(pr)
	if got := held(plan); len(plan.Deferred) != 0 || !slices.Equal(got, []string{"-", "-", "-"}) {
		t.Errorf("held %v and %d deferred, want three claims that hold nothing", got, len(plan.Deferred))
	}
}

func TestReservationBookkeeping(t *testing.T) {
	t.Attr("covers", "L301")
	rs := &compile.Reservations{Mode: ReservedStrict, ByID: map[string]int{}}
	rs.Know("r", 3)
	rs.Know("r", 1)
	rs.Know("r", 2)
	if rs.Left[0] != 1 {
		t.Fatalf("%d left, want the lowest number that any offering saw", rs.Left[0])
	}
	first, second := &compile.OpenNode{}, &compile.OpenNode{}
	rs.Hold(first, []int{0})
	rs.Hold(first, []int{0})
	if rs.Left[0] != 0 {
		t.Errorf("%d left, want holding twice to count once", rs.Left[0])
	}
	if got := rs.Reservable(first, []int{0}); len(got) != 1 {
		t.Error("a claim cannot keep what it holds")
	}
	if got := rs.Reservable(second, []int{0}); len(got) != 0 {
		t.Error("another claim could take what is used up")
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("taking a used-up reservation went unnoticed")
			}
		}()
		rs.Hold(second, []int{0})
	}()
	rs.Hold(first, nil)
	rs.Hold(first, nil)
	if rs.Left[0] != 1 {
		t.Errorf("%d left after giving back, want 1", rs.Left[0])
	}
}

// TestAReservationThatCannotMeetMinValuesBindsNoNodeClaim: bound to the reservation, the NodeClaim would list one instance type
// for minValues 2, which the API server refuses.
func TestAReservationThatCannotMeetMinValuesBindsNoNodeClaim(t *testing.T) {
	for _, bestEffort := range []bool{false, true} {
		for _, key := range []string{instanceTypeKey, capacityTypeKey} {
			p := pool("default", withReservation(instanceType("m", 4, 16, 1), "r-1", 1), instanceType("n", 4, 16, 2),
				withReservation(instanceType("o", 2, 8, 3), "r-2", 0))
			p.Requirements = p.Requirements.Add(requirement.New(key, requirement.Exists).WithMinValues(2))
			in := reservedProblem(apart(1), p)
			in.Options.BestEffortMinValues = bestEffort
			plan := Solve(in)
			if len(plan.NodeClaims) != 1 {
				t.Fatalf("%s: %d claims, want one", key, len(plan.NodeClaims))
			}
			for _, r := range plan.NodeClaims[0].Requirements {
				if r.MinValues() > 0 && r.Operator() == requirement.In && int(r.Len()) < r.MinValues() {
					t.Errorf("%s: the claim requires %s with minValues %d", key, r, r.MinValues())
				}
			}
			if c := plan.NodeClaims[0]; c.Price != 0.001 || !slices.Contains(c.InstanceTypes, "m") {
				t.Errorf("%s: %v at $%v, want the reservation to be possible", key, c.InstanceTypes, c.Price)
			}
		}
	}
}

// TestTheLastCutForReservationsKeepsMinValues: what is left without the reservation that others hold has too few instance types.
func TestTheLastCutForReservationsKeepsMinValues(t *testing.T) {
	reserved := withReservation(instanceType("m", 4, 16, 1), "r-1", 0)
	reserved.Offerings = reserved.Offerings[3:]
	reserved.Offerings[0].Group, reserved.Offerings[0].ReservationCapacity = 0, 0
	p := pool("default", reserved, instanceType("n", 4, 16, 2))
	p.Requirements = p.Requirements.Add(requirement.New(instanceTypeKey, requirement.Exists).WithMinValues(2))
	in := reservedProblem(apart(1), p)
	in.Options.Reserved = ReservedFallback
	for _, bestEffort := range []bool{false, true} {
		in.Options.BestEffortMinValues = bestEffort
		plan := Solve(in)
		if claims := len(plan.NodeClaims); bestEffort && claims != 1 || !bestEffort && (claims != 0 || unschedulablePods(plan) != 1) {
			t.Errorf("BestEffort %v: %d claims, %d unschedulable", bestEffort, claims, unschedulablePods(plan))
		}
		for _, c := range plan.NodeClaims {
			if r := c.Requirements.Get(instanceTypeKey); int(r.Len()) < r.MinValues() || !c.MinValuesRelaxed {
				t.Errorf("the claim requires %s with minValues %d", r, r.MinValues())
			}
		}
	}
}
