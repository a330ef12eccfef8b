package compile

import (
	"cmp"
	"slices"
	"sort"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
)

// Shrink drops the candidates that are larger than the cheapest one in a limited resource, and reports whether there were
// any. As many of the smaller of them stay as minValues needs; an open node that holds reservations keeps all.
func (on *OpenNode) Shrink() bool {
	l := on.Template.Limits
	if l.Unlimited() || len(on.held) > 0 {
		return false
	}
	cheapest := on.Cheapest()
	kept := on.Mask.Clone()
	var larger []int
	for column := range on.Mask.All() {
		if l.larger(on.Template.Capacity(column), on.Template.Capacity(cheapest)) {
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
	copy(on.Mask, kept)
	on.UpdateSlack()
	l.Charge(on)
	return true
}

// Restore gives the open node back those candidates that Shrink has dropped and that the limits admit; mask are those before.
func (on *OpenNode) Restore(mask bitset.Set) {
	l := on.Template.Limits
	l.Release(on)
	copy(on.Mask, on.Template.Within(mask))
	on.UpdateSlack()
	l.Charge(on)
}

// columnsNeeded sorts columns by how much of the limits their nodes take, and returns how many of the first of them the
// candidates in kept need beside them to meet minValues: all, if even they do not suffice. Nodes of one size stay together.
func (on *OpenNode) columnsNeeded(kept bitset.Set, columns []int) int {
	st := on.Template.States[on.State]
	if len(on.Unmet(st, kept)) == 0 {
		return 0
	}
	share := func(column int) float64 { return on.Template.Limits.share(on.Template.Capacity(column)) }
	slices.SortStableFunc(columns, func(a, b int) int { return cmp.Compare(share(a), share(b)) })
	last := sort.Search(len(columns), func(n int) bool {
		mask := kept.Clone()
		for _, column := range columns[:n+1] {
			mask.Add(column)
		}
		return len(on.Unmet(st, mask)) == 0
	})
	more := last
	for more < len(columns) && share(columns[more]) == share(columns[last]) {
		more++
	}
	return more
}

// CheapestOnly keeps the candidates at the lowest price.
func (on *OpenNode) CheapestOnly() {
	low, prices := on.Price(), on.Template.Prices(on.Template.States[on.State])
	for column := range on.Mask.All() {
		if prices[column] > low {
			on.Mask.Remove(column)
		}
	}
	on.UpdateSlack()
}

// Widen lets a repacked node be any instance type that can hold its pods and that the pool's limits admit: the price cap
// is no longer needed, and more candidates make the launch more likely to succeed.
func (on *OpenNode) Widen() {
	copy(on.Mask, on.Template.Within(on.Template.States[on.State].Mask))
	on.dropTooSmall()
	on.Trial = false
	on.UpdateSlack()
}

// dropTooSmall removes the candidates that cannot hold the pods in the node's state, beside the pods of DaemonSets.
func (on *OpenNode) dropTooSmall() {
	st := on.Template.States[on.State]
	capacity := on.Template.CapacityIn(st)
	for column := range on.Mask.All() {
		if !on.Total.Fits(capacity.Available[column]) {
			on.Mask.Remove(column)
		}
	}
	for _, batch := range on.Batches {
		on.Template.AwayFromDaemons(on.Mask, st, batch.Class())
	}
}
