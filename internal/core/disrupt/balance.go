package disrupt

import (
	"math"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// balance is the parameter k of Balanced scoring: a move has to save at least a k-th of the share that it disrupts.
const balance = 2

// Threshold is the least score of an approved move.
const Threshold = 1.0 / balance

// BalanceFactor is k in the format of events.
const BalanceFactor = balance

// Totals are the totals of a pool that shares refer to.
type Totals struct {
	// Cost is in dollars per hour, Disruption is the cost of disrupting all of the pool's nodes.
	Cost, Disruption float64
}

// TotalsOf sums up every pool with at least one candidate: candidates or not, all of its nodes count. priceOf is the price
// of a node, 0 where none is known.
//
// Totals depend on the snapshot only, so the order of events does not affect them.
//
// Source: disruption specification, Balanced scoring.
func TotalsOf(s *model.Snapshot, candidates []Candidate, priceOf func(*model.Node) float64) map[string]Totals {
	cost := map[string]float64{}
	for _, c := range candidates {
		cost[c.Node.ID] = c.DisruptionCost
	}
	out := map[string]Totals{}
	for _, c := range candidates {
		out[c.Node.Pool] = Totals{}
	}
	for _, n := range s.Nodes.Sorted() {
		t, ok := out[n.Pool]
		if !ok || n.Pool == "" {
			continue
		}
		if n.Managed {
			t.Cost += zeroIfNaN(priceOf(n))
		}
		if own, ok := cost[n.ID]; ok {
			t.Disruption += own
		} else {
			t.Disruption += disruptionCost(n)
		}
		out[n.Pool] = t
	}
	return out
}

// disruptionCost is that of a node that is no candidate: every live pod counts but those of DaemonSets.
func disruptionCost(n *model.Node) float64 {
	sum := float64(baseCost)
	for _, p := range n.Pods {
		if !p.Daemon {
			sum += movingCost(p)
		}
	}
	return sum
}

func zeroIfNaN(price float64) float64 {
	if math.IsNaN(price) {
		return 0
	}
	return price
}

// Score is how one pool scores its share of a command.
type Score struct {
	Pool string
	// Policy is that of the pool; only Balanced ones are scored.
	Policy string
	Scored bool
	// Value is the share of cost saved over the share of disruption; Savings and Disruption are the shares.
	Value, Savings, Disruption float64
	Approved                   bool
}

// Scoring is how the pools of a command score it.
type Scoring struct {
	Approved bool
	// Scores are those of all pools of the command, by name.
	Scores []Score
}

// Score scores a command for every pool of it. A command is approved when every Balanced pool approves.
//
// Scores go by the expected savings: a spot launch may get any instance type of its list, so the most expensive one counts, unless
// the cheapest one gives the same decision.
func (sim *Simulator) Score(c Command) Scoring {
	optimistic := score(c, c.Savings(), sim.input)
	expected := score(c, sim.expectedSavings(c), sim.input)
	if optimistic.Approved == expected.Approved {
		return optimistic
	}
	return expected
}

// expectedSavings assumes the most expensive offering for a launch that may be spot, and the cheapest otherwise.
func (sim *Simulator) expectedSavings(c Command) float64 {
	sum := c.Cost()
	for _, claim := range c.Replacements {
		worst, list := claim.Price, quotes(sim.typesOf(claim), claim.Requirements)
		if offersCapacityType(typesIn(list), claim.Requirements, spot) {
			for _, q := range list {
				worst = max(worst, q.worst)
			}
		}
		if !math.IsInf(worst, 0) {
			sum -= worst
		}
	}
	return sum
}

func score(c Command, savings float64, s *SimulationInput) Scoring {
	j := Scoring{Approved: len(c.Candidates) > 0}
	pools := c.Pools()
	all := c.Cost()
	for _, name := range pools {
		score := Score{Pool: name, Policy: s.Pools[name].Policy, Approved: true}
		if score.Policy == Balanced {
			disruption, paid := 0.0, 0.0
			for _, candidate := range c.Candidates {
				if candidate.Node.Pool == name {
					disruption += candidate.DisruptionCost
					paid += zeroIfNaN(candidate.Price)
				}
			}
			share := savings
			if len(pools) > 1 && all != 0 {
				share = savings * (paid / all)
			}
			score.rate(share, disruption, s.Totals[name])
		}
		j.Approved = j.Approved && score.Approved
		j.Scores = append(j.Scores, score)
	}
	return j
}

// rate sets the score of a pool's share.
func (s *Score) rate(savings, disruption float64, total Totals) {
	s.Scored = true
	if total.Cost > 0 && total.Disruption > 0 {
		s.Savings, s.Disruption = savings/total.Cost, disruption/total.Disruption
		switch {
		case s.Savings <= 0:
		case s.Disruption == 0:
			s.Value = math.Inf(1)
		default:
			s.Value = s.Savings / s.Disruption
		}
	}
	s.Approved = s.Value >= Threshold
}

// belowThreshold reports whether not even deleting a candidate for nothing would be approved by its Balanced pool, and the score of that.
func (s *SimulationInput) belowThreshold(c Candidate) (best Score, yes bool) {
	total, ok := s.Totals[c.Node.Pool]
	if c.Pool.Policy != Balanced || !ok || total.Cost <= 0 {
		return Score{}, false
	}
	best = Score{Pool: c.Node.Pool, Policy: Balanced}
	best.rate(zeroIfNaN(c.Price), c.DisruptionCost, total)
	return best, !best.Approved
}
