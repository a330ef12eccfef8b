package bound

import (
	"math"
	"slices"
)

// knapsackTable is the dynamic program of a bin over two of its rows, with amounts counted in steps.
//
// Problem: where a bin holds few pods of many sizes, the fractional relaxation is weak and branching on it does not end.
// Approach: the classic knapsack table over the amounts used of the two most expensive resource rows; every other row is
// priced at its dual price. The step is the greatest common divisor of all amounts, or larger where the table would exceed its
// size limit: needs are rounded down, and so is the capacity, since the sum of rounded needs is at most the rounded sum.
// Invariant: the best value of the table is at least the value of every pattern of the bin. Cost: cells × items.
type knapsackTable struct {
	in   *packingProblem
	bin  *bin
	rows [2]int
	// need[k] is by item and size[k] is the capacity, in steps.
	need [2][]int
	size [2]int
	// profit is the value of an item less the price of the other rows that it takes; fixed is the price of these rows.
	profit []float64
	fixed  float64
	// steps are relative to the capacity; 0 where nothing is rounded.
	steps [2]float64
	items []int
	// maxUseful is the largest useful count of every item.
	maxUseful []int
	// table and last are the best value of each cell and the item that was added last to reach it, -1 for none.
	table []float64
	last  []int16
}

// solveTable lowers the value bound of b to the one that a table of at most limit cells proves, but not below target, and
// returns the counts of a pattern close to it. The relaxation of b has to be solved at values.
func (s *knapsackSolver) solveTable(b *bin, values []float64, target float64, limit int) (held []int) {
	g := knapsackTable{in: s.in, bin: b, maxUseful: b.maxUseful(values, target)}
	g.chooseRows()
	for i, it := range b.items {
		profit := values[it.itemType]
		for k, w := range b.weight(i) {
			if k != g.rows[0] && k != g.rows[1] {
				profit -= w * b.prices[k]
			}
		}
		g.profit = append(g.profit, profit)
		if profit > 0 && g.maxUseful[i] > 0 {
			g.items = append(g.items, i)
		}
	}
	for k, price := range b.prices {
		if k != g.rows[0] && k != g.rows[1] {
			g.fixed += price
		}
	}
	g.chooseSteps(limit)
	if g.tooCoarse(values, target) {
		return nil
	}
	g.compute()
	b.valueBound = min(b.valueBound, max(g.table[len(g.table)-1]+g.fixed, target))
	f := g.traceBack()
	f.fillGreedily(values, b.prices)
	return f.counts
}

// chooseRows selects the two most expensive resource rows.
func (g *knapsackTable) chooseRows() {
	g.rows = [2]int{none, none}
	for k, r := range g.bin.rows {
		if r.resource == none {
			continue
		}
		switch price := g.bin.prices[k]; {
		case g.rows[0] < 0 || price > g.bin.prices[g.rows[0]]:
			g.rows = [2]int{k, g.rows[0]}
		case g.rows[1] < 0 || price > g.bin.prices[g.rows[1]]:
			g.rows[1] = k
		}
	}
}

// chooseSteps sets steps, sizes and needs so that cells × items is at most limit.
func (g *knapsackTable) chooseSteps(limit int) {
	most := int64(max(limit/max(len(g.items), 1), 1))
	var step, capacity [2]int64
	for d, k := range g.rows {
		step[d] = 1
		if k == none {
			continue
		}
		r := g.bin.rows[k].resource
		capacity[d], step[d] = g.bin.capacity[r], 0
		for _, i := range g.items {
			step[d] = gcd(g.in.itemTypes[g.bin.items[i].itemType].need[r], step[d])
		}
		step[d] = max(step[d], 1)
	}
	exact := step
	cells := func(d int) int64 { return capacity[d]/step[d] + 1 }
	for cells(0) > most/cells(1) {
		d := 0
		if cells(1) > cells(0) {
			d = 1
		}
		step[d] = capacity[d]/max(most/cells(1-d), int64(math.Sqrt(float64(most)))) + 1
	}
	for d, k := range g.rows {
		if step[d] > exact[d] {
			g.steps[d] = float64(step[d]) / float64(capacity[d])
		}
		g.need[d] = make([]int, len(g.bin.items))
		g.size[d] = int(capacity[d] / step[d])
		if k == none {
			continue
		}
		for _, i := range g.items {
			g.need[d][i] = int(g.in.itemTypes[g.bin.items[i].itemType].need[g.bin.rows[k].resource] / step[d])
		}
	}
}

// tooCoarse reports whether the expected rounding error, half a step per pod, exceeds the difference between target and the
// value bound of b.
func (g *knapsackTable) tooCoarse(values []float64, target float64) bool {
	maxValue, roundingError := 0.0, 0.0
	for _, i := range g.items {
		maxValue = max(maxValue, values[g.bin.items[i].itemType])
	}
	for d, k := range g.rows {
		if k != none {
			roundingError += g.bin.prices[k] * g.steps[d] / 2
		}
	}
	return maxValue > 0 && roundingError*target/maxValue > g.bin.valueBound-target
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// compute fills the table: table[x·(size[1]+1)+y] is the largest value for x and y steps of the two rows.
func (g *knapsackTable) compute() {
	width := g.size[1] + 1
	g.table = make([]float64, (g.size[0]+1)*width)
	g.last = slices.Repeat([]int16{-1}, len(g.table))
	for _, i := range g.items {
		nx, ny := g.need[0][i], g.need[1][i]
		fits := g.maxUseful[i] + 1
		if nx > 0 {
			fits = g.size[0] / nx
		}
		if ny > 0 {
			fits = min(fits, g.size[1]/ny)
		}
		most := g.maxUseful[i]
		if most >= fits && nx+ny > 0 {
			g.addUnbounded(i, nx, ny, width)
			continue
		}
		// Batches of powers of two add up to every count up to most.
		for times := 1; most > 0; times *= 2 {
			n := min(times, most)
			most -= n
			g.addBatch(i, n, width)
		}
	}
}

// addUnbounded allows any number of pods of item i.
func (g *knapsackTable) addUnbounded(i, nx, ny, width int) {
	profit := g.profit[i]
	for x := nx; x <= g.size[0]; x++ {
		to := g.table[x*width+ny : (x+1)*width]
		from := g.table[(x-nx)*width : (x-nx+1)*width-ny]
		last := g.last[x*width+ny : (x+1)*width]
		for y, value := range from {
			if value += profit; value > to[y] {
				to[y] = value
				last[y] = int16(i) //nolint:gosec // items are few
			}
		}
	}
}

// addBatch allows n pods of item i together, or none.
func (g *knapsackTable) addBatch(i, n, width int) {
	nx, ny, profit := g.need[0][i]*n, g.need[1][i]*n, g.profit[i]*float64(n)
	if nx > g.size[0] || ny > g.size[1] {
		return
	}
	for x := g.size[0]; x >= nx; x-- {
		for y := g.size[1]; y >= ny; y-- {
			at := x*width + y
			if value := g.table[at-nx*width-ny] + profit; value > g.table[at] {
				g.table[at] = value
				g.last[at] = int16(i) //nolint:gosec // items are few
			}
		}
	}
}

// traceBack returns the pattern of the best cell. Rounding and caps may cut it short.
func (g *knapsackTable) traceBack() *pattern {
	width := g.size[1] + 1
	f := newPattern(g.in, g.bin)
	for x, y := g.size[0], g.size[1]; ; {
		i := int(g.last[x*width+y])
		if i < 0 || f.maxFit(i) == 0 || g.need[0][i]+g.need[1][i] == 0 {
			return f
		}
		f.add(i, 1)
		x, y = x-g.need[0][i], y-g.need[1][i]
	}
}
