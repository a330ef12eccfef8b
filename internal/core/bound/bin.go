package bound

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/lp"
)

// bin is a bin type of the market, or a group of existing nodes, with the item types that it can hold.
type bin struct {
	// price is in dollars per hour; 0 for nodes.
	price float64
	// supply is the index of the supply that limits the number of such bins; none for bin types of unlimited number.
	supply   int
	capacity []int64
	items    []item

	// rows are the constraints that can bind: resources relative to the capacity, then caps relative to their limit.
	rows []row
	// weights are the coefficients of the items in the rows, item by item; columns are the same for the linear program, whose
	// variables are counts relative to maxPods.
	weights []float64
	columns []lp.Column
	// prices are the dual prices of the rows in the last relaxation: a good estimate for the next one.
	prices []float64
	// valueBound is an upper bound of the value that the bin can hold, at the values of the last relaxation or search.
	valueBound float64
}

// none is the index of nothing.
const none = -1

// item is an item type of which a bin can hold at most maxPods pods.
type item struct {
	itemType, maxPods int
}

// row is a resource or a cap; the other index is none.
type row struct {
	resource, cap int
}

// buildRows sets rows, weights, columns and prices.
func (b *bin) buildRows(in *packingProblem) {
	for r := range b.capacity {
		sum := 0.0
		for _, it := range b.items {
			sum += float64(in.itemTypes[it.itemType].need[r]) * float64(it.maxPods)
		}
		if sum > float64(b.capacity[r])*(1-1e-12) {
			b.rows = append(b.rows, row{r, none})
		}
	}
	for c, shared := range in.sharedCaps {
		n, members := 0, 0
		for _, it := range b.items {
			if slices.Contains(in.itemTypes[it.itemType].caps, c) {
				n += it.maxPods
				members++
			}
		}
		if members > 1 && n > shared.maxPods {
			b.rows = append(b.rows, row{none, c})
		}
	}
	b.weights = make([]float64, len(b.rows)*len(b.items))
	b.columns = make([]lp.Column, len(b.items))
	for i, it := range b.items {
		c := &b.columns[i]
		for k, r := range b.rows {
			w := in.weight(it.itemType, r, b)
			b.weights[i*len(b.rows)+k] = w
			if w > 0 {
				c.Rows, c.Values = append(c.Rows, k), append(c.Values, w*float64(it.maxPods))
			}
		}
	}
	b.prices = make([]float64, len(b.rows))
}

// weight returns the part of a row of b that one pod of an item type takes.
func (in *packingProblem) weight(itemType int, r row, b *bin) float64 {
	l := &in.itemTypes[itemType]
	switch {
	case r.resource != none:
		return float64(l.need[r.resource]) / float64(b.capacity[r.resource])
	case slices.Contains(l.caps, r.cap):
		return 1 / float64(in.sharedCaps[r.cap].maxPods)
	}
	return 0
}

func (b *bin) weight(i int) []float64 { return b.weights[i*len(b.rows) : (i+1)*len(b.rows)] }

// valueBoundAt returns an upper bound of the value that b can hold, for values of pods by item type and any non-negative prices of
// rows: the sum of the prices, and the positive profits of all items. Proof: the weights in every row add up to at most 1, and
// no item is held more than maxPods times.
func (b *bin) valueBoundAt(values, prices []float64) float64 {
	sum := 0.0
	for _, p := range prices {
		sum += p
	}
	for i, it := range b.items {
		if profit := b.profit(i, values, prices); profit > 0 {
			sum += profit * float64(it.maxPods)
		}
	}
	return sum
}

// profit returns the value of one pod of item i less the price of the rows that it takes.
func (b *bin) profit(i int, values, prices []float64) float64 {
	profit := values[b.items[i].itemType]
	for k, w := range b.weight(i) {
		profit -= prices[k] * w
	}
	return profit
}

// maxUseful returns how many pods of every item a pattern can hold whose value exceeds target: each pod with a negative profit
// lowers the value bound of b by as much. The relaxation of b has to be solved at values.
func (b *bin) maxUseful(values []float64, target float64) []int {
	slack := (b.valueBound - target) * (1 + 1e-6)
	out := make([]int, len(b.items))
	for i, it := range b.items {
		switch loss := -b.profit(i, values, b.prices); {
		case values[it.itemType] <= 0 || slack <= 0:
		case loss*float64(it.maxPods) <= slack:
			out[i] = it.maxPods
		default:
			out[i] = int(slack / loss)
		}
	}
	return out
}

// maxItemTypeValue returns the largest value that pods of a single item type have in b: the scale of the objective.
func (b *bin) maxItemTypeValue(values []float64) float64 {
	largest := 0.0
	for _, it := range b.items {
		largest = max(largest, values[it.itemType]*float64(it.maxPods))
	}
	return largest
}

// knapsackSolver bounds the value that bins can hold. It reuses memory between linear programs.
type knapsackSolver struct {
	in      *packingProblem
	program lp.Program
	basis   []int
	units   []lp.Column
	// solved are the items of the last relaxation; the column of the first one is first.
	solved []item
	first  int
}

// solveRelaxation sets the prices of b's rows to those with the smallest upper bound of the value that b can hold, and
// b.valueBound to that bound. It reports whether any pod has a value there; if so, fractional has the solution.
func (s *knapsackSolver) solveRelaxation(b *bin, values []float64) bool {
	s.first, s.solved = 0, nil
	unit := b.maxItemTypeValue(values)
	if unit <= 0 {
		clear(b.prices)
		b.valueBound = 0
		return false
	}
	p := &s.program
	p.Clear()
	s.basis = s.basis[:0]
	for k := range b.rows {
		p.AddRow(1)
		s.basis = append(s.basis, p.Add(s.unitColumn(k), 0, math.Inf(1)))
	}
	s.first, s.solved = p.Columns(), b.items
	for i, it := range b.items {
		p.Add(b.columns[i], -values[it.itemType]*float64(it.maxPods)/unit, 1)
	}
	p.Start(s.basis)
	p.Solve(20 * (len(b.items) + len(b.rows)))
	for k := range b.prices {
		b.prices[k] = max(-p.Dual(k)*unit, 0)
	}
	b.valueBound = b.valueBoundAt(values, b.prices)
	return true
}

// fractional returns the number of pods by item, in fractions, in the solution of the last relaxation.
func (s *knapsackSolver) fractional() []float64 {
	out := make([]float64, len(s.solved))
	for i, it := range s.solved {
		out[i] = s.program.Value(s.first+i) * float64(it.maxPods)
	}
	return out
}

// unitColumn returns the column with a 1 in row k and nothing else.
func (s *knapsackSolver) unitColumn(k int) lp.Column {
	for n := len(s.units); n <= k; n++ {
		s.units = append(s.units, lp.Column{Rows: []int{n}, Values: []float64{1}})
	}
	return s.units[k]
}
