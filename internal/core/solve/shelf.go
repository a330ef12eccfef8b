package solve

import (
	"math"
	"slices"
	"sort"
)

// shelf orders the columns of a template by their room for one resource, so that "which columns can hold this much" is a
// search and a bitset.
type shelf struct {
	// amounts are the different rooms that columns have, ascending; atLeast[i] are the columns with amounts[i] or more.
	amounts []int64
	atLeast []bitset
	// none is the empty set of columns.
	none bitset
}

// shelf is that of resource r. Templates without daemons share those of their columns.
func (t *template) shelf(r int) *shelf {
	shelves := &t.shelves
	if !t.daemoned {
		shelves = &t.columns.shelves
	}
	for len(*shelves) <= r {
		*shelves = append(*shelves, nil)
	}
	if (*shelves)[r] == nil {
		(*shelves)[r] = t.newShelf(r)
	}
	return (*shelves)[r]
}

func (t *template) newShelf(r int) *shelf {
	n := t.columns.len()
	order := t.order[:0]
	for column := range n {
		order = append(order, column)
	}
	t.order = order
	slices.SortFunc(order, func(a, b int) int {
		x, y := t.room[a].At(r), t.room[b].At(r)
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return a - b
	})
	s := &shelf{none: newBitset(n)}
	// last reports whether no further column has as much room as the i-th.
	last := func(i int) bool { return i+1 == n || t.room[order[i+1]].At(r) < t.room[order[i]].At(r) }
	different := 0
	for i := range order {
		if last(i) {
			different++
		}
	}
	s.amounts, s.atLeast = make([]int64, different), make([]bitset, different)
	have, words := newBitset(n), make(bitset, different*len(s.none))
	for i, column := range order {
		have.set(column)
		if last(i) {
			different--
			s.amounts[different] = t.room[column].At(r)
			s.atLeast[different] = words[different*len(have) : (different+1)*len(have)]
			copy(s.atLeast[different], have)
		}
	}
	return s
}

// having is the columns with room for amount. The set is the shelf's own.
func (s *shelf) having(amount int64) bitset {
	i, _ := slices.BinarySearch(s.amounts, amount)
	if i == len(s.amounts) {
		return s.none
	}
	return s.atLeast[i]
}

// largest is the most room that a column in mask has; negative infinity for none.
func (s *shelf) largest(mask bitset) int64 {
	// The largest columns are the last to drop out of a claim.
	for i := len(s.amounts) - 1; i >= max(len(s.amounts)-4, 0); i-- {
		if s.atLeast[i].meets(mask) {
			return s.amounts[i]
		}
	}
	i := sort.Search(len(s.amounts), func(i int) bool { return !s.atLeast[i].meets(mask) })
	if i == 0 {
		return math.MinInt64 / 2
	}
	return s.amounts[i-1]
}

// fitting narrows candidates, in place, to those that can hold n more pods of the class beside what cl has, and reports
// whether any can.
func (cl *claim) fitting(c *class, candidates bitset, n int) bool {
	some := uint64(1)
	for _, need := range c.needs {
		have := cl.t.shelf(need.resource).having(cl.total.At(need.resource) + need.amount*int64(n))
		some = 0
		for i := range candidates {
			candidates[i] &= have[i]
			some |= candidates[i]
		}
		if some == 0 {
			return false
		}
	}
	return some != 0 && (len(c.needs) > 0 || !candidates.empty())
}

// most is how many of n pods of the class the candidate with the most room for them can hold. When that is known at once,
// fitting is the candidates that can; it is the template's and valid until the next call.
func (cl *claim) most(c *class, candidates bitset, n int) (most int, fitting bitset) {
	for _, need := range c.needs {
		n = min(n, int(max(cl.slack.At(need.resource), 0)/need.amount))
	}
	scratch := cl.t.scratch
	holds := func(n int) bool {
		copy(scratch, candidates)
		return cl.fitting(c, scratch, n)
	}
	if n == 0 || holds(n) {
		return n, scratch
	}
	return sort.Search(n-1, func(i int) bool { return !holds(i + 1) }), nil
}

// left is the candidates that can hold n more pods of the class.
func (cl *claim) left(c *class, candidates bitset, n int) bitset {
	out := candidates.clone()
	cl.fitting(c, out, n)
	return out
}
