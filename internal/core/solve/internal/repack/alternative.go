package repack

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/lp"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
)

// chooseAlternative gives pods that have several alternatives of required affinity the one with the cheapest capacity. Placing
// gave them the first that was accepted.
func (rp *repacker) chooseAlternative(f compile.Batch) compile.Batch {
	if !f.HasFreeAlternative() {
		return f
	}
	best, ok := rp.cheapestLevel[f.Class()]
	if !ok {
		best = f.Level
		least := math.Inf(1)
		for _, st := range f.Class().Levels {
			if !st.Plain() || st.Beside != nil || st.Conjunction != st.Strict || st.Tolerant != f.Level.Tolerant || !slices.Equal(st.Hosts, f.Level.Hosts) {
				continue
			}
			if cost := rp.leastCost(rp.podCount(f.Class()), f.Class(), st); cost < least {
				best, least = st, cost
			}
		}
		rp.cheapestLevel[f.Class()] = best
	}
	return compile.Batch{Level: best, Form: best.Conjunction, Pods: f.Pods}
}

// leastCost is the least that capacity for n pods of the class can cost, in dollars per hour: per unit, on instance types
// that can hold one of them, but no less than one node.
func (rp *repacker) leastCost(n int, c *compile.Class, st *compile.Level) float64 {
	to := rp.t.Step(rp.t.Root, st.Conjunction)
	if to == compile.NoState || len(c.Needs) == 0 {
		return math.Inf(1)
	}
	s, one := rp.t.States[to], math.Inf(1)
	program := lp.NewCovering(len(c.Needs))
	defer program.Release()
	for column := range s.Mask.All() {
		capacity := make([]float64, len(c.Needs))
		for i, need := range c.Needs {
			capacity[i] = float64(rp.t.CapacityIn(s).Available[column].At(need.Resource)) / float64(need.Amount)
		}
		if price := rp.t.Prices(s)[column]; slices.Min(capacity) >= 1 {
			program.AddBin(capacity, price)
			one = min(one, price)
		}
	}
	if math.IsInf(one, 1) {
		return one
	}
	each := slices.Repeat([]float64{1}, len(c.Needs))
	return max(float64(n)*lp.Dot(program.DualPrices(each), each), one)
}

// podCount is how many pods of the class the open nodes of the template hold.
func (rp *repacker) podCount(c *compile.Class) int {
	if rp.podCounts == nil {
		rp.podCounts = map[*compile.Class]int{}
		for _, on := range rp.s.Open {
			for _, f := range on.Batches {
				if on.Template == rp.t && len(f.Class().Alternatives) > 1 {
					rp.podCounts[f.Class()] += len(f.Pods)
				}
			}
		}
	}
	return rp.podCounts[c]
}
