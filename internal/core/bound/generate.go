package bound

import (
	"cmp"
	"math"
	"slices"
)

// effort bounds the work in steps that are the same on every computer.
type effort struct {
	// weigh is how many items are weighed; a round counts for roundCost of them.
	weigh int
	// pivots of the master program in each round.
	pivots int
	// branches of one search, cells of one table.
	branches, cells int
	// examine is how often they are spent.
	examine int
	// violates is by which part of its price a filling must be worth more than that, and close the part of the master's value
	// at which looking for more is not worth it.
	violates, close float64
}

// effortFor is the effort for one of a number of parts of a market. Lots that were lumped together are not worth a close look
// at whole pods.
func effortFor(in *instance, parts int) effort {
	e := effort{weigh: 10_000_000, pivots: 5000, branches: 60, cells: 3_000_000, examine: 20 + 400/parts, violates: 1e-4, close: 1e-3}
	switch {
	case len(in.fine) > 0:
		e.weigh, e.branches, e.examine = 1_000_000, 5, 0
	case len(in.lots) <= fewLots:
		e.violates, e.close = 1e-8, 1e-8
	}
	return e
}

// generator looks for what each pod is worth.
//
// Problem: values of pods, the higher the better, at which no machine can hold more than it costs. Approach: the master
// program buys fillings of machines, as few dollars of them as possible, so that every pod is held; its duals are values.
// Fillings that are worth more than they cost at these values join it, until there are none. Where that cannot be told, a
// fractional load stands for the filling, and the values are a little lower. Invariant: whatever the values, judge finds
// a bound that they prove. Cost: rounds × bins small programs.
type generator struct {
	*scales
	effort effort
	master program
	// columns of the master that stand for supplies follow those of the lots.
	first int
	// best are the values with the highest bound so far.
	best offer
}

func newGenerator(in *instance, e effort) *generator {
	g := &generator{scales: &scales{in: in}, effort: e}
	for _, b := range in.bins {
		b.prepare(in)
	}
	g.open()
	return g
}

// open lays out the master: a row for every lot, which is to be held, and one for every supply. It begins with machines that
// hold pods of one lot each.
func (g *generator) open() {
	m := &g.master
	var basis []int
	for n, l := range g.in.lots {
		m.right = append(m.right, float64(l.pods))
		price, pods := g.alone(n)
		basis = append(basis, m.add(column{[]int{n}, []float64{float64(pods)}}, price, math.Inf(1)))
		m.add(column{[]int{n}, []float64{-1}}, 0, math.Inf(1))
	}
	g.first = len(g.in.lots)
	for s, count := range g.in.supplies {
		m.right = append(m.right, float64(count))
		basis = append(basis, m.add(g.unitColumn(g.first+s), 0, math.Inf(1)))
	}
	m.start(basis)
}

// alone is the cheapest way to hold pods of one lot: a price, and how many pods it is for. A lot that only bins of a supply
// can hold gets a machine so dear that it will not be bought.
func (g *generator) alone(n int) (price float64, pods int) {
	rate, dear := math.Inf(1), 0.0
	for _, b := range g.in.bins {
		dear = max(dear, b.price)
		i, ok := slices.BinarySearchFunc(b.items, n, func(it item, n int) int { return it.lot - n })
		if !ok || b.supply != none {
			continue
		}
		if r := b.price / float64(b.items[i].most); r < rate {
			rate, price, pods = r, b.price, b.items[i].most
		}
	}
	if pods == 0 {
		return 10*dear + 1, 1
	}
	return price, pods
}

const (
	// smoothing is how much of the best values so far is mixed into the master's: in between, fillings cut deeper than at
	// the master's values, which jump.
	smoothing = 0.5
	// fewLots is how many lots an exact answer is expected for.
	fewLots = 12
	// roundCost bounds the number of rounds.
	roundCost = 1000
	// cuts is how many fillings join the master in one round.
	cuts = 60
	// atOnce is how many bins are examined before the master is asked again, hard how many times harder that is tried when
	// nothing was found.
	atOnce, hard = 20, 10
)

// run looks for values until no filling violates them, or the effort is spent.
func (g *generator) run() {
	values, master := make([]float64, len(g.in.lots)), make([]float64, len(g.in.lots))
	g.best = g.fluid()
	mix := smoothing
	for g.effort.weigh > 0 {
		g.effort.weigh -= g.master.rows + roundCost
		g.master.solve(g.effort.pivots)
		if len(g.master.columns) > 10*g.master.rows+500 {
			g.master.shed(5*g.master.rows + 250)
		}
		total := 0.0
		for n, l := range g.in.lots {
			master[n] = max(g.master.duals[n], 0)
			total += master[n] * float64(l.pods)
			values[n] = master[n] + mix*(g.best.values[n]-master[n])
		}
		for s, count := range g.in.supplies {
			total -= g.rent(s) * float64(count)
		}
		cut := g.probe(values, master)
		done := mix == 0 && cut == 0
		if done {
			cut = g.dig(values, master)
			done = cut == 0
		}
		if o := g.judge(values); o.bound > g.best.bound {
			g.best = o
		}
		if done || g.best.bound >= total*(1-g.effort.close) {
			return
		}
		mix = mixAfter(mix, cut)
	}
}

// mixAfter is how much of the best values goes into the next round: less when nothing was found with them, none when that
// happens again and again.
func mixAfter(mix float64, cut int) float64 {
	switch {
	case cut > 0:
		return min(smoothing, mix+smoothing/5)
	case mix > smoothing/10:
		return mix / 2
	}
	return 0
}

// rent is what the master would pay for one more of a supply.
func (g *generator) rent(supply int) float64 { return max(-g.master.duals[g.first+supply], 0) }

// limit is what a filling of b must be worth to violate the master.
func (g *generator) limit(b *bin) float64 {
	limit := b.price
	if b.supply != none {
		limit += g.rent(b.supply)
	}
	return limit * (1 + g.effort.violates)
}

// probe works out what every bin can be worth at values, lets the fillings that violate the master the most join it, and
// returns how many.
func (g *generator) probe(values, master []float64) (cut int) {
	type candidate struct {
		bin  *bin
		load []float64
		rate float64
	}
	var found []candidate
	for _, b := range g.in.bins {
		limit := g.limit(b)
		if b.supply == none {
			if b.worth = b.most(values, b.prices); b.worth <= limit {
				continue
			}
		}
		g.effort.weigh -= len(b.items)
		load := g.weigh(b, values)
		if b.worth > limit && load != nil {
			found = append(found, candidate{b, slices.Clone(load), b.worth / limit})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(b.rate, a.rate) })
	for _, c := range found {
		if g.buy(c.bin, g.rounded(c.bin, values, c.load, c.bin.prices).held, master) {
			if cut++; cut == cuts {
				break
			}
		}
	}
	return cut
}

// dig looks harder at the bins that may be worth more than they cost, the worst first, and harder still if that finds
// nothing.
func (g *generator) dig(values, master []float64) (cut int) {
	var doubtful []*bin
	for _, b := range g.in.bins {
		if b.worth > g.limit(b) {
			doubtful = append(doubtful, b)
		}
	}
	slices.SortStableFunc(doubtful, func(a, b *bin) int { return cmp.Compare(b.worth/g.limit(b), a.worth/g.limit(a)) })
	for some := range slices.Chunk(doubtful, atOnce) {
		for _, step := range []func(*bin) bool{
			func(b *bin) bool { return g.examine(b, values, master, 1) },
			func(b *bin) bool { return cut == 0 && g.examine(b, values, master, hard) },
			func(b *bin) bool { return g.relaxed(b, values, master) },
		} {
			for _, b := range some {
				if b.worth > g.limit(b) && step(b) {
					cut++
				}
			}
			if cut > 0 {
				return cut
			}
		}
	}
	return 0
}

// examine looks for a filling of b that violates the master.
func (g *generator) examine(b *bin, values, master []float64, times int) bool {
	if g.effort.examine < times {
		return false
	}
	g.effort.examine -= times
	limit, worth := g.limit(b), b.worth
	g.weigh(b, values)
	held, _ := g.explore(b, values, limit, times*g.effort.branches)
	if g.buy(b, held, master) {
		return true
	}
	if worth = min(worth, b.worth); worth > limit {
		g.weigh(b, values)
		held = g.tabulate(b, values, limit, times*g.effort.cells)
	}
	b.worth = min(b.worth, worth)
	return g.buy(b, held, master)
}

// relaxed lets a fractional load of b join the master where it cannot be told whether some filling violates it.
func (g *generator) relaxed(b *bin, values, master []float64) bool {
	worth := b.worth
	g.weigh(b, values)
	_, load := g.explore(b, values, g.limit(b), g.effort.branches)
	b.worth = min(b.worth, worth)
	return load != nil && g.join(b, load, master)
}

// buy lets a filling of b join the master if it violates that.
func (g *generator) buy(b *bin, held []int, master []float64) bool {
	load := make([]float64, len(held))
	for i, n := range held {
		load[i] = float64(n)
	}
	return g.join(b, load, master)
}

func (g *generator) join(b *bin, load, master []float64) bool {
	var c column
	worth := 0.0
	for i, n := range load {
		if n > 0 {
			lot := b.items[i].lot
			c.rows, c.values = append(c.rows, lot), append(c.values, n)
			worth += master[lot] * n
		}
	}
	if worth <= g.limit(b) {
		return false
	}
	if b.supply != none {
		c.rows, c.values = append(c.rows, g.first+b.supply), append(c.values, 1)
	}
	g.master.add(c, b.price, math.Inf(1))
	return true
}
