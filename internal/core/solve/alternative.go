package solve

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/lp"
)

// reconsider gives pods that have several alternatives of required affinity the one for which room is cheapest. When they
// were placed, they were given the first that was accepted.
func (y *yard) reconsider(f fill) fill {
	if !f.mayChange() {
		return f
	}
	best, ok := y.favourite[f.class()]
	if !ok {
		best = f.stage
		least := math.Inf(1)
		for _, st := range f.class().stages {
			if !st.plain() || st.conjunction != st.strict || st.tolerant != f.stage.tolerant || !slices.Equal(st.hosts, f.stage.hosts) {
				continue
			}
			if cost := y.bought(y.population(f.class()), f.class(), st); cost < least {
				best, least = st, cost
			}
		}
		y.favourite[f.class()] = best
	}
	return fill{best, best.conjunction, f.pods}
}

// mayChange reports whether the alternative that the pods were given is all that binds them: no wish, no domain, no volume.
func (f fill) mayChange() bool {
	return len(f.class().alternatives) > 1 && len(f.class().shape.VolumeTopology) == 0 && f.stage.plain() && f.stage.conjunction == f.stage.strict && f.form == f.stage.conjunction
}

// bought is the least that room for n pods of the class can cost, in dollars an hour: by the piece, on machines that can hold
// one of them, but no less than one machine.
func (y *yard) bought(n int, c *class, st *stage) float64 {
	to := y.t.step(y.t.root, st.conjunction)
	if to == refused || len(c.needs) == 0 {
		return math.Inf(1)
	}
	s, one := y.t.states[to], math.Inf(1)
	var rooms [][]float64
	var prices []float64
	for column := range s.mask.All() {
		room := make([]float64, len(c.needs))
		for i, need := range c.needs {
			room[i] = float64(y.t.room[column].At(need.resource)) / float64(need.amount)
		}
		if price := y.t.prices(s)[column]; slices.Min(room) >= 1 {
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
func (y *yard) population(c *class) int {
	if y.populations == nil {
		y.populations = map[*class]int{}
		for _, cl := range y.s.claims {
			for _, f := range cl.fills {
				if cl.t == y.t && len(f.class().alternatives) > 1 {
					y.populations[f.class()] += len(f.pods)
				}
			}
		}
	}
	return y.populations[c]
}
