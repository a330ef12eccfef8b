package solve

import (
	"cmp"
	"slices"
	"sort"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
)

// shrink drops the candidates that are larger than the cheapest one in a limited resource, and reports whether there were
// any. As many of the smaller of them stay as demands for distinct values need; a claim that holds reservations keeps all.
func (on *openNode) shrink() bool {
	l := on.t.limits
	if l.unlimited() || len(on.held) > 0 {
		return false
	}
	cheapest := on.cheapest()
	kept := on.mask.Clone()
	var larger []int
	for column := range on.mask.All() {
		if l.larger(on.t.capacity(column), on.t.capacity(cheapest)) {
			kept.Remove(column)
			larger = append(larger, column)
		}
	}
	if len(larger) == 0 {
		return false
	}
	more := on.columnsNeeded(kept, larger)
	if more == len(larger) {
		return false
	}
	for _, column := range larger[:more] {
		kept.Add(column)
	}
	copy(on.mask, kept)
	on.updateSlack()
	l.charge(on)
	return true
}

// needed sorts columns by how much of the limits their machines take, and tells how many of the first of them the candidates in
// kept need beside them to meet the demands for distinct values: all, if even they do not do. Machines of one size stay together.
func (on *openNode) columnsNeeded(kept bitset.Set, columns []int) int {
	st := on.t.states[on.state]
	if len(on.unmet(st, kept)) == 0 {
		return 0
	}
	share := func(column int) float64 { return on.t.limits.share(on.t.capacity(column)) }
	slices.SortStableFunc(columns, func(a, b int) int { return cmp.Compare(share(a), share(b)) })
	last := sort.Search(len(columns), func(n int) bool {
		mask := kept.Clone()
		for _, column := range columns[:n+1] {
			mask.Add(column)
		}
		return len(on.unmet(st, mask)) == 0
	})
	more := last
	for more < len(columns) && share(columns[more]) == share(columns[last]) {
		more++
	}
	return more
}

// cheapestOnly keeps the candidates at the lowest price.
func (on *openNode) cheapestOnly() {
	low, prices := on.price(), on.t.prices(on.t.states[on.state])
	for column := range on.mask.All() {
		if prices[column] > low {
			on.mask.Remove(column)
		}
	}
	on.updateSlack()
}

// widen lets a piece be any machine that can hold its pods and that the pool's limits admit: the cap has done its work, and
// more candidates make the launch more likely.
func (on *openNode) widen() {
	copy(on.mask, on.t.within(on.t.states[on.state].mask))
	for column := range on.mask.All() {
		if !on.total.Fits(on.t.room[column]) {
			on.mask.Remove(column)
		}
	}
	for _, f := range on.batches {
		if len(f.class().shape.HostPorts) > 0 {
			on.mask.Intersect(on.mask, on.t.portsFree(f.class()))
		}
	}
	on.trial = false
	on.updateSlack()
}
