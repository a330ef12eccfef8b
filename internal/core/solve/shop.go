package solve

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/lp"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// Every machine is held to cost a little more than its price, as if so much of it were lost: more nodes are more things that
// can go wrong.
const (
	upkeepCPU    = 100       // thousandths of a core
	upkeepMemory = 400 << 20 // bytes
)

// shop is what can be bought, and for how much, in states that do not differ in that.
type shop struct {
	mask   bitset.Set
	prices []float64
	// rooms and costs are those of the columns in mask alone.
	rooms [][]float64
	costs []float64
	// corner is where the search for rates ended last, demand what they are for, left what is asked for now.
	corner       *lp.Covering
	demand, left []float64
	// choice is how many ways there are to buy a machine.
	choice int
	// rates is what one unit of each resource is worth, upkeep what a machine is held to cost beside its price.
	rates  []float64
	upkeep float64
	// worth is that of every column's room.
	worth []float64
}

// shopOf is the shop for claims in a state.
func (y *yard) shopOf(st *state) *shop {
	prices := y.t.prices(st)
	for _, s := range y.shops {
		if s.sells(st.mask, prices) {
			return s
		}
	}
	s := &shop{
		mask: st.mask, prices: prices, worth: make([]float64, len(prices)),
		choice: st.mask.Len()*len(y.t.columns.kinds) + st.kinds.Len(),
	}
	y.shops = append(y.shops, s)
	return s
}

func (s *shop) sells(mask bitset.Set, prices []float64) bool {
	if !slices.Equal(s.mask, mask) {
		return false
	}
	for column := range mask.All() {
		if prices[column] != s.prices[column] {
			return false
		}
	}
	return true
}

// list gathers what is for sale, once.
func (s *shop) list(room [][]float64, rows int) {
	if s.corner != nil {
		return
	}
	n := s.mask.Len()
	if n == len(room) {
		s.rooms, s.costs, s.corner = room, s.prices, lp.NewCovering(room, s.prices, rows)
		return
	}
	s.rooms, s.costs = make([][]float64, 0, n), make([]float64, 0, n)
	for column := range s.mask.All() {
		s.rooms, s.costs = append(s.rooms, room[column]), append(s.costs, s.prices[column])
	}
	s.corner = lp.NewCovering(s.rooms, s.costs, rows)
}

// appraise works out what room is worth in every shop for the pods that are left, and with it the pods.
func (y *yard) appraise() {
	for _, s := range y.shops {
		if s.left == nil {
			s.left, s.demand = make([]float64, len(y.t.wanted)), make([]float64, len(y.t.wanted))
		}
		clear(s.left)
	}
	for _, p := range y.piles {
		for r, amount := range p.amounts {
			p.kin.left[r] += amount * float64(p.pods)
		}
	}
	for _, s := range y.shops {
		if slices.Max(s.left) == 0 || slices.Equal(s.left, s.demand) {
			continue
		}
		copy(s.demand, s.left)
		s.list(y.room, len(s.demand))
		s.rates, s.upkeep = s.corner.DualPrices(s.demand), 0
		for i, r := range y.t.wanted {
			switch r {
			case resource.CPU:
				s.upkeep += upkeepCPU * y.scale[i] * s.rates[i]
			case resource.Memory:
				s.upkeep += upkeepMemory * y.scale[i] * s.rates[i]
			}
		}
		for column := range s.mask.All() {
			s.worth[column] = lp.Dot(s.rates, y.room[column])
		}
	}
	for _, p := range y.piles {
		p.worth = p.markup * lp.Dot(p.kin.rates, p.amounts)
	}
}
