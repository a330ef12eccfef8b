package disrupt

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

var noon = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

// node is an empty node of the pool "default" that emptiness would remove.
func node(name string, changes ...func(*model.Node)) *model.Node {
	n := &model.Node{
		ID: "id/" + name, Name: name, NodeName: name, ClaimName: "claim-" + name, ProviderID: "id/" + name, Pool: "default",
		Managed: true, Launched: true, Registered: true, Initialized: true, Ready: true,
		Disruption: model.Disruption{Consolidatable: true},
	}
	for _, change := range changes {
		change(n)
	}
	return n
}

func snapshot(nodes ...*model.Node) *model.Snapshot {
	var e model.Editor[*model.Node]
	for _, n := range nodes {
		e.Put(n.ID, n)
	}
	return &model.Snapshot{Nodes: e.Publish()}
}

func qualifyInput(nodes ...*model.Node) QualifyInput {
	return QualifyInput{Snapshot: snapshot(nodes...), Now: noon, Pools: map[string]Pool{"default": {Name: "default"}}}
}

func names(candidates []Candidate) []string {
	var out []string
	for _, c := range candidates {
		out = append(out, c.Node.Name)
	}
	return out
}

func codes(obstacles []Obstacle) []Code {
	var out []Code
	for _, o := range obstacles {
		out = append(out, o.Code)
	}
	return out
}

func TestQualify(t *testing.T) {
	t.Attr("covers", "C284 C285 C286 C287 C289 C290 C291 C292 C294 N018 N069")
	for _, tt := range []struct {
		name   string
		change func(*model.Node)
		busy   bool
		want   Code
		text   string
	}{
		{name: "an ordinary node is a candidate", change: func(*model.Node) {}},
		{name: "missing labels do not disqualify", change: func(n *model.Node) { n.Labels = nil }},
		{
			name: "a node in a running command is not a candidate", change: func(*model.Node) {}, busy: true,
			want: InCommand, text: "node is part of a disruption command",
		},
		{
			name: "a node without NodeClaim is not a candidate", change: func(n *model.Node) { n.Managed, n.ClaimName = false, "" },
			want: NoNodeClaim, text: "node does not have an associated nodeclaim",
		},
		{
			name: "a NodeClaim without node is not a candidate", change: func(n *model.Node) { n.NodeName = "" },
			want: NoNode, text: "nodeclaim does not have an associated node",
		},
		{
			name: "an uninitialized node is not a candidate", change: func(n *model.Node) { n.Initialized = false },
			want: NotInitialized, text: "node isn't initialized",
		},
		{
			name: "an unregistered node is not a candidate", change: func(n *model.Node) { n.Registered, n.Initialized = false, false },
			want: NotRegistered, text: "node isn't initialized nor registered",
		},
		{
			name: "a rebooting node is not a candidate", change: func(n *model.Node) { n.Rebooting, n.Initialized = true, false },
			want: Rebooting, text: "node is rebooting",
		},
		{
			name: "a rebooting node that is also marked", change: func(n *model.Node) { n.Rebooting, n.Deleting, n.Disruption.DoNotDisrupt = true, true, true },
			want: Rebooting, text: "node is rebooting",
		},
		{
			name: "a rebooting NodeClaim without node", change: func(n *model.Node) { n.Rebooting, n.NodeName = true, "" },
			want: NoNode, text: "nodeclaim does not have an associated node",
		},
		{
			name: "an uninitialized node that is nominated", change: func(n *model.Node) { n.Initialized, n.NominatedUntil = false, noon.UnixNano()+1 },
			want: NotInitialized, text: "node isn't initialized",
		},
		{
			name: "a deleting or marked node is not a candidate", change: func(n *model.Node) { n.Deleting = true },
			want: Deleting, text: "node is deleting or marked for deletion",
		},
		{
			name: "a nominated node is not a candidate", change: func(n *model.Node) { n.NominatedUntil = noon.UnixNano() + 1 },
			want: Nominated, text: "node is nominated for a pending pod",
		},
		{name: "a nomination that has ended does not disqualify", change: func(n *model.Node) { n.NominatedUntil = noon.UnixNano() }},
		{
			name: "do-not-disrupt on the node disqualifies", change: func(n *model.Node) { n.Disruption.DoNotDisrupt = true },
			want: NodeProtected, text: `disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation`,
		},
		{
			name: "a node without pool label is not a candidate", change: func(n *model.Node) { n.Pool = "" },
			want: NoPoolLabel, text: "node doesn't have required label (label=karpenter.sh/nodepool)",
		},
		{
			name: "a node whose pool does not exist is not a candidate", change: func(n *model.Node) { n.Pool = "gone" },
			want: PoolNotFound, text: "NodePool not found (NodePool=gone)",
		},
		{
			name: "only the first obstacle is reported",
			change: func(n *model.Node) {
				n.Pool, n.Deleting, n.Initialized, n.Disruption.DoNotDisrupt = "", true, false, true
			},
			want: Deleting, text: "node is deleting or marked for deletion",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := qualifyInput(node("a", tt.change))
			if tt.busy {
				w.InCommand = map[string]bool{"id/a": true}
			}
			candidates, obstacles := Qualify(w)
			if tt.want == "" {
				if len(candidates) != 1 || len(obstacles) != 0 {
					t.Fatalf("got %d candidates and obstacles %v, want one candidate", len(candidates), obstacles)
				}
				return
			}
			if len(candidates) != 0 || len(obstacles) != 1 {
				t.Fatalf("got %d candidates and obstacles %v, want one obstacle", len(candidates), obstacles)
			}
			if got := obstacles[0]; got.Code != tt.want || got.String() != tt.text {
				t.Errorf("got %s %q, want %s %q", got.Code, got, tt.want, tt.text)
			}
		})
	}
}

func TestRescheduleCost(t *testing.T) {
	t.Attr("covers", "C305")
	pod := func(cost float64, reschedulable bool) *model.Pod {
		return &model.Pod{EvictionCost: cost, Reschedulable: reschedulable}
	}
	for _, tt := range []struct {
		name  string
		pods  []*model.Pod
		want  float64
		moves int
	}{
		{name: "an empty node costs 1", want: 1},
		{name: "an ordinary pod adds 1", pods: []*model.Pod{pod(1, true)}, want: 2, moves: 1},
		{name: "a negative-cost pod adds nothing", pods: []*model.Pod{pod(-3, true), pod(2.5, true)}, want: 3.5, moves: 2},
		{name: "pods that do not have to move do not count", pods: []*model.Pod{pod(10, false)}, want: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			candidates, _ := Qualify(qualifyInput(node("a", func(n *model.Node) { n.Pods = tt.pods })))
			if got := candidates[0]; got.DisruptionCost != tt.want || len(got.PodsToMove) != tt.moves {
				t.Errorf("got cost %v with %d pods to move, want %v with %d", got.DisruptionCost, len(got.PodsToMove), tt.want, tt.moves)
			}
		})
	}
}

func TestCandidatesAreOrderedByPriceOverCost(t *testing.T) {
	candidate := func(name string, price, cost float64) Candidate {
		return Candidate{Node: node(name), Price: price, DisruptionCost: cost}
	}
	got := names(byRatio([]Candidate{
		candidate("c", 1, 1), candidate("cheap-and-empty", 2, 1), candidate("dear-and-busy", 9, 10), candidate("a", 1, 1), candidate("dear", 9, 3),
	}))
	if diff := cmp.Diff([]string{"dear", "cheap-and-empty", "a", "c", "dear-and-busy"}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestEveryCodeHasARuleAndAText(t *testing.T) {
	seen := map[Code]bool{}
	for _, r := range Rules() {
		if seen[r.Code] {
			t.Errorf("%s has two rules", r.Code)
		}
		seen[r.Code] = true
		if r.Text == "" || r.Remedy == "" {
			t.Errorf("%s has no rule or no flip", r.Code)
		}
		if text := (Obstacle{Code: r.Code, Node: node("a")}).String(); text == string(r.Code) {
			t.Errorf("%s has no text", r.Code)
		}
	}
	for _, code := range []Code{
		InCommand, NoNodeClaim, NoNode, Rebooting, Deleting, NotRegistered, NotInitialized, Nominated, NodeProtected, NoPoolLabel, PoolNotFound,
		PodProtected, SeveralPDBs, PDBBlocked, PodsUnknown, Static, ConsolidationOff, NotEmpty, NotConsolidatable, NodePoolBudgetExhausted, Gone,
	} {
		if !seen[code] {
			t.Errorf("%s has no rule", code)
		}
	}
}
