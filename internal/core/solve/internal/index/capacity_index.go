package index

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// stride is how many columns a capacity index passes from one set that it keeps to the next: a set for every column would take
// memory by the square of their number.
const stride = 8

// CapacityIndex orders columns by their capacity for one resource, so that "which columns have this capacity" is a search and
// a bitset.
type CapacityIndex struct {
	// order is the columns by descending capacity, and amounts their capacity.
	order   []int32
	amounts []int64
	// starts are the sets of the first 0, stride, 2*stride, … columns of the order, one after the other; words is the size of
	// one.
	starts bitset.Set
	words  int
	// scratch is for use within one call.
	scratch bitset.Set
}

// NewCapacityIndex orders columns by the capacity for resource r.
func NewCapacityIndex(capacity []resource.Vector, r int) *CapacityIndex {
	n := len(capacity)
	x := &CapacityIndex{order: make([]int32, n), amounts: make([]int64, n), scratch: bitset.New(n)}
	x.words = len(x.scratch)
	for column := range x.order {
		x.order[column] = int32(column)
	}
	slices.SortFunc(x.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(capacity[b].At(r), capacity[a].At(r)), cmp.Compare(a, b))
	})
	x.starts = make(bitset.Set, (n/stride+1)*x.words)
	for i := 1; i*stride <= n; i++ {
		copy(x.start(i), x.start(i-1))
		x.start(i).AddAll(x.order[(i-1)*stride : i*stride])
	}
	for i, column := range x.order {
		x.amounts[i] = capacity[column].At(r)
	}
	return x
}

// start is the set of the first i*stride columns of the order.
func (x *CapacityIndex) start(i int) bitset.Set { return x.starts[i*x.words : (i+1)*x.words] }

// Narrow removes the columns that cannot hold amount from candidates, and reports whether any are left.
func (x *CapacityIndex) Narrow(candidates bitset.Set, amount int64) bool {
	n := x.holding(amount)
	if n == len(x.amounts) {
		return !candidates.Empty()
	}
	have := x.start(n / stride)
	if n%stride != 0 {
		have = x.scratch.CopyFrom(have)
		have.AddAll(x.order[n-n%stride : n])
	}
	some := uint64(0)
	for i := range candidates {
		candidates[i] &= have[i]
		some |= candidates[i]
	}
	return some != 0
}

// holding is how many columns can hold an amount.
func (x *CapacityIndex) holding(amount int64) int {
	low, high := 0, len(x.amounts)
	if high > 0 && x.amounts[high-1] >= amount {
		return high
	}
	for low < high {
		if middle := int(uint(low+high) >> 1); x.amounts[middle] >= amount {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// Largest is the highest capacity among the columns in mask; a large negative number if there are none.
func (x *CapacityIndex) Largest(mask bitset.Set) int64 {
	// The largest columns are the last that an open node loses.
	from, starts := 0, len(x.order)/stride+1
	if starts > 1 && !x.start(1).Intersects(mask) {
		from = stride * (sort.Search(starts, func(i int) bool { return x.start(i).Intersects(mask) }) - 1)
	}
	for i, column := range x.order[from:] {
		if mask.Has(int(column)) {
			return x.amounts[from+i]
		}
	}
	return math.MinInt64 / 2
}
