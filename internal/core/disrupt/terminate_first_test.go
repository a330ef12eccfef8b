package disrupt

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/model"
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
			"nodes go without a replacement, as many as the budget allows", full, true, 2, 0, []string{"terminate-first a", "terminate-first b"},
			map[string]Code{"c": NodePoolBudgetExhausted},
		},
		{"without the feature gate they stay", full, false, 2, 0, nil, map[string]Code{"a": NodeLimit, "b": NodeLimit, "c": NodePoolBudgetExhausted}},
		{"the others wait while one is replaced", full, true, 3, 1, []string{"replace a"}, map[string]Code{"b": NodeLimit, "c": NodeLimit}},
		{
			"they wait for other replacements if the limit leaves a place for one", Pool{Static: true, Usable: true}, true, 3, 0, nil,
			map[string]Code{"a": NodeLimit, "b": NodeLimit, "c": NodeLimit},
		},
		{
			"they stay in a pool that launches no others", Pool{Static: true, NoSpareNode: true}, true, 3, 0, nil,
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
