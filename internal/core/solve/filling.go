package solve

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/lp"
)

// none is the index of nothing.
const none = -1

// filling is scratch of trying what a machine would take.
type filling struct {
	// least is the least that one pod of any mate asks for, by resource.
	least               []float64
	free, stock, weight []float64
	// pull is how much the room that is left asks for each resource, limit what one pod may take.
	pull, limit  []float64
	left, counts []int
	// amounts are what one pod of every mate asks for, one after the other.
	amounts   []float64
	prospects []prospect
}

// prospect is a column and how promising it is: the lower the rank, the more.
type prospect struct {
	column      int
	price, rank float64
}

// choose finds the column that is the best buy, and what to put into it beside the first pod.
func (y *yard) choose() (column int, picks []pick) {
	m := &y.load
	enough := y.enough()
	y.look(enough)
	column, least := none, math.Inf(1)
	for _, o := range m.prospects {
		worth := y.stuff(o.column)
		score := o.price - min(worth, enough)
		if !m.lead.lone {
			score = -worth / (o.price + m.lead.kin.upkeep)
		}
		if score >= least-lp.Negligible {
			continue
		}
		column, least, picks = o.column, score, picks[:0]
		for i, n := range m.counts {
			if n > 0 {
				picks = append(picks, pick{m.mates[i].pile, n})
			}
		}
	}
	return column, picks
}

// look finds the most promising columns that can hold the first pod, one for each price: those with the most worth of room for
// their price, as far as there are pods for it; or, where the machine has to be there anyway, with the least that is lost.
func (y *yard) look(enough float64) {
	m := &y.load
	k := m.lead.kin
	prices := y.t.prices(y.t.states[m.state])
	m.prospects = m.prospects[:0]
	few := m.few()
	for c := range m.cl.mask.All() {
		o := prospect{c, prices[c], 0}
		worth := k.worth[c]
		if few {
			worth = y.stuff(c)
		}
		if worth = min(worth, enough); m.lead.lone {
			o.rank = o.price - worth
		} else {
			o.rank = -worth / (o.price + k.upkeep)
		}
		m.consider(o)
	}
}

// few reports whether room is to be appraised by what goes into it, of the few kinds of pods that may come: of large pods, much less
// goes in than there is room for.
func (m *load) few() bool {
	return m.weighs && len(m.mates) <= weighed && !m.lead.lone && !slices.ContainsFunc(m.mates, func(other mate) bool { return other.picky })
}

// consider keeps the prospect if it is among the best so far.
func (f *filling) consider(o prospect) {
	at := len(f.prospects)
	for at > 0 && o.before(f.prospects[at-1]) {
		at--
	}
	if at == looked {
		return
	}
	for i, other := range f.prospects {
		if other.price == o.price {
			if i < at {
				return
			}
			f.prospects = slices.Delete(f.prospects, i, i+1)
			break
		}
	}
	f.prospects = slices.Insert(f.prospects, at, o)
	f.prospects = f.prospects[:min(len(f.prospects), looked)]
}

func (o prospect) before(other prospect) bool {
	if o.rank != other.rank {
		return o.rank < other.rank
	}
	if o.price != other.price {
		return o.price < other.price
	}
	return o.column < other.column
}

// enough is the worth of what a machine should hold at most: everything of the kin, or a fair share where every pod needs a
// machine of its own.
func (y *yard) enough() float64 {
	m := &y.load
	sum, heads := m.lead.worth, 1.0
	if !m.lead.lone {
		for _, p := range m.lead.kin.piles {
			sum += p.worth * float64(p.pods)
		}
		return sum
	}
	for _, other := range m.mates {
		sum += other.worth * float64(other.pods*m.stride)
	}
	for _, p := range y.piles {
		if p.lone {
			heads += float64(p.pods)
		}
	}
	return max(m.lead.worth, headroom*sum/heads)
}

// stuff works out what a column's machine would take beside its first pod, and returns the worth of it all. Where there is
// room for many, every pile gives its share; the rest goes pod by pod, first those that are most like the room that is left.
// Source: Panigrahy, Talwar, Uyeda, Wieder, Heuristics for Vector Bin Packing, 2011 (dot product).
func (y *yard) stuff(column int) (worth float64) {
	m := &y.load
	room := y.room[column]
	m.free, m.left, m.counts, m.weight = append(m.free[:0], room...), m.left[:0], m.counts[:0], m.weight[:0]
	for r, amount := range m.lead.amounts {
		m.free[r] -= amount
		m.weight = append(m.weight, 1/max(room[r]*room[r], math.SmallestNonzeroFloat32))
	}
	m.pull, m.limit = append(m.pull[:0], m.free...), append(m.limit[:0], m.free...)
	share := m.share()
	worth = m.lead.worth
	for _, other := range m.mates {
		n := 0
		if other.like {
			n = int(share * float64(other.most))
		}
		m.counts, m.left = append(m.counts, n), append(m.left, other.most-n)
		if n > 0 {
			worth += other.worth * float64(n)
			for r, amount := range other.amounts {
				m.free[r] -= amount * float64(n)
			}
		}
	}
	for _, like := range []bool{true, false} {
		for {
			best := m.closest(like)
			if best == none {
				break
			}
			m.counts[best]++
			m.left[best]--
			worth += m.mates[best].worth
			for r, amount := range m.mates[best].amounts {
				m.free[r] -= amount
			}
		}
	}
	return worth
}

// share is which part of every pile that is like the lead the free room has place for.
func (m *load) share() float64 {
	m.stock = append(m.stock[:0], make([]float64, len(m.free))...)
	for _, other := range m.mates {
		if other.like {
			for r, amount := range other.amounts {
				m.stock[r] += amount * float64(other.most)
			}
		}
	}
	share := 1.0
	for r, free := range m.free {
		if m.stock[r] > 0 {
			share = min(share, free/m.stock[r])
		}
	}
	return max(share, 0) * (1 - lp.Negligible)
}

// closest is the mate, like the lead or not, of which one more pod goes best into the room that is left; none if none fits.
func (m *load) closest(like bool) int {
	best, most := none, 0.0
	rows := len(m.free)
	for r, free := range m.free {
		m.pull[r], m.limit[r] = m.weight[r]*free, free*(1+lp.Negligible)
		if m.limit[r] < m.least[r] {
			return none
		}
	}
	pull, limit := m.pull[:rows], m.limit[:rows]
next:
	for i, left := range m.left {
		if left == 0 || m.mates[i].like != like {
			continue
		}
		gain := 0.0
		for r, amount := range m.amounts[i*rows : (i+1)*rows] {
			if amount > limit[r] {
				continue next
			}
			gain += pull[r] * amount
		}
		if gain > most {
			best, most = i, gain
		}
	}
	return best
}
