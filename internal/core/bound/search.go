package bound

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// search finds the pattern of a bin with the highest value.
//
// Problem: an integer knapsack with a few rows and up to some hundreds of items. Approach: best-first branch and bound over the
// fractional relaxation, whose solution has no more fractions than rows; a branch rounds one fraction down or up, and each
// solution is also rounded to a pattern. Invariant: the greater of target and the bound of the best open branch is at least the
// value of every pattern, whenever the search stops. Cost: a small linear program per branch.
type search struct {
	*knapsackSolver
	bin          *bin
	values       []float64
	unit         float64
	openBranches branches
	// target is the value to exceed, best the counts of the last pattern that exceeded it.
	target float64
	best   []int
	// low and high are the range of every item in the current branch, prices and load its fractional solution.
	low, high []int
	// useful is the largest useful count of every item.
	useful       []int
	prices, load []float64
}

// branch is a subset of the patterns of its parent: those with a count of item in low..high.
type branch struct {
	parent          *branch
	item, low, high int
	// limit is an upper bound of the value of the branch's patterns.
	limit  float64
	number int
}

// branches is a heap, the highest limit first.
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

// searchPattern lowers the value bound of b as far as budget branches allow, but not below target. It returns the counts of a
// pattern whose value exceeds target, nil if it found none; and the fractional load of the best open branch, nil if no pattern
// can exceed both target and the returned one.
func (s *knapsackSolver) searchPattern(b *bin, values []float64, target float64, budget int) (counts []int, load []float64) {
	n := len(b.items)
	x := search{knapsackSolver: s, bin: b, values: values, unit: b.maxItemTypeValue(values), target: target}
	x.prices, x.load = make([]float64, len(b.rows)), make([]float64, n)
	x.low, x.high = make([]int, n), make([]int, n)
	x.useful = b.maxUseful(values, target)
	root := &branch{item: none}
	x.relax(root)
	x.openBranches = branches{root}
	for number := 1; len(x.openBranches) > 0 && x.openBranches[0].limit > x.target && budget > 0; budget-- {
		at := heap.Pop(&x.openBranches).(*branch) //nolint:forcetypeassert // a heap of these
		x.relax(at)
		k := x.fraction()
		if k == none {
			// The solution is integral: rounding has found it, and no pattern of this branch has a higher value.
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
				heap.Push(&x.openBranches, child)
			}
		}
	}
	if len(x.openBranches) == 0 || x.openBranches[0].limit <= x.target {
		b.valueBound = min(b.valueBound, x.target)
		return x.best, nil
	}
	b.valueBound = min(b.valueBound, x.openBranches[0].limit)
	x.relax(x.openBranches[0])
	return x.best, x.load
}

// fraction returns the item whose load is the furthest from an integer, none if all are integers.
func (x *search) fraction() int {
	k, largest := none, 1e-6
	for i, load := range x.load {
		if f := math.Abs(load - math.Round(load)); f > largest {
			largest, k = f, i
		}
	}
	return k
}

// setBounds sets low and high for a branch.
func (x *search) setBounds(at *branch) {
	clear(x.low)
	copy(x.high, x.useful)
	for ; at != nil; at = at.parent {
		if at.item != none {
			x.low[at.item] = max(x.low[at.item], at.low)
			x.high[at.item] = min(x.high[at.item], at.high)
		}
	}
}

// relax sets the fractional solution and the upper bound of a branch, and rounds the solution to a pattern.
func (x *search) relax(at *branch) {
	x.setBounds(at)
	b, p := x.bin, &x.program
	p.Clear()
	x.basis = x.basis[:0]
	for k := range b.rows {
		left := 1.0
		for i, n := range x.low {
			if n > 0 {
				left -= b.weight(i)[k] * float64(n)
			}
		}
		if left < -1e-9 {
			at.limit = 0 // the minimum counts do not fit
			clear(x.load)
			return
		}
		p.AddRow(max(left, 0))
		x.basis = append(x.basis, p.Add(x.unitColumn(k), 0, math.Inf(1)))
	}
	first := p.Columns()
	for i, it := range b.items {
		p.Add(b.columns[i], -x.values[it.itemType]*float64(it.maxPods)/x.unit, float64(x.high[i]-x.low[i])/float64(it.maxPods))
	}
	p.Start(x.basis)
	p.Solve(20 * (len(b.items) + len(b.rows)))
	limit := 0.0
	for k := range x.prices {
		x.prices[k] = max(-p.Dual(k)*x.unit, 0)
		limit += x.prices[k] * p.Right(k)
	}
	for i, it := range b.items {
		limit += x.values[it.itemType] * float64(x.low[i])
		if profit := b.profit(i, x.values, x.prices); profit > 0 {
			limit += profit * float64(x.high[i]-x.low[i])
		}
		x.load[i] = float64(x.low[i]) + p.Value(first+i)*float64(it.maxPods)
	}
	at.limit = limit
	if limit > x.target {
		f := x.roundedPattern(b, x.values, x.load, x.prices)
		if value := f.value(x.values); value > x.target {
			x.target, x.best = value, slices.Clone(f.counts)
		}
	}
}
