package bound

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// search looks for the whole pods that are worth the most in a bin.
//
// Problem: an integer knapsack with a few rows and up to some hundreds of kinds of items. Approach: best first branch and
// bound over the fractional solution, which has no more fractions than rows, with a fraction's two neighbours as branches;
// each fractional solution is also rounded to a filling. Invariant: the greater of target and the best open branch is at
// least the worth of every way to fill the bin, whenever the search stops. Cost: a small linear program per branch.
type search struct {
	*scales
	bin    *bin
	values []float64
	unit   float64
	open   branches
	// target is what is to be beaten, best the filling that has beaten it last.
	target float64
	best   []int
	// low and high are the range of every item in the branch at hand, prices and load its fractional solution.
	low, high []int
	// useful is how many of every item are worth a look.
	useful       []int
	prices, load []float64
}

// branch is a part of all fillings: those of parent, with item held at least low and at most high times.
type branch struct {
	parent          *branch
	item, low, high int
	// limit is an upper bound of what fillings of the branch are worth.
	limit  float64
	number int
}

// branches is a heap, the most promising on top.
type branches []*branch

func (bs branches) Len() int { return len(bs) }
func (bs branches) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(bs[j].limit, bs[i].limit), cmp.Compare(bs[j].number, bs[i].number)) < 0
}
func (bs branches) Swap(i, j int) { bs[i], bs[j] = bs[j], bs[i] }
func (bs *branches) Push(x any)   { *bs = append(*bs, x.(*branch)) } //nolint:forcetypeassert // a heap of these
func (bs *branches) Pop() any {
	last := len(*bs) - 1
	out := (*bs)[last]
	*bs = (*bs)[:last]
	return out
}

// explore lowers the worth of b at values as far as a number of branches allows, but not below target. It returns a filling
// that is worth more than target, by item, nil if none was found; and the load that is worth as much as b may still be,
// nil if it is proven not to be worth more than target or the filling.
func (s *scales) explore(b *bin, values []float64, target float64, budget int) (held []int, load []float64) {
	n := len(b.items)
	x := search{scales: s, bin: b, values: values, unit: b.unit(values), target: target}
	x.prices, x.load = make([]float64, len(b.rows)), make([]float64, n)
	x.low, x.high = make([]int, n), make([]int, n)
	x.useful = b.useful(values, target)
	root := &branch{item: none}
	x.relax(root)
	x.open = branches{root}
	for number := 1; len(x.open) > 0 && x.open[0].limit > x.target && budget > 0; budget-- {
		at := heap.Pop(&x.open).(*branch) //nolint:forcetypeassert // a heap of these
		x.relax(at)
		k := x.fraction()
		if k == none {
			// Whole already: rounding has seen it, and nothing in this branch is worth more.
			x.target = max(x.target, at.limit)
			continue
		}
		whole := int(math.Floor(x.load[k]))
		below := &branch{parent: at, item: k, low: x.low[k], high: whole, number: number}
		above := &branch{parent: at, item: k, low: whole + 1, high: x.high[k], number: number + 1}
		number += 2
		for _, child := range []*branch{below, above} {
			x.relax(child)
			if child.limit = min(child.limit, at.limit); child.limit > x.target {
				heap.Push(&x.open, child)
			}
		}
	}
	if len(x.open) == 0 || x.open[0].limit <= x.target {
		b.worth = min(b.worth, x.target)
		return x.best, nil
	}
	b.worth = min(b.worth, x.open[0].limit)
	x.relax(x.open[0])
	return x.best, x.load
}

// fraction is the item whose load is the furthest from whole, none if all are whole.
func (x *search) fraction() int {
	k, most := none, 1e-6
	for i, load := range x.load {
		if f := math.Abs(load - math.Round(load)); f > most {
			most, k = f, i
		}
	}
	return k
}

// bounds fills in low and high for a branch.
func (x *search) bounds(at *branch) {
	clear(x.low)
	copy(x.high, x.useful)
	for ; at != nil; at = at.parent {
		if at.item != none {
			x.low[at.item] = max(x.low[at.item], at.low)
			x.high[at.item] = min(x.high[at.item], at.high)
		}
	}
}

// relax works out the fractional solution of a branch, an upper bound of it, and a filling nearby.
func (x *search) relax(at *branch) {
	x.bounds(at)
	b, p := x.bin, &x.program
	p.clear()
	x.basis = x.basis[:0]
	for k := range b.rows {
		left := 1.0
		for i, n := range x.low {
			if n > 0 {
				left -= b.weight(i)[k] * float64(n)
			}
		}
		if left < -1e-9 {
			at.limit = 0 // what has to be held does not fit
			clear(x.load)
			return
		}
		p.right = append(p.right, max(left, 0))
		x.basis = append(x.basis, p.add(x.unitColumn(k), 0, math.Inf(1)))
	}
	first := len(p.columns)
	for i, it := range b.items {
		p.add(b.columns[i], -x.values[it.lot]*float64(it.most)/x.unit, float64(x.high[i]-x.low[i])/float64(it.most))
	}
	p.start(x.basis)
	p.solve(20 * (len(b.items) + len(b.rows)))
	limit := 0.0
	for k := range x.prices {
		x.prices[k] = max(-p.duals[k]*x.unit, 0)
		limit += x.prices[k] * p.right[k]
	}
	for i, it := range b.items {
		limit += x.values[it.lot] * float64(x.low[i])
		if profit := b.profit(i, x.values, x.prices); profit > 0 {
			limit += profit * float64(x.high[i]-x.low[i])
		}
		x.load[i] = float64(x.low[i]) + p.value(first+i)*float64(it.most)
	}
	at.limit = limit
	if limit > x.target {
		f := x.rounded(b, x.values, x.load, x.prices)
		if worth := f.worth(x.values); worth > x.target {
			x.target, x.best = worth, slices.Clone(f.held)
		}
	}
}
