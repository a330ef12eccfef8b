package disrupt

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

func TestValidate(t *testing.T) {
	proposed := Command{Reason: Empty, Type: "empty"}
	for _, n := range []string{"a", "b", "c"} {
		proposed.Candidates = append(proposed.Candidates, newCandidate(node(n), Pool{}))
	}
	for _, tt := range []struct {
		name    string
		change  func(a, b, c *model.Node)
		budget  int
		keep    []string
		dropped []Code
		failure Failure
	}{
		{name: "nothing changed", change: func(_, _, _ *model.Node) {}, budget: 3, keep: []string{"a", "b", "c"}},
		{
			name: "if only some nodes got pods, the others are kept", budget: 3, keep: []string{"a", "c"}, dropped: []Code{NotEmpty}, failure: Churn,
			change: func(_, b, _ *model.Node) { b.Pods = []*model.Pod{{Reschedulable: true}} },
		},
		{
			name: "a nominated node is dropped", budget: 3, keep: []string{"b", "c"}, dropped: []Code{Nominated}, failure: Churn,
			change: func(a, _, _ *model.Node) { a.NominatedUntil = noon.UnixNano() + 1 },
		},
		{
			name: "budgets that shrank keep as many as they allow", budget: 1, keep: []string{"a"}, dropped: []Code{NodePoolBudgetExhausted, NodePoolBudgetExhausted}, failure: OverBudget,
			change: func(_, _, _ *model.Node) {},
		},
		{
			name: "a node that came back under its old name is another node", budget: 3, keep: []string{"b", "c"}, dropped: []Code{Gone}, failure: Churn,
			change: func(a, _, _ *model.Node) { a.ClaimName = "another" },
		},
		{
			name: "a node that lost its NodeClaim is gone", budget: 3, keep: []string{"b", "c"}, dropped: []Code{Gone}, failure: Churn,
			change: func(a, _, _ *model.Node) { a.ClaimName, a.Managed = "", false },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b, c := node("a"), node("b"), node("c")
			tt.change(a, b, c)
			candidates, obstacles := Qualify(qualifyInput(a, b, c))
			fit, refused := emptiness().FilterNodes(candidates)
			v := Validate(proposed, fit, append(obstacles, refused...), Budgets{"default": tt.budget})
			if diff := cmp.Diff(tt.keep, names(v.Command.Candidates)); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.dropped, codes(v.Dropped)); diff != "" {
				t.Errorf("dropped (-want +got):\n%s", diff)
			}
			for _, o := range v.Dropped {
				if o.Failure() != tt.failure {
					t.Errorf("%s: got failure class %q, want %q", o.Code, o.Failure(), tt.failure)
				}
			}
		})
	}
}

func TestDropOccupied(t *testing.T) {
	proposed := Command{Reason: Empty}
	for _, n := range []string{"a", "b", "c", "d"} {
		proposed.Candidates = append(proposed.Candidates, newCandidate(node(n), Pool{}))
	}
	v := DropOccupied(proposed, snapshot(
		node("a", func(n *model.Node) { n.Pods = []*model.Pod{{Reschedulable: true}} }),
		node("b", func(n *model.Node) { n.Pods = []*model.Pod{{Daemon: true}}; n.Deleting = true }),
		node("d", func(n *model.Node) { n.Headroom = 1 }),
	))
	if diff := cmp.Diff([]string{"b", "c"}, names(v.Command.Candidates)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Code{NotEmpty, KeepsHeadroom}, codes(v.Dropped)); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
}

func TestValidateSimulated(t *testing.T) {
	t.Attr("covers", "C417 C418")
	proposed := func(f *fleet) Command {
		d := f.decide(singleNode(), 1)
		if len(d.Commands) != 1 {
			t.Fatalf("decided %q", say(d))
		}
		return d.Commands[0]
	}
	stands := func(f *fleet, c Command, budget int) Validation {
		fit, refused := singleNode().FilterNodes(f.candidates())
		return f.input.Simulator(f.candidates(), ForConsolidation).Validate(c, fit, refused, Budgets{"default": budget})
	}
	for _, tt := range []struct {
		name    string
		change  func(f *fleet)
		budget  int
		want    Code
		failure Failure
	}{
		{"nothing changed", func(*fleet) {}, 1, "", ""},
		{"the launched types are not among the sufficient ones", func(f *fleet) {
			f.input.Problem.Pools[0].Catalog = sizes(1, onDemand)
			f.run(f.nodes[0], "more", 100)
		}, 1, OtherResult, Scheduling},
		{"the pods need more than one node", func(f *fleet) {
			f.input.Problem.Pools[0].Catalog = sizes(1, onDemand)
			f.run(f.nodes[0], "more", 900)
		}, 1, OtherResult, Scheduling},
		{"nothing has to be launched any more", func(f *fleet) {
			f.input.Problem.Nodes = append(f.input.Problem.Nodes, f.node("b", onDemand, "x8"))
		}, 1, OtherResult, Scheduling},
		{"the pods fit nowhere", func(f *fleet) { f.input.Problem.Pools = nil }, 1, NoOtherPlace, Scheduling},
		{"the budget shrank", func(*fleet) {}, 0, NodePoolBudgetExhausted, OverBudget},
		{"the node has a recent pod event", func(f *fleet) { f.nodes[0].Disruption.Consolidatable = false }, 1, NotConsolidatable, Churn},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(t, sizes(2, onDemand))
			f.input.Problem.Pools[0].Catalog = append(f.input.Problem.Pools[0].Catalog, typeOf("x8", 8, onDemand))
			f.node("a", onDemand, "x8", 800)
			c := proposed(f)
			tt.change(f)
			v := stands(f, c, tt.budget)
			if tt.want == "" {
				if len(v.Dropped) > 0 || len(v.Command.Candidates) != 1 || len(v.Command.Replacements) != 1 {
					t.Errorf("verdict %+v, want the command", v)
				}
				return
			}
			if len(v.Command.Candidates) > 0 || len(v.Dropped) != 1 || v.Dropped[0].Code != tt.want || v.Dropped[0].Failure() != tt.failure {
				t.Errorf("verdict %+v, want %s, class %s", v, tt.want, tt.failure)
			}
		})
	}
}

func TestCommandTexts(t *testing.T) {
	t.Attr("covers", "C458 C461 C462")
	price := func(dollars float64) solve.NodeClaim { return solve.NodeClaim{Price: dollars} }
	two := []Candidate{{Node: &model.Node{Name: "a", Pool: "p"}, Price: 2}, {Node: &model.Node{Name: "b", Pool: "q"}, Price: 3}}
	for _, tt := range []struct {
		command Command
		want    string
	}{
		{Command{Candidates: two[:1]}, "Underutilized/id: delete: nodepools=[p]: [a] (savings: $2.00)"},
		{Command{Candidates: two}, "Underutilized/id: delete: nodepools=[p,q]: [a, b] (savings: $5.00)"},
		{Command{Candidates: two, Replacements: []solve.NodeClaim{price(1)}}, "Underutilized/id: replace: nodepools=[p,q]: [a, b] -> [1 replacement] (savings: $4.00)"},
		{
			Command{Candidates: two[:1], Replacements: []solve.NodeClaim{price(1), price(0.5), price(math.Inf(1))}},
			"Underutilized/id: replace: nodepools=[p]: [a] -> [3 replacements] (savings: $0.50)",
		},
		{Command{}, "Underutilized/id: no-op: nodepools=[]: [] (savings: $0.00)"},
	} {
		tt.command.Reason = Underutilized
		if got := tt.command.Text("id"); got != tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
	if got, want := (Command{Candidates: two[:1], Static: true}).TextFor("a"), "replace: [a] -> [1 replacement]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (Command{Candidates: two}).TextFor("b"), "delete: [b] (part of 2-node consolidation)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
