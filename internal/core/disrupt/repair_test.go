package disrupt

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/repair"
)

// policies repair nodes with the condition Broken after ten minutes, within five, and those with Hanging at once, without a limit.
func policies(t testing.TB) *repair.Policies {
	t.Helper()
	limit := 5 * time.Minute
	set, err := repair.Compile([]repair.Policy{
		{ConditionType: "Broken", ConditionStatus: "True", Toleration: 10 * time.Minute, GracePeriod: &limit, Action: repair.Replace},
		{ConditionType: "Hanging", ConditionStatus: "True", ReasonRegex: ".*", Priority: 50, Action: repair.Replace},
	})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// unhealthy gives a node a condition since some time before noon.
func unhealthy(t testing.TB, n *model.Node, kind string, since time.Duration) *model.Node {
	t.Helper()
	n.Health.Matches = policies(t).Match(n.Health.Matches, repair.Condition{Type: kind, Status: "True", Since: noon.Add(-since).UnixNano()}, 0)
	return n
}

func TestWhichNodesMayBeRepaired(t *testing.T) {
	t.Attr("covers", "N017")
	t.Attr("covers", "N019")
	t.Attr("covers", "N022")
	t.Attr("covers", "N023")
	t.Attr("covers", "N027")
	for _, tt := range []struct {
		name   string
		change func(*model.Node)
		want   Code
		text   string
	}{
		{name: "an unhealthy node", change: func(*model.Node) {}},
		{name: "a node whose condition is tolerated", change: func(n *model.Node) { n.Health = repair.Health{}; unhealthy(t, n, "Broken", time.Minute) }, want: tolerated},
		{
			name: "a node without a pool, whatever else is wrong with it", want: noPoolForRepair,
			text:   "repair requires a NodePool to construct and budget a safe replacement",
			change: func(n *model.Node) { n.Pool, n.Deleting = "", true },
		},
		{name: "a node of an unknown pool", change: func(n *model.Node) { n.Pool = "gone" }, want: PoolNotFound},
		{name: "a protected node", change: func(n *model.Node) { n.Disruption.DoNotDisrupt = true }},
		{name: "a protected node of an unknown pool", change: func(n *model.Node) { n.Disruption.DoNotDisrupt, n.Pool = true, "gone" }, want: PoolNotFound},
		{name: "an uninitialized node", change: func(n *model.Node) { n.Initialized = false }},
		{name: "an uninitialized node that pods are expected on", change: func(n *model.Node) { n.Initialized, n.NominatedUntil = false, noon.UnixNano()+1 }},
		{name: "a node that pods are expected on", change: func(n *model.Node) { n.NominatedUntil = noon.UnixNano() + 1 }, want: Nominated},
		{name: "a node that is being deleted", change: func(n *model.Node) { n.Deleting = true }, want: Deleting},
		{name: "a node without a NodeClaim", change: func(n *model.Node) { n.Managed = false }, want: NoNodeClaim},
	} {
		n := unhealthy(t, node("a", tt.change), "Hanging", time.Minute)
		if tt.want == tolerated {
			n = node("a", tt.change)
		}
		candidates, obstacles := qualifyInput(n).Unhealthy()
		if (len(candidates) == 1) != (tt.want == "") || tt.want != "" && !cmp.Equal(codes(obstacles), []Code{tt.want}) {
			t.Errorf("%s: candidates %v, obstacles %v, want %q", tt.name, names(candidates), codes(obstacles), tt.want)
		}
		if tt.text != "" && obstacles[0].String() != tt.text {
			t.Errorf("%s: the text is %q", tt.name, obstacles[0])
		}
	}
	if candidates, obstacles := qualifyInput(node("healthy")).Unhealthy(); len(candidates)+len(obstacles) > 0 {
		t.Errorf("a healthy node is a candidate, or has an obstacle: %v", obstacles)
	}
	busy := qualifyInput(unhealthy(t, node("a"), "Hanging", time.Minute))
	busy.InCommand = map[string]bool{"id/a": true}
	if _, obstacles := busy.Unhealthy(); !cmp.Equal(codes(obstacles), []Code{InCommand}) {
		t.Errorf("a node in a command has the obstacles %v", obstacles)
	}
}

func TestTheAnnotationDoNotRepair(t *testing.T) {
	t.Attr("covers", "N024")
	t.Attr("covers", "N027")
	n := unhealthy(t, node("a", func(n *model.Node) { n.Disruption.DoNotRepair = true }), "Hanging", time.Minute)
	candidates, _ := qualifyInput(n).Unhealthy()
	_, refused := Repair().FilterNodes(candidates)
	if !cmp.Equal(codes(refused), []Code{repairProtected}) || refused[0].String() != `repair is blocked through the "karpenter.sh/do-not-repair" annotation` {
		t.Errorf("refused %v", refused)
	}
	n.Disruption.Drifted = true
	others, _ := Qualify(qualifyInput(n))
	if kept, _ := drift().FilterNodes(others); len(kept) != 1 {
		t.Error("the annotation prevents another method")
	}
}

func TestNodesUnderMaintenanceAreNotRepaired(t *testing.T) {
	t.Attr("covers", "N511")
	n := unhealthy(t, node("a", func(n *model.Node) { n.Maintenance = true }), "Hanging", time.Minute)
	candidates, _ := qualifyInput(n).Unhealthy()
	_, refused := Repair().FilterNodes(candidates)
	if !cmp.Equal(codes(refused), []Code{underMaintenance}) || refused[0].Code.Event() != NoEvent {
		t.Errorf("refused %v", refused)
	}
}

func TestWhenPodsKeepANodeFromRepair(t *testing.T) {
	t.Attr("covers", "N020")
	t.Attr("covers", "N025")
	grace := time.Hour
	for _, tt := range []struct {
		name, condition string
		own             *time.Duration
		block           Code
		want            Code
	}{
		{"no pod is in the way", "Hanging", nil, "", ""},
		{"nothing limits the drain", "Hanging", nil, PDBBlocked, noGracePeriodForRepair},
		{"the policy limits the drain", "Broken", nil, PodProtected, ""},
		{"the NodeClaim limits the drain", "Hanging", &grace, SeveralPDBs, ""},
		{"the pods are not known", "Broken", &grace, PodsUnknown, PodsUnknown},
	} {
		n := unhealthy(t, node("a", func(n *model.Node) { n.Disruption.GracePeriod = tt.own }), tt.condition, time.Hour)
		candidates, _ := qualifyInput(n).Unhealthy()
		blocks := map[string]Obstacle{}
		if tt.block != "" {
			blocks[n.ID] = Obstacle{Code: tt.block, Node: n}
		}
		kept, refused := Repair().FilterPods(candidates, blocks)
		if (len(kept) == 1) != (tt.want == "") || tt.want != "" && !cmp.Equal(codes(refused), []Code{tt.want}) {
			t.Errorf("%s: kept %v, refused %v, want %q", tt.name, names(kept), codes(refused), tt.want)
		}
		if tt.want == noGracePeriodForRepair && refused[0].String() != "repair requires a termination grace period to bypass blocking pods" {
			t.Errorf("the text is %q", refused[0])
		}
	}
}

func TestTheOrderOfRepairs(t *testing.T) {
	t.Attr("covers", "N021")
	t.Attr("covers", "N028")
	pod := func(cost float64) *model.Pod { return &model.Pod{EvictionCost: cost} }
	of := func(name, kind string, since time.Duration, change func(*model.Node)) *model.Node {
		return unhealthy(t, node(name, change), kind, since)
	}
	list := []*model.Node{
		of("d", "Broken", 15*time.Minute, func(*model.Node) {}),
		of("c-costly", "Hanging", time.Minute, func(n *model.Node) { n.Pods = []*model.Pod{pod(3)} }),
		of("b-old", "Hanging", time.Minute, func(n *model.Node) {
			n.Pods = []*model.Pod{pod(4)} // 4, of which three quarters are past
			n.Disruption.Created, n.Disruption.ExpireAfter = noon.Add(-3*time.Hour).UnixNano(), 4*time.Hour
		}),
		of("a-equal", "Hanging", time.Minute, func(n *model.Node) { n.Pods = []*model.Pod{pod(3)} }),
		of("starved", "Broken", 45*time.Minute, func(*model.Node) {}), // due for 35 minutes, one rank below
	}
	candidates, _ := qualifyInput(list...).Unhealthy()
	got := names(byUrgency(candidates))
	if diff := cmp.Diff([]string{"starved", "b-old", "a-equal", "c-costly", "d"}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// repairs returns what Repair decides for a fleet, with a budget for every pool.
func (f *fleet) repairs(budget int) Decision {
	f.Helper()
	f.input.Problem.Nodes = nil
	for _, n := range f.nodes {
		if !n.Deleting {
			f.input.Problem.Nodes = append(f.input.Problem.Nodes, n)
		}
	}
	w := qualifyInput(f.nodes...)
	w.Pools = f.input.Pools
	list, obstacles := w.Unhealthy()
	budgets := Budgets{}
	for name := range f.input.Pools {
		budgets[name] = budget
	}
	m := Repair()
	fit, refused := m.FilterNodes(list)
	admitted, stopped := m.Admit(budgets, fit)
	s := f.input.Serial(f.input.Simulator(admitted, m.Simulates), budgets, func(string, int) int { return f.slots })
	d := m.Decide(f.changed(s), admitted)
	for _, list := range [][]Obstacle{obstacles, refused, stopped} {
		d.Obstacles = append(d.Obstacles, list...)
	}
	return d
}

func TestRepair(t *testing.T) {
	t.Run("the most urgent node is replaced, one in each pass", func(t *testing.T) {
		t.Attr("covers", "N003")
		t.Attr("covers", "N035")
		f := newFleet(t, sizes(1, onDemand))
		unhealthy(t, f.node("a", onDemand, "x4", 500), "Broken", time.Hour/2)
		unhealthy(t, f.node("b", onDemand, "x4", 500), "Hanging", time.Hour/2)
		f.nodes[0].Allocatable, f.nodes[1].Allocatable = nil, nil // no pod moves there
		d := f.repairs(2)
		f.want(d, "replace b -> x1 on-demand")
		if c := d.Commands[0]; c.Reason != Unhealthy || c.Type != "" || !d.Incomplete {
			t.Errorf("the command is %+v", c)
		}
		f.wantObstacle(d, "a", NotReached, "")
	})
	t.Run("an empty node is deleted, and one with many pods replaced by several", func(t *testing.T) {
		t.Attr("covers", "N036")
		f := newFleet(t, catalog.Catalog{typeOf("x1", 1, onDemand)})
		unhealthy(t, f.node("a", onDemand, "x4"), "Hanging", time.Hour)
		f.want(f.repairs(1), "delete a")
		f = newFleet(t, catalog.Catalog{typeOf("x1", 1, onDemand)})
		unhealthy(t, f.node("a", onDemand, "x4", 800, 800), "Hanging", time.Hour)
		f.want(f.repairs(1), "replace a -> x1 on-demand -> x1 on-demand")
	})
	t.Run("a node whose pods have no place is skipped", func(t *testing.T) {
		t.Attr("covers", "N036")
		f := newFleet(t, sizes(1, onDemand))
		unhealthy(t, f.node("stuck", onDemand, "x4", 3000), "Hanging", time.Hour).Allocatable = nil // no pod moves there
		unhealthy(t, f.node("a", onDemand, "x1", 900), "Hanging", time.Minute)
		d := f.repairs(2)
		f.want(d, "replace a -> x1 on-demand")
		f.wantObstacle(d, "stuck", noPlaceToRepair, "")
	})
	t.Run("pods that may not be evicted have a place, too", func(t *testing.T) {
		t.Attr("covers", "N035")
		f := newFleet(t, sizes(1, onDemand))
		unhealthy(t, f.node("a", onDemand, "x1", 500), "Broken", time.Hour)
		f.input.Unevictable["a-0"] = true
		f.want(f.repairs(1), "replace a -> x1 on-demand")
	})
	t.Run("a node without budget is skipped, and one that is not initialized needs none", func(t *testing.T) {
		t.Attr("covers", "N031")
		t.Attr("covers", "N033")
		f := newFleet(t, sizes(1, onDemand))
		unhealthy(t, f.node("a", onDemand, "x1", 500), "Hanging", time.Hour)
		d := f.repairs(0)
		f.want(d, "")
		f.wantObstacle(d, "a", NodePoolBudgetExhausted, "")
		unhealthy(t, f.node("young", onDemand, "x1"), "Hanging", time.Minute).Initialized = false
		f.want(f.repairs(0), "delete young")
	})
	t.Run("a pool with too many unhealthy nodes does not stop others", func(t *testing.T) {
		t.Attr("covers", "N030")
		f := newFleet(t, sizes(1, onDemand))
		f.pool("tripped", sizes(1, onDemand), func(p *Pool) { p.TooManyUnhealthy = true })
		unhealthy(t, f.nodeOf("tripped", "a", onDemand, "x1", 500), "Hanging", time.Hour)
		unhealthy(t, f.node("b", onDemand, "x1"), "Broken", time.Hour)
		d := f.repairs(2)
		f.want(d, "delete b")
		f.wantObstacle(d, "a", tooManyUnhealthy, `more than 20% of nodes in nodepool "tripped" are unhealthy`)
	})
	t.Run("a static pool replaces one for one within its limit", func(t *testing.T) {
		t.Attr("covers", "N038")
		f := newFleet(t, sizes(1, onDemand), func(p *Pool) { p.Static = true })
		unhealthy(t, f.node("a", onDemand, "x1", 500), "Hanging", time.Hour)
		d := f.repairs(1)
		f.want(d, "")
		f.wantObstacle(d, "a", NodeLimit, "static NodePool is at its node limit and cannot stage a replacement")
		f.slots = 1
		if d = f.repairs(1); len(d.Commands) != 1 || !d.Commands[0].Static {
			t.Errorf("decided %v", d)
		}
		f.input.Pools["default"] = Pool{Static: true, Surplus: true}
		f.wantObstacle(f.repairs(1), "a", Surplus, "")
	})
}

func TestAReboot(t *testing.T) {
	t.Attr("covers", "N048")
	t.Attr("covers", "N050")
	f := newFleet(t, sizes(1, onDemand))
	n := f.node("a", onDemand, "x1", 500)
	set, err := repair.Compile([]repair.Policy{
		{ConditionType: "Broken", ConditionStatus: "True", Action: repair.Replace},
		{ConditionType: "GPU", ConditionStatus: "True", ReasonRegex: ".*", Action: repair.Reboot},
	})
	if err != nil {
		t.Fatal(err)
	}
	n.Health.Matches = set.Match(nil, repair.Condition{Type: "GPU", Status: "True"}, 0)
	d := f.repairs(1)
	f.want(d, "reboot a")
	if c := d.Commands[0]; c.Launches() != 0 || c.Savings() != 0 || !c.Reboot {
		t.Errorf("the command is %+v", c)
	}
	w := qualifyInput(n)
	w.RebootedTooOften = map[string]bool{n.ClaimName: true}
	candidates, _ := w.Unhealthy()
	if r := candidates[0].Repair; r.Action != repair.Replace || !r.Escalated || r.Governing.Condition.Type != "GPU" {
		t.Errorf("after too many reboots the decision is %+v", r)
	}
}

func TestTheDrainLimitOfARepair(t *testing.T) {
	t.Attr("covers", "N034")
	own := func(d time.Duration) *time.Duration { return &d }
	for _, tt := range []struct {
		name, condition string
		own, want       *time.Duration
	}{
		{"neither", "Hanging", nil, nil},
		{"that of the NodeClaim is in force anyway", "Hanging", own(time.Minute), nil},
		{"that of the policy", "Broken", nil, own(5 * time.Minute)},
		{"that of the policy is shorter", "Broken", own(time.Hour), own(5 * time.Minute)},
		{"that of the NodeClaim is shorter", "Broken", own(time.Minute), own(time.Minute)},
	} {
		n := unhealthy(t, node("a", func(n *model.Node) { n.Disruption.GracePeriod = tt.own }), tt.condition, time.Hour)
		candidates, _ := qualifyInput(n).Unhealthy()
		if diff := cmp.Diff(tt.want, candidates[0].DrainLimit()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
