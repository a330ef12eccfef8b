package solve

import (
	"cmp"
	"slices"
	"sort"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
)

// tighten makes room under the limits of pools for pods that were refused. Claims are charged with the largest machine that
// they may become; keeping them from becoming larger than their cheapest candidate costs some choice at launch and saves
// the refused pods a wait for the next run. Pods that even then find no place stay refused.
//
// Invariant: claims only shrink, and no pod loses its place. Cost: one more pass over the refused pods.
func (s *placer) tighten() {
	limited := false
	for _, t := range s.templates {
		limited = limited || !t.limits.unlimited()
	}
	if !limited || len(s.unschedulable) == 0 {
		return
	}
	shrunk := false
	for _, on := range s.open {
		shrunk = on.shrink() || shrunk
	}
	if !shrunk {
		return
	}
	again := s.unschedulable
	s.unschedulable = nil
	s.placeAll(again)
}

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
