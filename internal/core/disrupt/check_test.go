package disrupt

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

func TestCheck(t *testing.T) {
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
			name: "if only some nodes got pods, the others are kept", budget: 3, keep: []string{"a", "c"}, dropped: []Code{Occupied}, failure: Churn,
			change: func(_, b, _ *model.Node) { b.Pods = []*model.Pod{{Reschedulable: true}} },
		},
		{
			name: "a nominated node is dropped", budget: 3, keep: []string{"b", "c"}, dropped: []Code{Nominated}, failure: Churn,
			change: func(a, _, _ *model.Node) { a.NominatedUntil = noon.UnixNano() + 1 },
		},
		{
			name: "budgets that shrank keep as many as they allow", budget: 1, keep: []string{"a"}, dropped: []Code{BudgetSpent, BudgetSpent}, failure: OverBudget,
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
			candidates, obstacles := Qualify(world(a, b, c))
			fit, refused := Emptiness().Want(candidates)
			v := Check(proposed, fit, append(obstacles, refused...), Budgets{"default": tt.budget})
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

func TestEmptinessRechecks(t *testing.T) {
	proposed := Command{Reason: Empty}
	for _, n := range []string{"a", "b", "c", "d"} {
		proposed.Candidates = append(proposed.Candidates, newCandidate(node(n), Pool{}))
	}
	v := Emptiness().Recheck(proposed, snapshot(
		node("a", func(n *model.Node) { n.Pods = []*model.Pod{{Reschedulable: true}} }),
		node("b", func(n *model.Node) { n.Pods = []*model.Pod{{Daemon: true}}; n.Deleting = true }),
		node("d", func(n *model.Node) { n.Headroom = 1 }),
	))
	if diff := cmp.Diff([]string{"b", "c"}, names(v.Command.Candidates)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Code{Occupied, KeepsHeadroom}, codes(v.Dropped)); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
}
