package solve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

const preempts = "PreemptLowerPriority"

// gang is a group that needs so many pods.
func gang(name string, minCount int) *model.PodGroup {
	return &model.PodGroup{Namespace: "default", Name: name, MinCount: minCount, PreemptionPolicy: preempts}
}

// members are pods of a group.
func members(n int, s *model.Shape, g *model.PodGroup) []*model.Pod {
	out := pods(n, s)
	for i, pod := range out {
		pod.Name = fmt.Sprintf("%s-%p-%d", g.Name, s, i)
		pod.UID = pod.Name
		pod.Membership = &model.Membership{Group: g.ID(), Scheduler: "default-scheduler", Priority: g.Priority, PreemptionPolicy: preempts}
	}
	return out
}

// grouped is a problem with groups.
func grouped(p Problem, groups ...*model.PodGroup) Problem {
	var e model.Editor[*model.PodGroup]
	for _, g := range groups {
		e.Put(g.ID(), g)
	}
	index := e.Publish()
	p.PodGroups = &index
	return p
}

// limitedTo is a pool of nodes with four cores that may have so many of them.
func limitedTo(nodes int64) *model.Pool {
	p := pool("default", instanceType("four", 4, 16, 0.2))
	p.Limits = map[int]int64{resource.CPU: nodes * 4000}
	return p
}

// placedOf is how many pods of each group a plan places; single pods are those of the group "".
func placedOf(plan Plan) map[string]int {
	out := map[string]int{}
	eachPlaced(plan, func(pod *model.Pod) {
		id := ""
		if pod.Membership != nil {
			id = pod.Membership.Group
		}
		out[id]++
	})
	return out
}

// TestGangsAreWhole: limits are enough for some pods of the first gang only; the next gang, and single pods, get the capacity.
func TestGangsAreWhole(t *testing.T) {
	t.Attr("covers", "N462")
	large, small := gang("large", 4), gang("small", 2)
	in := problem(slices.Concat(members(4, shape(3500, gi), large), members(2, shape(3000, gi), small), pods(1, shape(2000, gi))), limitedTo(3))
	plan := Solve(grouped(in, large, small))
	if got := placedOf(plan); got["default/large"] != 0 || got["default/small"] != 2 || got[""] != 1 {
		t.Errorf("placed %v, want none of the gang of four, both of the gang of two, and the single pod", got)
	}
	if len(plan.NodeClaims) != 3 {
		t.Errorf("%d NodeClaims, want 3", len(plan.NodeClaims))
	}
	if len(plan.Unschedulable) != 1 || len(plan.Unschedulable[0].Pods) != 4 {
		t.Fatalf("unschedulable: %v, want the four pods of the gang together", plan.Unschedulable)
	}
}

// TestReasonsOfAGang: every pod gets the group, what it needs, what can be placed, and the first obstacle.
func TestReasonsOfAGang(t *testing.T) {
	t.Attr("covers", "N465")
	g := gang("train", 4)
	plan := Solve(grouped(problem(members(4, shape(3500, gi), g), limitedTo(3)), g))
	if len(plan.Unschedulable) != 1 || len(plan.NodeClaims) != 0 {
		t.Fatalf("%d kinds of unschedulable pods and %d NodeClaims, want one and none", len(plan.Unschedulable), len(plan.NodeClaims))
	}
	reasons := plan.Unschedulable[0].Reasons
	want := unschedulable.PodGroup{Name: "default/train", Needed: 4, Placeable: 3, Known: 4}
	if len(reasons) != 2 || reasons[0].Code != unschedulable.PodGroupShort || reasons[0].Group != want || reasons[1].Code != unschedulable.LimitsExceeded {
		t.Errorf("reasons %+v", reasons)
	}
	if got := reasons.String(); !strings.HasPrefix(got, `pod group "default/train" needs 4 pods at once, 3 can be placed; NodePool "default": all available instance types`) {
		t.Errorf("the reasons read %q", got)
	}
}

// TestPodsAboveTheMinimum: they are placed one by one, and keep their own reasons.
func TestPodsAboveTheMinimum(t *testing.T) {
	t.Attr("covers", "N463")
	g := gang("train", 2)
	plan := Solve(grouped(problem(members(4, shape(3500, gi), g), limitedTo(3)), g))
	if got := placedOf(plan)["default/train"]; got != 3 {
		t.Errorf("%d pods are placed, want 3", got)
	}
	if len(plan.Unschedulable) != 1 || len(plan.Unschedulable[0].Pods) != 1 || plan.Unschedulable[0].Reasons[0].Code != unschedulable.LimitsExceeded {
		t.Errorf("unschedulable: %+v, want one pod for the limit", plan.Unschedulable)
	}
}

func TestGroupsThatCannotBeConsidered(t *testing.T) {
	t.Attr("covers", "N450 N455")
	g := gang("train", 3)
	urgent := gang("urgent", 1)
	urgent.Priority = 10
	for _, c := range []struct {
		name   string
		pods   []*model.Pod
		groups []*model.PodGroup
		want   unschedulable.Code
		text   string
	}{
		{"missing", members(3, shape(500, gi), g), nil, unschedulable.PodGroupMissing, "does not exist"},
		{"incomplete", members(2, shape(500, gi), g), []*model.PodGroup{g}, unschedulable.PodGroupShort, "needs 3 pods at once, 2 run or wait for a node"},
		{
			"another priority", changed(members(3, shape(500, gi), urgent), func(m *model.Membership) { m.Priority = 0 }),
			[]*model.PodGroup{urgent},
			unschedulable.PodGroupMismatch, "has priority 0 instead of 10",
		},
		{
			"another preemption policy", changed(members(3, shape(500, gi), g), func(m *model.Membership) { m.PreemptionPolicy = "Never" }),
			[]*model.PodGroup{g},
			unschedulable.PodGroupMismatch, "has preemptionPolicy Never instead of PreemptLowerPriority",
		},
		{
			"two schedulers", slices.Concat(members(2, shape(500, gi), g), changed(members(1, shape(400, gi), g), func(m *model.Membership) { m.Scheduler = "other" })),
			[]*model.PodGroup{g},
			unschedulable.PodGroupMismatch, "has schedulerName other instead of default-scheduler",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := Solve(grouped(problem(c.pods, limitedTo(9)), c.groups...))
			if len(plan.NodeClaims)+len(plan.Placements) != 0 || len(plan.Unschedulable) != 1 || len(plan.Unschedulable[0].Pods) != len(c.pods) {
				t.Fatalf("the plan is %+v, want all pods refused together", plan)
			}
			if why := plan.Unschedulable[0].Reasons; len(why) != 1 || why[0].Code != c.want || !strings.Contains(why.String(), c.text) {
				t.Errorf("reasons %q, want %s with %q", why, c.want, c.text)
			}
		})
	}
}

func changed(pods []*model.Pod, f func(*model.Membership)) []*model.Pod {
	for _, pod := range pods {
		f(pod.Membership)
	}
	return pods
}

// TestGroupsNotServed: while the API server serves no groups, pods are placed as if they had none.
func TestGroupsNotServed(t *testing.T) {
	t.Attr("covers", "N460 N476")
	plan := Solve(problem(members(3, shape(3500, gi), gang("train", 4)), limitedTo(2)))
	if got := placedOf(plan)["default/train"]; got != 2 {
		t.Errorf("%d pods are placed, want the 2 that fit", got)
	}
}

// TestVirtualPodsHaveNoGroup: the template of a capacity buffer may name a group.
func TestVirtualPodsHaveNoGroup(t *testing.T) {
	t.Attr("covers", "N475")
	g := gang("train", 4)
	virtual := members(2, shape(3500, gi), g)
	for _, pod := range virtual {
		pod.Virtual = true
	}
	if got := placedOf(Solve(grouped(problem(virtual, limitedTo(2)), g)))["default/train"]; got != 2 {
		t.Errorf("%d virtual pods are placed, want both", got)
	}
}

// TestOrderOfGroups: by priority, then by the place of the largest pod, then by creation and name; the pods of a group follow each other.
func TestOrderOfGroups(t *testing.T) {
	t.Attr("covers", "N467")
	driver := func(g *model.PodGroup) []*model.Pod { return members(1, shape(500, gi), g) }
	workers := func(g *model.PodGroup) []*model.Pod { return members(2, shape(3500, gi), g) }
	both := func(g *model.PodGroup) []*model.Pod { return slices.Concat(driver(g), workers(g)) }
	for _, c := range []struct {
		name string
		set  func(a, b *model.PodGroup)
		want string
	}{
		{"name", func(_, _ *model.PodGroup) {}, "default/a"},
		{"creation", func(a, b *model.PodGroup) { a.Created, b.Created = 2, 1 }, "default/b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := gang("a", 3), gang("b", 3)
			c.set(a, b)
			plan := Solve(grouped(problem(slices.Concat(both(b), both(a)), limitedTo(3)), a, b))
			if got := placedOf(plan); len(got) != 1 || got[c.want] != 3 {
				t.Errorf("placed %v, want the three pods of %s", got, c.want)
			}
		})
	}
	t.Run("priority", func(t *testing.T) {
		large, urgent := gang("large", 2), gang("urgent", 2)
		urgent.Priority = 10
		high := *shape(3000, gi)
		high.Priority = 10
		plan := Solve(grouped(problem(slices.Concat(workers(large), members(2, &high, urgent)), limitedTo(2)), large, urgent))
		if got := placedOf(plan); len(got) != 1 || got["default/urgent"] != 2 {
			t.Errorf("placed %v, want both pods of the group with the higher priority", got)
		}
	})
}

// TestRunningMembersCount: those that run on nodes, and that do not move.
func TestRunningMembersCount(t *testing.T) {
	t.Attr("covers", "N462 N472")
	g := gang("train", 3)
	running, waiting := members(2, shape(500, gi), g), members(1, shape(3500, gi), g)
	n := &model.Node{ID: "full", Name: "full", NodeName: "full", Initialized: true, Pods: running}
	in := grouped(problem(waiting, limitedTo(1)), g)
	in.Nodes = []*model.Node{n}
	if got := placedOf(Solve(in))["default/train"]; got != 1 {
		t.Errorf("%d pods are placed beside the two that run, want 1", got)
	}
	// A what-if without the node: one of its pods moves, the third one is not there any more.
	in.Pods = nil
	base := NewBase(in, running)
	if got := placedOf(base.Solve([]*model.Node{n}, running[:1]))["default/train"]; got != 0 {
		t.Errorf("%d pods are placed of a group of two that needs three, want none", got)
	}
	g.MinCount = 2
	if got := placedOf(base.Solve([]*model.Node{n}, running))["default/train"]; got != 2 {
		t.Errorf("%d pods are placed without their node, want both", got)
	}
}

// TestAStoppedRunIsWhole: what is planned until the run is stopped has no part of a gang.
func TestAStoppedRunIsWhole(t *testing.T) {
	t.Attr("covers", "N462")
	g := gang("train", 40)
	var all []*model.Pod
	for i := range 40 {
		all = append(all, members(1, shape(3000+int64(i), gi), g)...)
	}
	in := grouped(problem(append(all, pods(1, shape(3900, gi))...), limitedTo(100)), g)
	calls := 0
	in.Options.Stop = func() bool { calls++; return calls > 12 }
	plan := Solve(in)
	if len(plan.Undecided) == 0 {
		t.Fatal("the run was not stopped")
	}
	if got := placedOf(plan); got["default/train"] != 0 || got[""] != 1 || len(plan.Undecided) != 40 {
		t.Errorf("placed %v and left %d undecided, want the single pod and the 40 of the gang", got, len(plan.Undecided))
	}
}

// TestManyGangsThatFallShort: equal gangs fall short together, and a bounded number of runs decides different ones.
func TestManyGangsThatFallShort(t *testing.T) {
	t.Attr("covers", "N462")
	for _, different := range []bool{false, true} {
		var all []*model.Pod
		var groups []*model.PodGroup
		same := shape(3500, gi)
		for i := range 60 {
			g := gang(fmt.Sprintf("g-%02d", i), 4)
			s := same
			if different {
				s = shape(3500-int64(i), gi)
			}
			groups, all = append(groups, g), append(all, members(4, s, g)...)
		}
		in := grouped(problem(all, limitedTo(10)), groups...)
		runs := 0
		plan := inGroups(in, nil, func(p Problem) Plan { runs++; return solveAlone(p) })
		got := placedOf(plan)
		if len(got) != 2 || got["default/g-00"] != 4 || got["default/g-01"] != 4 {
			t.Errorf("different=%t: placed %v, want the first two gangs", different, got)
		}
		if limit := map[bool]int{false: 2, true: maxRounds}[different]; runs > limit {
			t.Errorf("different=%t: %d runs, want at most %d", different, runs, limit)
		}
	}
}

// zonesOf are the zones that the pods of a plan may be launched in.
func zonesOf(plan Plan) []string {
	var out []string
	for _, claim := range plan.NodeClaims {
		out = append(out, claim.Requirements.Get(zoneKey).Values()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestAGroupGetsOneDomain: the cheapest zone that holds the whole group, and another one where others need the capacity of that zone.
func TestAGroupGetsOneDomain(t *testing.T) {
	t.Attr("covers", "N468")
	g := gang("train", 2)
	g.TopologyKey = zoneKey
	types := pool("default", instanceType("four", 4, 16, 0.2))
	in := grouped(problem(members(3, shape(3500, gi), g), types), g)
	plan := Solve(in)
	if got := placedOf(plan)["default/train"]; got != 3 || len(zonesOf(plan)) != 1 {
		t.Fatalf("%d pods are placed in the zones %v, want 3 in one zone", got, zonesOf(plan))
	}
	for _, claim := range plan.NodeClaims {
		if claim.Pods[0].Shape != in.Pods[0].Shape {
			t.Error("the plan has other pods than the problem")
		}
	}
	// Two nodes with free capacity are in zone-b: no node is launched.
	for i := range 3 {
		zone := []string{"zone-b", "zone-b", "zone-c"}[i]
		name := fmt.Sprint("n", i)
		free := resource.Vector{}.Set(resource.CPU, 4000).Set(resource.Memory, 16*gi).Set(resource.Pods, 110)
		in.Nodes = append(in.Nodes, &model.Node{
			ID: name, Name: name, NodeName: name, Initialized: true, Ready: true, Capacity: free, Allocatable: free,
			Requirements: requirement.NewSet(requirement.New(zoneKey, requirement.In, zone)),
		})
	}
	in.Pods = in.Pods[:2]
	plan = Solve(in)
	if len(plan.Placements) != 2 || plan.Placements[0].Node.ID != "n0" || plan.Placements[1].Node.ID != "n1" {
		t.Errorf("the plan is %+v, want both pods on the nodes of zone-b", plan)
	}
	g.TopologyKey = "example.com/rack"
	if plan = Solve(in); len(plan.Unschedulable) != 1 || plan.Unschedulable[0].Reasons[0].Code != unschedulable.PodGroupTopologyUnknown {
		t.Errorf("the plan is %+v, want a refusal because no node has the label", plan)
	}
}

// TestRunningMembersFixTheDomain: a pod that moves joins the others.
func TestRunningMembersFixTheDomain(t *testing.T) {
	t.Attr("covers", "N473")
	g := gang("train", 3)
	g.TopologyKey = zoneKey
	running := members(3, shape(3500, gi), g)
	in := grouped(problem(nil, pool("default", instanceType("four", 4, 16, 0.2))), g)
	for i, pod := range running {
		name := fmt.Sprint("n", i)
		in.Nodes = append(in.Nodes, &model.Node{
			ID: name, Name: name, NodeName: name, Initialized: true, Ready: true, Pods: []*model.Pod{pod},
			Requirements: requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-b")),
		})
	}
	plan := NewBase(in, running).Solve(in.Nodes[:1], running[:1])
	if got := zonesOf(plan); len(plan.NodeClaims) != 1 || !slices.Equal(got, []string{"zone-b"}) {
		t.Errorf("%d NodeClaims in the zones %v, want one in zone-b", len(plan.NodeClaims), got)
	}
	in.Pools[0].Requirements = in.Pools[0].Requirements.Add(requirement.New(zoneKey, requirement.In, "zone-a"))
	if plan = NewBase(in, running).Solve(in.Nodes[:1], running[:1]); len(plan.NodeClaims) != 0 || len(plan.Unschedulable) != 1 {
		t.Errorf("%d NodeClaims although no pool launches in zone-b", len(plan.NodeClaims))
	}
}

// BenchmarkGroups plans 10 000 pods of 50 shapes, of which so many groups have ten each. With limits, half of the pods have no place.
func BenchmarkGroups(b *testing.B) {
	for _, count := range []int{0, 10, 1000} {
		for _, scarce := range []bool{false, true} {
			b.Run(fmt.Sprintf("groups=%d/scarce=%t", count, scarce), func(b *testing.B) {
				in := manyGroups(count)
				if scarce {
					in.Pools[0].Limits = map[int]int64{resource.CPU: 10_000 * 1000}
				}
				for b.Loop() {
					Solve(in)
				}
			})
		}
	}
}

// manyGroups is 10 000 pods of 50 shapes, of which so many groups have ten each.
func manyGroups(count int) Problem {
	var all []*model.Pod
	var groups []*model.PodGroup
	shapes := make([]*model.Shape, 50)
	for i := range shapes {
		shapes[i] = shape(500+int64(i)*60, gi+int64(i)*gi/16)
	}
	for i := range count {
		g := gang(fmt.Sprintf("g-%04d", i), 10)
		groups, all = append(groups, g), append(all, members(10, shapes[i%len(shapes)], g)...)
		for k, pod := range all[len(all)-10:] {
			pod.UID = fmt.Sprintf("%s-%d", g.Name, k)
		}
	}
	for i := len(all); i < 10_000; i++ {
		pod := pods(1, shapes[i%len(shapes)])[0]
		pod.UID = fmt.Sprintf("single-%05d", i)
		all = append(all, pod)
	}
	types := pool("default", instanceType("four", 4, 16, 0.2), instanceType("eight", 8, 32, 0.39), instanceType("large", 32, 128, 1.5))
	return grouped(problem(all, types), groups...)
}
