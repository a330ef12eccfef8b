package solve

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
)

// stride is how many columns a shelf passes from one set that it keeps to the next: a set for every column would take memory
// by the square of their number.
const stride = 8

// shelf orders the columns of a template by their room for one resource, so that "which columns can hold this much" is a
// search and a bitset.
type capacityIndex struct {
	// order is the columns, those with the most room first, and amounts their room.
	order   []int32
	amounts []int64
	// starts are the sets of the first 0, stride, 2*stride, … columns of the order, one after the other.
	starts bitset.Set
	// held is what having returned last, unless that was one of the starts.
	held bitset.Set
}

// start is the set of the first i*stride columns of the order.
func (s *capacityIndex) start(i int) bitset.Set { return s.starts[i*len(s.held) : (i+1)*len(s.held)] }

// shelf is that of resource r. Templates without daemons share those of their columns.
func (t *template) capacityIndex(r int) *capacityIndex {
	shelves := &t.capacityIndexes
	if !t.daemoned {
		shelves = &t.columns.capacityIndexes
	}
	for len(*shelves) <= r {
		*shelves = append(*shelves, nil)
	}
	if (*shelves)[r] == nil {
		(*shelves)[r] = t.newCapacityIndex(r)
	}
	return (*shelves)[r]
}

func (t *template) newCapacityIndex(r int) *capacityIndex {
	n := t.columns.len()
	s := &capacityIndex{order: make([]int32, n), amounts: make([]int64, n), held: bitset.New(n)}
	for column := range s.order {
		s.order[column] = int32(column)
	}
	slices.SortFunc(s.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(t.room[b].At(r), t.room[a].At(r)), cmp.Compare(a, b))
	})
	s.starts = make(bitset.Set, (n/stride+1)*len(s.held))
	for i := 1; i*stride <= n; i++ {
		copy(s.start(i), s.start(i-1))
		s.start(i).AddAll(s.order[(i-1)*stride : i*stride])
	}
	for i, column := range s.order {
		s.amounts[i] = t.room[column].At(r)
	}
	return s
}

// having is the columns with room for amount. The set is the shelf's own and valid until the next call.
func (s *capacityIndex) having(amount int64) bitset.Set {
	n := sort.Search(len(s.amounts), func(i int) bool { return s.amounts[i] < amount })
	if n%stride == 0 {
		return s.start(n / stride)
	}
	copy(s.held, s.start(n/stride))
	s.held.AddAll(s.order[n-n%stride : n])
	return s.held
}

// largest is the most room that a column in mask has; negative infinity for none.
func (s *capacityIndex) largest(mask bitset.Set) int64 {
	// The largest columns are the last to drop out of a claim.
	from, starts := 0, len(s.order)/stride+1
	if starts > 1 && !s.start(1).Intersects(mask) {
		from = stride * (sort.Search(starts, func(i int) bool { return s.start(i).Intersects(mask) }) - 1)
	}
	for i, column := range s.order[from:] {
		if mask.Has(int(column)) {
			return s.amounts[from+i]
		}
	}
	return math.MinInt64 / 2
}

// fitting narrows candidates, in place, to those that can hold n more pods of the class beside what on has, and reports
// whether any can.
func (on *openNode) fitting(c *class, candidates bitset.Set, n int) bool {
	some := uint64(1)
	for _, need := range c.needs {
		have := on.t.capacityIndex(need.resource).having(on.total.At(need.resource) + need.amount*int64(n))
		some = 0
		for i := range candidates {
			candidates[i] &= have[i]
			some |= candidates[i]
		}
		if some == 0 {
			return false
		}
	}
	return some != 0 && (len(c.needs) > 0 || !candidates.Empty())
}

// most is how many of n pods of the class the candidate with the most room for them can hold. When that is known at once,
// fitting is the candidates that can; it is the template's and valid until the next call.
func (on *openNode) maxPods(c *class, candidates bitset.Set, n int) (most int, fitting bitset.Set) {
	for _, need := range c.needs {
		n = min(n, int(max(on.slack.At(need.resource), 0)/need.amount))
	}
	scratch := on.t.scratch
	holds := func(n int) bool {
		copy(scratch, candidates)
		return on.fitting(c, scratch, n)
	}
	if n == 0 || holds(n) {
		return n, scratch
	}
	return sort.Search(n-1, func(i int) bool { return !holds(i + 1) }), nil
}

// left is the candidates that can hold n more pods of the class.
func (on *openNode) remaining(c *class, candidates bitset.Set, n int) bitset.Set {
	out := candidates.Clone()
	on.fitting(c, out, n)
	return out
}
