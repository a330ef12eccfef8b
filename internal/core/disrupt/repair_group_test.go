package disrupt

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/repair"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// grouped makes all pods of the nodes members of one group that is disrupted as a whole. The group has no policy: its pods are placed one by one.
func (f *fleet) grouped(nodes ...*model.Node) {
	for _, n := range nodes {
		for _, p := range n.Pods {
			p.Membership = &model.Membership{Group: "ml/train"}
		}
	}
}

// repairsGroup is repairs where the group exists. blocks are the obstacles of pods, by the names of nodes, and backoff the nodes that a command
// failed for.
func (f *fleet) repairsGroup(budget int, blocks map[string]Code, backoff ...*model.Node) Decision {
	f.Helper()
	f.input.Problem.Nodes = f.nodes
	w := qualifyInput(f.nodes...)
	w.Pools, w.Backoff = f.input.Pools, map[string]bool{}
	for _, n := range backoff {
		w.Backoff[n.ClaimName] = true
	}
	var e model.Editor[*model.PodGroup]
	e.Put("ml/train", &model.PodGroup{Namespace: "ml", Name: "train", DisruptedTogether: true})
	groups := e.Publish()
	w.Snapshot.PodGroups = &groups
	list, obstacles := w.Unhealthy()
	budgets, pods := Budgets{}, map[string]Obstacle{}
	for name := range f.input.Pools {
		budgets[name] = budget
	}
	for _, n := range f.nodes {
		if code := blocks[n.Name]; code != "" {
			pods[n.ID] = Obstacle{Code: code, Node: n}
		}
	}
	m := Repair()
	taken, refused := m.FilterNodes(list)
	fit, blocked := m.FilterPods(taken, pods)
	admitted, stopped := m.Admit(budgets, fit)
	s := f.input.Serial(f.input.Simulator(admitted, m.Simulates), budgets, func(string, int) int { return f.slots })
	d := m.Decide(f.changed(s), admitted)
	for _, list := range [][]Obstacle{obstacles, refused, blocked, stopped} {
		d.Obstacles = append(d.Obstacles, list...)
	}
	if left := budgets["default"]; len(d.Commands) > 0 && left != budget-initialized(d.Commands[0]) {
		f.Errorf("of a budget of %d, %d is left after %s", budget, left, say(d))
	}
	return d
}

// initialized is how many nodes of a command are.
func initialized(c Command) int {
	n := 0
	for _, candidate := range c.Candidates {
		if candidate.Node.Initialized {
			n++
		}
	}
	return n
}

// rebootable makes a node one that is due for a reboot, with a limit for its drain.
func (f *fleet) rebootable(n *model.Node, limit *time.Duration) {
	f.Helper()
	set, err := repair.Compile([]repair.Policy{
		{ConditionType: "Broken", ConditionStatus: "True", Action: repair.Replace},
		{ConditionType: "GPU", ConditionStatus: "True", ReasonRegex: ".*", GracePeriod: limit, Action: repair.Reboot},
	})
	if err != nil {
		f.Fatal(err)
	}
	n.Health.Matches = set.Match(nil, repair.Condition{Type: "GPU", Status: "True"}, 0)
}

// TestRepairOfUnits: nodes with pods of a group that is disrupted as a whole are repaired together. Healthy ones are as protected as ever.
func TestRepairOfUnits(t *testing.T) {
	t.Attr("covers", "N471")
	hour, none := time.Hour, time.Duration(0)
	for _, tt := range []struct {
		name   string
		change func(f *fleet, sick, healthy *model.Node)
		budget int
		blocks map[string]Code
		want   string
		// codes are the obstacles by node.
		codes map[string]Code
	}{
		{name: "both are replaced", budget: 2, want: "replace healthy+sick -> x1 on-demand -> x1 on-demand"},
		{name: "the budget is for one", budget: 1, codes: map[string]Code{"sick": podGroupOverBudget, "healthy": podGroupOverBudget}},
		{
			name: "a node that is not initialized needs no budget", budget: 1, want: "replace healthy+sick -> x1 on-demand -> x1 on-demand",
			change: func(_ *fleet, sick, _ *model.Node) { sick.Initialized = false },
		},
		{
			name: "pods keep the healthy node", budget: 2, blocks: map[string]Code{"sick": PDBBlocked, "healthy": PDBBlocked},
			codes: map[string]Code{"sick": podGroupBlocked, "healthy": PDBBlocked},
		},
		{
			name: "pods keep the healthy node, but its NodeClaim limits the drain", budget: 2, blocks: map[string]Code{"healthy": PDBBlocked},
			want:   "replace healthy+sick -> x1 on-demand -> x1 on-demand",
			change: func(_ *fleet, _, healthy *model.Node) { healthy.Disruption.GracePeriod = &hour },
		},
		{
			name: "pods that may not be evicted from the healthy node have a place, too", budget: 2, want: "replace healthy+sick -> x1 on-demand -> x1 on-demand",
			change: func(f *fleet, _, _ *model.Node) { f.input.Unevictable["healthy-0"] = true },
		},
		{
			name: "the healthy node is protected", budget: 2, codes: map[string]Code{"sick": podGroupBlocked},
			change: func(_ *fleet, sick, healthy *model.Node) {
				sick.Disruption.DoNotDisrupt, healthy.Disruption.DoNotDisrupt = true, true
			},
		},
		{
			name: "the healthy node must not be repaired", budget: 2, codes: map[string]Code{"sick": podGroupBlocked, "healthy": repairProtected},
			change: func(_ *fleet, _, healthy *model.Node) { healthy.Disruption.DoNotRepair = true },
		},
		{
			name: "the healthy node is maintained", budget: 2, codes: map[string]Code{"sick": podGroupBlocked, "healthy": underMaintenance},
			change: func(_ *fleet, _, healthy *model.Node) { healthy.Maintenance = true },
		},
		{
			name: "the healthy node is in a pool with too many unhealthy nodes", budget: 2, codes: map[string]Code{"sick": podGroupBlocked, "healthy": tooManyUnhealthy},
			change: func(f *fleet, _, healthy *model.Node) {
				f.pool("tripped", sizes(1, onDemand), func(p *Pool) { p.TooManyUnhealthy = true })
				healthy.Pool = "tripped"
			},
		},
		{
			name: "what is tolerated on the other node does not keep it", budget: 2, want: "replace healthy+sick -> x1 on-demand -> x1 on-demand",
			change: func(_ *fleet, _, healthy *model.Node) { unhealthy(t, healthy, "Broken", time.Minute) },
		},
		{
			name: "a tolerated node that is protected", budget: 2, codes: map[string]Code{"sick": podGroupBlocked, "healthy": tolerated},
			change: func(_ *fleet, _, healthy *model.Node) {
				unhealthy(t, healthy, "Broken", time.Minute)
				healthy.Disruption.DoNotDisrupt = true
			},
		},
		{
			name: "both are unhealthy, and the more urgent one is first", budget: 2, want: "replace healthy+sick -> x1 on-demand -> x1 on-demand",
			change: func(_ *fleet, _, healthy *model.Node) { unhealthy(t, healthy, "Hanging", 2*time.Hour) },
		},
		{
			name: "both are unhealthy, and pods are expected on one", budget: 2, codes: map[string]Code{"sick": podGroupBlocked, "healthy": Nominated},
			change: func(_ *fleet, _, healthy *model.Node) {
				unhealthy(t, healthy, "Hanging", time.Hour).NominatedUntil = noon.UnixNano() + 1
			},
		},
		{
			name: "a reboot evicts pods", budget: 2, want: "replace healthy+sick -> x1 on-demand -> x1 on-demand",
			change: func(f *fleet, sick, _ *model.Node) { f.rebootable(sick, &hour) },
		},
		{
			name: "a reboot without a limit evicts pods", budget: 2, want: "replace healthy+sick -> x1 on-demand -> x1 on-demand",
			change: func(f *fleet, sick, _ *model.Node) { f.rebootable(sick, nil) },
		},
		{
			name: "pods ride through a reboot without a drain", budget: 1, want: "reboot sick",
			change: func(f *fleet, sick, _ *model.Node) { f.rebootable(sick, &none) },
		},
		{
			name: "the limit of the NodeClaim leaves no time for a drain", budget: 1, want: "reboot sick",
			change: func(f *fleet, sick, _ *model.Node) {
				f.rebootable(sick, nil)
				sick.Disruption.GracePeriod = &none
			},
		},
		{
			name: "one is replaced, and another would be rebooted without a drain", budget: 2, want: "replace healthy+sick -> x1 on-demand -> x1 on-demand",
			change: func(f *fleet, _, healthy *model.Node) { f.rebootable(healthy, &none); healthy.Pods[0].EvictionCost = 2 },
		},
		{
			name: "the healthy node is one of a static pool", budget: 2, codes: map[string]Code{"sick": podGroupBlocked, "healthy": splitsPodGroup},
			change: func(f *fleet, _, healthy *model.Node) {
				f.pool("fixed", sizes(1, onDemand), func(p *Pool) { p.Static = true })
				healthy.Pool = "fixed"
			},
		},
		{
			name: "pods of another command come to the healthy node", budget: 2, codes: map[string]Code{"sick": IsDestination, "healthy": IsDestination},
			change: func(f *fleet, _, healthy *model.Node) {
				f.input.Underway = []Command{{Placements: []solve.Placement{{Node: healthy}}}}
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(t, catalog.Catalog{typeOf("x1", 1, onDemand)})
			sick, healthy := f.node("sick", onDemand, "x1", 800), f.node("healthy", onDemand, "x1", 900)
			unhealthy(t, sick, "Broken", time.Hour)
			if tt.change != nil {
				tt.change(f, sick, healthy)
			}
			f.grouped(sick, healthy)
			d := f.repairsGroup(tt.budget, tt.blocks)
			f.want(d, tt.want)
			for _, c := range d.Commands {
				if first := c.Candidates[0]; first.Repair == nil || len(c.Candidates) > 1 && c.Candidates[1].Repair != nil && first.Repair.Score < c.Candidates[1].Repair.Score {
					t.Errorf("the first node is %s", first.Node.Name)
				}
				if c.Whole != (len(c.Candidates) > 1) {
					t.Errorf("the command is for all of its nodes or none: %v", c.Whole)
				}
				for _, candidate := range c.Candidates {
					if limit := candidate.DrainLimit(); candidate.Repair == nil && limit != nil {
						t.Errorf("the drain of the healthy node is limited to %s", limit)
					}
				}
			}
			got := map[string]Code{}
			for _, o := range d.Obstacles {
				got[o.Node.Name] = o.Code
			}
			if tt.codes == nil {
				tt.codes = map[string]Code{}
			}
			if diff := cmp.Diff(tt.codes, got); diff != "" {
				t.Errorf("obstacles (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnitsInBackoff: a command failed for the healthy node of a unit.
func TestUnitsInBackoff(t *testing.T) {
	t.Attr("covers", "N471")
	f := newFleet(t, sizes(1, onDemand))
	sick, healthy := f.node("sick", onDemand, "x1", 800), f.node("healthy", onDemand, "x1", 900)
	healthy.ClaimName = "claim"
	unhealthy(t, sick, "Broken", time.Hour)
	f.grouped(sick, healthy)
	d := f.repairsGroup(2, nil, healthy)
	f.want(d, "")
	f.wantObstacle(d, "healthy", NodeInBackoff, "")
	f.wantObstacle(d, "sick", podGroupBlocked, "")
}

// TestUnitsAreNotTerminatedFirst: the obstacle says that the group is why.
func TestUnitsAreNotTerminatedFirst(t *testing.T) {
	t.Attr("covers", "N471")
	f := newFleet(t, nil)
	sick, healthy := f.node("sick", reserved, "x1", 800), f.node("healthy", onDemand, "x1", 900)
	unhealthy(t, sick, "Broken", time.Hour)
	sick.Labels["reservation"] = "cr-1"
	f.grouped(sick, healthy)
	f.change = func(s *Session) { s.TerminateFirst, s.ReservationLabel = true, "reservation" }
	d := f.repairsGroup(2, nil)
	f.want(d, "")
	const why = "; nodes are not terminated before their replacements launch if pods of PodGroup ml/train run on several"
	f.wantObstacle(d, "sick", noPlaceToRepair, d.Obstacles[0].Detail)
	if text := d.Obstacles[0].Detail; len(text) < len(why) || text[len(text)-len(why):] != why {
		t.Errorf("the obstacle is %q", text)
	}
	f.change = nil
	if text := f.repairsGroup(2, nil).Obstacles[0].Detail; len(text) > len(why) && text[len(text)-len(why):] == why {
		t.Errorf("where no node is terminated first, the obstacle is %q", text)
	}
}
