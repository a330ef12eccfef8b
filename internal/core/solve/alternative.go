package solve

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/lp"
)

// reconsider gives pods that have several alternatives of required affinity the one for which room is cheapest. When they
// were placed, they were given the first that was accepted.
func (rp *repacker) chooseAlternative(f batch) batch {
	if !f.hasFreeAlternative() {
		return f
	}
	best, ok := rp.cheapestLevel[f.class()]
	if !ok {
		best = f.level
		least := math.Inf(1)
		for _, st := range f.class().levels {
			if !st.plain() || st.conjunction != st.strict || st.tolerant != f.level.tolerant || !slices.Equal(st.hosts, f.level.hosts) {
				continue
			}
			if cost := rp.leastCost(rp.podCount(f.class()), f.class(), st); cost < least {
				best, least = st, cost
			}
		}
		rp.cheapestLevel[f.class()] = best
	}
	return batch{best, best.conjunction, f.pods}
}

// bought is the least that room for n pods of the class can cost, in dollars an hour: by the piece, on machines that can hold
// one of them, but no less than one machine.
func (rp *repacker) leastCost(n int, c *class, st *level) float64 {
	to := rp.t.step(rp.t.root, st.conjunction)
	if to == noState || len(c.needs) == 0 {
		return math.Inf(1)
	}
	s, one := rp.t.states[to], math.Inf(1)
	var rooms [][]float64
	var prices []float64
	for column := range s.mask.All() {
		room := make([]float64, len(c.needs))
		for i, need := range c.needs {
			room[i] = float64(rp.t.room[column].At(need.resource)) / float64(need.amount)
		}
		if price := rp.t.prices(s)[column]; slices.Min(room) >= 1 {
			rooms, prices, one = append(rooms, room), append(prices, price), min(one, price)
		}
	}
	if len(rooms) == 0 {
		return math.Inf(1)
	}
	each := slices.Repeat([]float64{1}, len(c.needs))
	return max(float64(n)*lp.Dot(lp.DualPrices(each, rooms, prices), each), one)
}

// population is how many pods of the class the claims of the template hold.
func (rp *repacker) podCount(c *class) int {
	if rp.podCounts == nil {
		rp.podCounts = map[*class]int{}
		for _, on := range rp.s.open {
			for _, f := range on.batches {
				if on.t == rp.t && len(f.class().alternatives) > 1 {
					rp.podCounts[f.class()] += len(f.pods)
				}
			}
		}
	}
	return rp.podCounts[c]
}
