package disrupt

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

func TestEmptinessFilter(t *testing.T) {
	t.Attr("covers", "C332 C335 C336 C342 C498")
	with := func(pods ...*model.Pod) func(*model.Node) { return func(n *model.Node) { n.Pods = pods } }
	for _, tt := range []struct {
		name   string
		change func(*model.Node)
		pool   Pool
		want   Code
	}{
		{name: "an empty consolidatable node", change: with()},
		{name: "a node with only DaemonSet pods is empty", change: with(&model.Pod{Daemon: true, EvictionCost: 1})},
		{name: "a node whose only pods need no other place is empty", change: with(&model.Pod{EvictionCost: 1})},
		{name: "a node with ordinary pods is not empty", change: with(&model.Pod{Reschedulable: true, EvictionCost: 1}), want: NotEmpty},
		{
			name:   "a node whose pods are free to evict still has pods that need a place",
			change: with(&model.Pod{Reschedulable: true, EvictionCost: -10}), want: NotEmpty,
		},
		{
			name: "a node without Consolidatable=True is left alone", want: NotConsolidatable,
			change: func(n *model.Node) { n.Disruption.Consolidatable = false },
		},
		{
			name: "a node with only virtual pods keeps capacity for them", want: KeepsHeadroom,
			change: func(n *model.Node) { n.Headroom = 1 },
		},
		{name: "a headroom of zero does not protect", change: func(n *model.Node) { n.Headroom = 0 }},
		{name: "it is not known yet which nodes reserve capacity", change: with(), pool: Pool{HeadroomUnknown: true}, want: HeadroomUnknown},
		{name: "consolidateAfter Never removes nothing", change: with(), pool: Pool{ConsolidationDisabled: true}, want: ConsolidationOff},
		{name: "static pools are not touched", change: with(), pool: Pool{Static: true, ConsolidationDisabled: true}, want: Static},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := qualifyInput(node("a", tt.change))
			w.Pools["default"] = tt.pool
			candidates, _ := Qualify(w)
			wanted, refused := emptiness().FilterNodes(candidates)
			if tt.want == "" && len(wanted) != 1 || tt.want != "" && !cmp.Equal(codes(refused), []Code{tt.want}) {
				t.Errorf("got %d wanted, refused %v, want refused %q", len(wanted), refused, tt.want)
			}
		})
	}
}

func TestFilterPods(t *testing.T) {
	t.Attr("covers", "C268 C271 C272 C273 C274 C275 C276")
	graceful := Method{Class: Graceful}
	eventual := Method{Class: Eventual}
	for _, tt := range []struct {
		name   string
		method Method
		grace  bool
		block  Code
		want   bool
	}{
		{"nothing in the way", graceful, false, "", true},
		{"a do-not-disrupt pod without grace period disqualifies", graceful, false, PodProtected, false},
		{"grace period and eventual class waive a do-not-disrupt pod", eventual, true, PodProtected, true},
		{"grace period and eventual class waive a blocking budget", eventual, true, PDBBlocked, true},
		{"grace period and eventual class waive several budgets", eventual, true, SeveralPDBs, true},
		{"grace period but graceful class: a do-not-disrupt pod disqualifies", graceful, true, PodProtected, false},
		{"grace period but graceful class: a blocking budget disqualifies", graceful, true, PDBBlocked, false},
		{"eventual class without grace period: a do-not-disrupt pod disqualifies", eventual, false, PodProtected, false},
		{"eventual class without grace period: a blocking budget disqualifies", eventual, false, PDBBlocked, false},
		{"unknown pods are never waived", eventual, true, PodsUnknown, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := node("a", func(n *model.Node) {
				if tt.grace {
					n.Disruption.GracePeriod = new(time.Duration)
				}
			})
			blocks := map[string]Obstacle{}
			if tt.block != "" {
				blocks[n.ID] = Obstacle{Code: tt.block, Node: n}
			}
			kept, obstacles := tt.method.FilterPods([]Candidate{{Node: n}}, blocks)
			if (len(kept) == 1) != tt.want || (len(obstacles) == 1) == tt.want {
				t.Errorf("got kept %v, obstacles %v, want admitted %v", names(kept), obstacles, tt.want)
			}
		})
	}
}

// nodesOf are n empty candidates of each pool; the later a node, the more expensive it is.
func nodesOf(pools int, n int) []Candidate {
	var out []Candidate
	for p := range pools {
		for i := range n {
			c := newCandidate(node(fmt.Sprintf("p%d-n%d", p, i), func(n *model.Node) { n.Pool = fmt.Sprint("p", p) }), Pool{})
			c.Price = float64(i + 1)
			out = append(out, c)
		}
	}
	return out
}

func TestEmptinessPicksUnderBudgets(t *testing.T) {
	for _, tt := range []struct {
		name    string
		fit     []Candidate
		budgets Budgets
		want    []string
	}{
		{"several empty nodes in one command, most expensive first", nodesOf(1, 3), Budgets{"p0": 3}, []string{"p0-n2", "p0-n1", "p0-n0"}},
		{"the budget is spent on the most expensive", nodesOf(1, 10), Budgets{"p0": 3}, []string{"p0-n9", "p0-n8", "p0-n7"}},
		{"two nodes of each pool", nodesOf(2, 3), Budgets{"p0": 2, "p1": 2}, []string{"p0-n2", "p1-n2", "p0-n1", "p1-n1"}},
		{"one pool without budget does not hold up another", nodesOf(2, 1), Budgets{"p1": 5}, []string{"p1-n0"}},
		{"no budget, no command", nodesOf(1, 10), Budgets{"p0": 0}, nil},
		{"no candidate, no command", nil, Budgets{"p0": 3}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for i, command := range emptiness().Decide(Session{Budgets: tt.budgets}, tt.fit).Commands {
				if i > 0 || command.Reason != Empty || command.Type != "empty" {
					t.Errorf("unexpected command %d: %+v", i, command)
				}
				got = append(got, names(command.Candidates)...)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("picked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCommandText(t *testing.T) {
	for _, tt := range []struct {
		name string
		of   []Candidate
		want string
	}{
		{"one delete", nodesOf(1, 1), "Empty/x: delete: nodepools=[p0]: [p0-n0] (savings: $1.00)"},
		{"several deletes", nodesOf(2, 2), "Empty/x: delete: nodepools=[p0,p1]: [p0-n0, p0-n1, p1-n0, p1-n1] (savings: $6.00)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (Command{Reason: Empty, Candidates: tt.of}).Text("x"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
