package bound

import (
	"cmp"
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/lp"
)

// effort limits the work in steps that are the same on every computer.
type effort struct {
	// items is the number of items in all relaxations; a round counts as roundItems of them.
	items int
	// pivots is the number of pivots of the master program in each round.
	pivots int
	// branches limit one search, cells one table.
	branches, cells int
	// searches is the number of bins that are searched or tabulated.
	searches int
	// minViolation is how far the value of a pattern must exceed the price, relative to it, to be added; gap is the relative
	// distance to the master's value at which the search ends.
	minViolation, gap float64
}

// effortFor returns the effort for one of a number of components of a market. Aggregated item types are not searched for integer
// patterns, as their requests are rounded anyway.
func effortFor(in *packingProblem, components int) effort {
	e := effort{items: 10_000_000, pivots: 5000, branches: 60, cells: 3_000_000, searches: 20 + 400/components, minViolation: 1e-4, gap: 1e-3}
	switch {
	case len(in.originalItemTypes) > 0:
		e.items, e.branches, e.searches = 1_000_000, 5, 0
	case len(in.itemTypes) <= fewItemTypes:
		e.minViolation, e.gap = 1e-8, 1e-8
	}
	return e
}

// columnGenerator searches for the dual solution with the highest bound.
//
// Problem: maximize the values of pods such that no bin can hold a value above its price. Approach: column generation. The
// master program buys patterns at minimum cost so that every pod is held; its duals are the values. Patterns with a value above
// their price (negative reduced cost) are added until there are none. Where the searches cannot decide that, the fractional
// solution is added in place of a pattern, which lowers the values a little. Invariant: dualBoundAt is valid for any values.
// Cost: rounds × bins small linear programs.
type columnGenerator struct {
	*knapsackSolver
	effort effort
	master lp.Program
	// firstSupplyRow is the row of the first supply in the master, after those of the item types.
	firstSupplyRow int
	// best is the dual solution with the highest bound so far.
	best dualBound
}

func newColumnGenerator(in *packingProblem, e effort) *columnGenerator {
	g := &columnGenerator{knapsackSolver: &knapsackSolver{in: in}, effort: e}
	for _, b := range in.bins {
		b.buildRows(in)
	}
	g.initMaster()
	return g
}

// initMaster sets up the master: a row for every item type and one for every supply. The initial columns hold pods of one item type each.
func (g *columnGenerator) initMaster() {
	m := &g.master
	var basis []int
	for n, l := range g.in.itemTypes {
		m.AddRow(float64(l.pods))
		price, pods := g.cheapestSingleItemType(n)
		basis = append(basis, m.Add(lp.Column{Rows: []int{n}, Values: []float64{float64(pods)}}, price, math.Inf(1)))
		m.Add(lp.Column{Rows: []int{n}, Values: []float64{-1}}, 0, math.Inf(1))
	}
	g.firstSupplyRow = len(g.in.itemTypes)
	for s, count := range g.in.supplies {
		m.AddRow(float64(count))
		basis = append(basis, m.Add(g.unitColumn(g.firstSupplyRow+s), 0, math.Inf(1)))
	}
	m.Start(basis)
}

// cheapestSingleItemType returns the bin with the lowest price per pod of one item type: its price, and how many pods it holds. An item type that
// only bins limited by a supply can hold gets an artificial price that is too high for the final solution.
func (g *columnGenerator) cheapestSingleItemType(n int) (price float64, pods int) {
	rate, highest := math.Inf(1), 0.0
	for _, b := range g.in.bins {
		highest = max(highest, b.price)
		i, ok := slices.BinarySearchFunc(b.items, n, func(it item, n int) int { return it.itemType - n })
		if !ok || b.supply != none {
			continue
		}
		if r := b.price / float64(b.items[i].maxPods); r < rate {
			rate, price, pods = r, b.price, b.items[i].maxPods
		}
	}
	if pods == 0 {
		return 10*highest + 1, 1
	}
	return price, pods
}

const (
	// smoothing is the initial weight of the best values so far in the values that are priced (dual smoothing): the master's
	// values oscillate, and patterns found in between cut off more.
	smoothing = 0.5
	// fewItemTypes is the number of item types up to which the bound should be exact.
	fewItemTypes = 12
	// roundItems limits the number of rounds.
	roundItems = 1000
	// maxPatternsPerRound is the number of patterns that are added to the master in one round.
	maxPatternsPerRound = 60
	// searchBatch is the number of bins that are searched before the master is solved again; retryFactor multiplies the effort
	// if nothing was found.
	searchBatch, retryFactor = 20, 10
)

// run improves the dual solution until no pattern violates it or the effort is spent.
func (g *columnGenerator) run() {
	values, master := make([]float64, len(g.in.itemTypes)), make([]float64, len(g.in.itemTypes))
	g.best = g.initialDuals()
	mix := smoothing
	for g.effort.items > 0 {
		g.effort.items -= g.master.Rows() + roundItems
		g.master.Solve(g.effort.pivots)
		if g.master.Columns() > 10*g.master.Rows()+500 {
			g.master.Prune(5*g.master.Rows() + 250)
		}
		total := 0.0
		for n, l := range g.in.itemTypes {
			master[n] = max(g.master.Dual(n), 0)
			total += master[n] * float64(l.pods)
			values[n] = master[n] + mix*(g.best.values[n]-master[n])
		}
		for s, count := range g.in.supplies {
			total -= g.supplyPrice(s) * float64(count)
		}
		added := g.priceRelaxed(values, master)
		done := mix == 0 && added == 0
		if done {
			added = g.priceExact(values, master)
			done = added == 0
		}
		if o := g.dualBoundAt(values); o.bound > g.best.bound {
			g.best = o
		}
		if done || g.best.bound >= total*(1-g.effort.gap) {
			return
		}
		mix = nextSmoothing(mix, added)
	}
}

// nextSmoothing returns the weight of the best values in the next round: smaller after a round that added no pattern, and zero
// after several.
func nextSmoothing(mix float64, added int) float64 {
	switch {
	case added > 0:
		return min(smoothing, mix+smoothing/5)
	case mix > smoothing/10:
		return mix / 2
	}
	return 0
}

// supplyPrice returns the dual price of a supply.
func (g *columnGenerator) supplyPrice(supply int) float64 {
	return max(-g.master.Dual(g.firstSupplyRow+supply), 0)
}

// threshold returns the value above which a pattern of b violates the master.
func (g *columnGenerator) threshold(b *bin) float64 {
	limit := b.price
	if b.supply != none {
		limit += g.supplyPrice(b.supply)
	}
	return limit * (1 + g.effort.minViolation)
}

// priceRelaxed bounds the value of every bin by its relaxation at values, adds the rounded patterns of the bins that violate
// the master the most, and returns how many it added.
func (g *columnGenerator) priceRelaxed(values, master []float64) (added int) {
	type candidate struct {
		bin  *bin
		load []float64
		rate float64
	}
	var found []candidate
	for _, b := range g.in.bins {
		limit := g.threshold(b)
		if b.supply == none {
			if b.valueBound = b.valueBoundAt(values, b.prices); b.valueBound <= limit {
				continue
			}
		}
		g.effort.items -= len(b.items)
		if g.solveRelaxation(b, values) && b.valueBound > limit {
			found = append(found, candidate{b, g.fractional(), b.valueBound / limit})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(b.rate, a.rate) })
	for _, c := range found {
		if g.addPattern(c.bin, g.roundedPattern(c.bin, values, c.load, c.bin.prices).counts, master) {
			if added++; added == maxPatternsPerRound {
				break
			}
		}
	}
	return added
}

// priceExact searches the bins whose value bound exceeds the threshold for integer patterns, those with the largest violation
// first, with more effort if that finds nothing, and adds fractional solutions as a last resort. It returns how many columns it
// added.
func (g *columnGenerator) priceExact(values, master []float64) (added int) {
	var violated []*bin
	for _, b := range g.in.bins {
		if b.valueBound > g.threshold(b) {
			violated = append(violated, b)
		}
	}
	slices.SortStableFunc(violated, func(a, b *bin) int { return cmp.Compare(b.valueBound/g.threshold(b), a.valueBound/g.threshold(a)) })
	for batch := range slices.Chunk(violated, searchBatch) {
		for _, step := range []func(*bin) bool{
			func(b *bin) bool { return g.searchBin(b, values, master, 1) },
			func(b *bin) bool { return added == 0 && g.searchBin(b, values, master, retryFactor) },
			func(b *bin) bool { return g.addFractional(b, values, master) },
		} {
			for _, b := range batch {
				if b.valueBound > g.threshold(b) && step(b) {
					added++
				}
			}
			if added > 0 {
				return added
			}
		}
	}
	return 0
}

// searchBin searches for a pattern of b that violates the master, and adds it.
func (g *columnGenerator) searchBin(b *bin, values, master []float64, times int) bool {
	if g.effort.searches < times {
		return false
	}
	g.effort.searches -= times
	limit, bound := g.threshold(b), b.valueBound
	g.solveRelaxation(b, values)
	counts, _ := g.searchPattern(b, values, limit, times*g.effort.branches)
	if g.addPattern(b, counts, master) {
		return true
	}
	if bound = min(bound, b.valueBound); bound > limit {
		g.solveRelaxation(b, values)
		counts = g.solveTable(b, values, limit, times*g.effort.cells)
	}
	b.valueBound = min(b.valueBound, bound)
	return g.addPattern(b, counts, master)
}

// addFractional adds a fractional solution of b to the master if the search cannot decide whether a pattern violates it.
func (g *columnGenerator) addFractional(b *bin, values, master []float64) bool {
	bound := b.valueBound
	g.solveRelaxation(b, values)
	_, load := g.searchPattern(b, values, g.threshold(b), g.effort.branches)
	b.valueBound = min(b.valueBound, bound)
	return load != nil && g.addColumn(b, load, master)
}

// addPattern adds a pattern of b to the master if it violates the master, and reports whether it does.
func (g *columnGenerator) addPattern(b *bin, counts []int, master []float64) bool {
	load := make([]float64, len(counts))
	for i, n := range counts {
		load[i] = float64(n)
	}
	return g.addColumn(b, load, master)
}

// addColumn adds a load of b, by item, to the master if it violates the master, and reports whether it does.
func (g *columnGenerator) addColumn(b *bin, load, master []float64) bool {
	var c lp.Column
	value := 0.0
	for i, n := range load {
		if n > 0 {
			itemType := b.items[i].itemType
			c.Rows, c.Values = append(c.Rows, itemType), append(c.Values, n)
			value += master[itemType] * n
		}
	}
	if value <= g.threshold(b) {
		return false
	}
	if b.supply != none {
		c.Rows, c.Values = append(c.Rows, g.firstSupplyRow+b.supply), append(c.Values, 1)
	}
	g.master.Add(c, b.price, math.Inf(1))
	return true
}
