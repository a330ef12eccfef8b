package repack

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/lp"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

const (
	// none is the index of nothing.
	none = -1
	// manySegments is from how many segments on it takes long to look at all of them for every bin.
	manySegments = 4096
)

// fillScratch is scratch memory for filling a bin.
type fillScratch struct {
	// least is the least that one pod of any candidate item requests, by resource.
	least               []float64
	free, stock, weight []float64
	// pull weighs each resource by the capacity that is left, limit is what one pod may request.
	pull, limit  []float64
	left, counts []int
	// amounts are the requests of one pod of every candidate item, one after the other.
	amounts []float64
	ranked  []rankedType
}

// rankedType is a column with its rank: the lower, the more promising.
type rankedType struct {
	column      int
	price, rank float64
}

// choose finds the best column, and the pods to put into it beside the first pod.
func (rp *repacker) choose() (column int, assignments []assignment) {
	b := &rp.bin
	enough := rp.maxValue()
	rp.rankTypes(enough)
	column, least := none, math.Inf(1)
	for _, o := range b.ranked {
		value := rp.fillBin(o.column)
		score := o.price - min(value, enough)
		if !b.lead.selfExclusive {
			score = -value / (o.price + b.lead.group.nodeOverhead)
		}
		if score >= least-lp.Negligible {
			continue
		}
		column, least, assignments = o.column, score, assignments[:0]
		for i, n := range b.counts {
			if n > 0 {
				assignments = append(assignments, assignment{b.candidates[i].itemType, n})
			}
		}
	}
	return column, assignments
}

// rankTypes finds the most promising columns that can hold the first pod, one for each price: those with the most value of
// capacity for their price, as far as there are pods for it; or, where the bin is needed anyway, with the least loss.
func (rp *repacker) rankTypes(enough float64) {
	b := &rp.bin
	k := b.lead.group
	prices := rp.t.Prices(rp.t.States[b.state])
	b.ranked = b.ranked[:0]
	few := b.few()
	st := rp.t.States[b.state]
	others := st.HasLastResort(rp.t) && !st.LastResort(rp.t, int32(b.node.Cheapest()))
	for c := range b.node.Mask.All() {
		if others && st.LastResort(rp.t, int32(c)) {
			continue
		}
		o := rankedType{c, prices[c], 0}
		value := k.values[c]
		if few {
			value = rp.fillBin(c)
		}
		if value = min(value, enough); b.lead.selfExclusive {
			o.rank = o.price - value
		} else {
			o.rank = -value / (o.price + k.nodeOverhead)
		}
		b.rank(o)
	}
}

// few reports whether columns are valued by the pods that fill them, since few item types may join: large pods
// fill much less than the whole capacity.
func (b *openBin) few() bool {
	return b.fillsToRank && len(b.candidates) <= fewItemTypes && !b.lead.selfExclusive && !slices.ContainsFunc(b.candidates, func(other candidateItem) bool { return other.hostConstrained })
}

// rank keeps the column if it is among the best so far.
func (f *fillScratch) rank(o rankedType) {
	at := len(f.ranked)
	for at > 0 && o.before(f.ranked[at-1]) {
		at--
	}
	if at == maxRanked {
		return
	}
	for i, other := range f.ranked {
		if other.price == o.price {
			if i < at {
				return
			}
			f.ranked = slices.Delete(f.ranked, i, i+1)
			break
		}
	}
	f.ranked = slices.Insert(f.ranked, at, o)
	f.ranked = f.ranked[:min(len(f.ranked), maxRanked)]
}

func (o rankedType) before(other rankedType) bool {
	if o.rank != other.rank {
		return o.rank < other.rank
	}
	if o.price != other.price {
		return o.price < other.price
	}
	return o.column < other.column
}

// maxValue is the maximum value of the pods that a bin should hold: everything of the compatibility group, or a fair share where
// every pod needs a separate bin.
func (rp *repacker) maxValue() float64 {
	b := &rp.bin
	sum := b.lead.value
	if !b.lead.selfExclusive {
		for _, p := range b.lead.group.itemTypes {
			sum += p.value * float64(p.pods)
		}
		return sum
	}
	for _, other := range b.candidates {
		sum += other.value * float64(other.pods*b.stride)
	}
	return max(b.lead.value, headroom*sum/rp.separateBins())
}

// separateBins is how many bins the pods that exclude each other need at least, of those that may join the lead. Where these are in many segments,
// it is counted again only when capacity is priced.
func (rp *repacker) separateBins() float64 {
	key := [2]*compatibilityGroup{rp.bin.lead.group, rp.bin.companions}
	if most, known := rp.separate[key]; known {
		return most
	}
	empty, most, segments := rp.nextHost, 1.0, 0
	byGroup, byPort := rp.separateByGroup, map[model.HostPort]float64{}
	clear(byGroup)
	for _, p := range rp.itemTypes {
		if !p.selfExclusive || p.pods == 0 || !rp.compatible(p.group) {
			continue
		}
		segments += len(p.segments)
		for i := range p.segments {
			st := &p.segments[i]
			pods := float64(len(st.pods))
			for _, o := range st.Hosts {
				if o.Self {
					n := &byGroup[o.Number()]
					*n += pods / float64(max(o.AllowedOnHost(empty, o.HostFloor, true), 1))
					most = max(most, *n)
				}
			}
			for _, port := range st.Class.Shape.HostPorts {
				byPort[port] += pods
				most = max(most, byPort[port])
			}
		}
	}
	if segments > manySegments {
		rp.separate[key] = most
	}
	return most
}

// fillBin computes the pods that a bin of a column's instance type would hold beside its first pod, and returns their total value.
// Where there is capacity for many, every item type contributes its share; the rest is added pod by pod, first those whose requests
// are most like the capacity that is left. Source: Panigrahy, Talwar, Uyeda, Wieder, Heuristics for Vector Bin Packing,
// 2011 (dot product).
func (rp *repacker) fillBin(column int) (value float64) {
	b := &rp.bin
	capacity := rp.capacity[column]
	b.free, b.left, b.counts, b.weight = append(b.free[:0], capacity...), b.left[:0], b.counts[:0], b.weight[:0]
	for r, amount := range b.lead.amounts {
		b.free[r] -= amount
		b.weight = append(b.weight, 1/max(capacity[r]*capacity[r], math.SmallestNonzeroFloat32))
	}
	b.pull, b.limit = append(b.pull[:0], b.free...), append(b.limit[:0], b.free...)
	share := b.share()
	value = b.lead.value
	for _, other := range b.candidates {
		n := 0
		if other.like {
			n = int(share * float64(other.max))
		}
		b.counts, b.left = append(b.counts, n), append(b.left, other.max-n)
		if n > 0 {
			value += other.value * float64(n)
			for r, amount := range other.amounts {
				b.free[r] -= amount * float64(n)
			}
		}
	}
	for _, like := range []bool{true, false} {
		for {
			best := b.closest(like)
			if best == none {
				break
			}
			b.counts[best]++
			b.left[best]--
			value += b.candidates[best].value
			for r, amount := range b.candidates[best].amounts {
				b.free[r] -= amount
			}
		}
	}
	return value
}

// share is which part of every item type that is like the lead fits into the free capacity.
func (b *openBin) share() float64 {
	b.stock = append(b.stock[:0], make([]float64, len(b.free))...)
	for _, other := range b.candidates {
		if other.like {
			for r, amount := range other.amounts {
				b.stock[r] += amount * float64(other.max)
			}
		}
	}
	share := 1.0
	for r, free := range b.free {
		if b.stock[r] > 0 {
			share = min(share, free/b.stock[r])
		}
	}
	return max(share, 0) * (1 - lp.Negligible)
}

// closest is the candidate item, like the lead or not, of which one more pod fits best into the capacity that is left; none
// if none fits.
func (b *openBin) closest(like bool) int {
	best, most := none, 0.0
	rows := len(b.free)
	for r, free := range b.free {
		b.pull[r], b.limit[r] = b.weight[r]*free, free*(1+lp.Negligible)
		if b.limit[r] < b.least[r] {
			return none
		}
	}
	pull, limit := b.pull[:rows], b.limit[:rows]
next:
	for i, left := range b.left {
		if left == 0 || b.candidates[i].like != like {
			continue
		}
		gain := 0.0
		for r, amount := range b.amounts[i*rows : (i+1)*rows] {
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
