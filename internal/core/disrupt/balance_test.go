package disrupt

import (
	"fmt"
	"math"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// scored is the scoring of a move of nodes with the given prices and costs, one pool each.
func scored(savings float64, totals map[string]Totals, policies map[string]string, candidates ...Candidate) Scoring {
	s := &SimulationInput{Pools: map[string]Pool{}, Totals: totals}
	for name, policy := range policies {
		s.Pools[name] = Pool{Name: name, Policy: policy}
	}
	return score(Command{Candidates: candidates}, savings, s)
}

func costing(pool string, cost, price float64) Candidate {
	return Candidate{Node: &model.Node{Pool: pool}, DisruptionCost: cost, Price: price}
}

func TestScores(t *testing.T) {
	t.Attr("covers", "C443 C446 C447 C448 C449 C450")
	balanced := map[string]string{"p": Balanced}
	for _, tt := range []struct {
		name                  string
		savings, d, cost, all float64
		score                 float64
		approved              bool
	}{
		{"high savings with low disruption", 7.26, 4, 58.08, 90, 2.8125, true},
		{"more savings than disruption", 4.84, 5, 58.08, 90, 1.5, true},
		{"low savings with high disruption", 2.42, 9, 58.08, 90, 0.41667, false},
		{"the boundary passes", 2.42, 9, 48.40, 90, 0.5, true},
		{"no savings", 0, 4, 58.08, 90, 0, false},
		{"negative savings", -1, 4, 58.08, 90, 0, false},
		{"no cost of the pool", 1, 1, 0, 90, 0, false},
		{"no disruption at all", 1, 0, 10, 90, math.Inf(1), true},
		{"equal fractions", 1, 1, 10, 10, 1, true},
		{"the only node of its pool", 5, 9, 5, 9, 1, true},
		{"a pool a hundred times the size", 242, 900, 5808, 9000, 0.41667, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := scored(tt.savings, map[string]Totals{"p": {tt.cost, tt.all}}, balanced, costing("p", tt.d, tt.savings))
			if s := j.Scores[0]; j.Approved != tt.approved || s.Value != tt.score && math.Abs(s.Value-tt.score) > 1e-4 {
				t.Errorf("score %v, approved %t; want %v, %t", s.Value, j.Approved, tt.score, tt.approved)
			}
		})
	}
}

func TestPoolsOfAMove(t *testing.T) {
	t.Attr("covers", "C442 C444 C445 C455")
	totals := map[string]Totals{"p": {10, 10}, "q": {10, 10}}
	both := map[string]string{"p": Balanced, "q": Balanced}
	t.Run("savings are split by the cost of the nodes", func(t *testing.T) {
		j := scored(4, totals, both, costing("p", 2, 6), costing("q", 2, 2))
		if p, q := j.Scores[0], j.Scores[1]; !j.Approved || p.Savings != 0.3 || q.Savings != 0.1 || q.Value != 0.5 {
			t.Errorf("scores %+v", j.Scores)
		}
	})
	t.Run("one pool rejects the move, and all get a result", func(t *testing.T) {
		j := scored(4, totals, both, costing("p", 2, 6), costing("q", 3, 2))
		if j.Approved || len(j.Scores) != 2 || !j.Scores[0].Approved || j.Scores[1].Approved {
			t.Errorf("approved %t, scores %+v", j.Approved, j.Scores)
		}
	})
	t.Run("pools with another policy are not scored", func(t *testing.T) {
		j := scored(4, totals, map[string]string{"p": Balanced, "q": whenEmptyOrUnderutilized}, costing("p", 2, 6), costing("q", 9, 2))
		if !j.Approved || j.Scores[1].Scored {
			t.Errorf("approved %t, scores %+v", j.Approved, j.Scores)
		}
	})
	t.Run("a pool without totals rejects", func(t *testing.T) {
		if j := scored(4, nil, both, costing("p", 2, 6)); j.Approved {
			t.Errorf("scores %+v", j.Scores)
		}
	})
	t.Run("a command without nodes is rejected", func(t *testing.T) {
		if j := scored(4, totals, both); j.Approved {
			t.Error("approved")
		}
	})
	t.Run("nodes without a price split nothing", func(t *testing.T) {
		if j := scored(4, totals, both, costing("p", 2, 0), costing("q", 2, math.NaN())); j.Scores[0].Savings != 0.4 {
			t.Errorf("scores %+v", j.Scores)
		}
	})
}

func TestTotals(t *testing.T) {
	t.Attr("covers", "C438 C439 C440 C457")
	pods := func(n int, change func(*model.Pod)) (out []*model.Pod) {
		for range n {
			p := &model.Pod{EvictionCost: 1, Reschedulable: true}
			change(p)
			out = append(out, p)
		}
		return out
	}
	plain := func(*model.Pod) {}
	a := node("a", func(n *model.Node) { n.Pods = pods(3, plain) })
	other := node("other", func(n *model.Node) {
		n.Initialized = false // no candidate
		n.Pods = append(pods(2, plain), pods(1, func(p *model.Pod) { p.Daemon = true })...)
		n.Pods = append(n.Pods, pods(1, func(p *model.Pod) { p.EvictionCost = -4 })...)
	})
	odd := node("odd", func(n *model.Node) { n.Pods = pods(1, plain) })
	elsewhere := node("elsewhere", func(n *model.Node) { n.Pool, n.Initialized = "quiet", false })
	candidates, _ := Qualify(qualifyInput(a, other, odd))
	prices := map[string]float64{"a": 2, "other": 3, "odd": math.NaN()}
	got := TotalsOf(snapshot(a, other, odd, elsewhere), candidates, func(n *model.Node) float64 { return prices[n.Name] })
	if want := (Totals{Cost: 5, Disruption: 4 + 3 + 2}); got["default"] != want {
		t.Errorf("totals %+v, want %+v", got["default"], want)
	}
	if _, ok := got["quiet"]; ok {
		t.Error("a pool without candidates has totals")
	}
}

func TestBalancedConsolidation(t *testing.T) {
	t.Attr("covers", "C452")
	balanced := func(p *Pool) { p.Policy = Balanced }
	f := newFleet(t, sizes(4, onDemand), balanced)
	f.node("oversized", onDemand, "x8", 900)
	f.node("packed", onDemand, "x4", 2000, 400, 400, 400, 100, 100, 100, 100)
	d := f.decide(singleNode(), 2)
	f.want(d, "replace oversized -> x1,x2,x4 on-demand")
	f.wantObstacle(d, "packed", ScoreTooLow, "")
	// Seven of eight cores are used, and half of the pods would have to move for one in twelve dollars.
	g := newFleet(t, sizes(4, onDemand), balanced)
	g.node("tidy", onDemand, "x1", 100, 100, 100, 100, 100, 100, 100, 100)
	g.node("rest", onDemand, "x8", 1000, 1000).Disruption.Consolidatable = false
	d = g.decide(singleNode(), 2)
	g.want(d, "")
	g.wantObstacle(d, "tidy", ScoreTooLow, "")
	// The score is known without a simulation: a ninth of the cost for three quarters of the disruption.
	for _, o := range d.Obstacles {
		if o.Code == ScoreTooLow && (len(o.Scores) != 1 || math.Abs(o.Scores[0].Value-4.0/27) > 1e-9 || o.Scores[0].Pool != "default" || !o.Scores[0].Scored) {
			t.Errorf("scores %+v", o.Scores)
		}
	}
}

func TestScoresUseExpectedSavings(t *testing.T) {
	f := newFleet(t, sizes(3, onDemand, spot), func(p *Pool) { p.Policy = Balanced })
	f.node("a", onDemand, "x4", 900)
	f.node("b", onDemand, "x4", 100, 3900).Disruption.Consolidatable = false
	d := f.decide(singleNode(), 1)
	if len(d.Scored) == 0 {
		t.Fatal("nothing was judged")
	}
	cheapest := score(d.Scored[0].Command, d.Scored[0].Command.Savings(), &f.input)
	if got := fmt.Sprint(cheapest.Approved, d.Scored[0].Scoring.Approved); got != "true true" {
		t.Errorf("approved %s", got)
	}
}
