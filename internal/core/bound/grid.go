package bound

import (
	"math"
	"slices"
)

// grid is a bin of which only two rows are looked at, with amounts in steps.
//
// Problem: where a bin holds few pods of many sizes, fractional solutions promise too much and branching on them goes on for
// ever. Approach: the classic table over what is used of the two rows that cost the most; all other rows are paid for at
// their prices. Amounts are counted in the greatest step that divides all of them, or a greater one where the table would
// get too big: needs are rounded down, and so is the room, since the sum of rounded needs is at most the rounded sum.
// Invariant: the table's best is at least the worth of every way to fill the bin. Cost: cells × items.
type grid struct {
	in   *instance
	bin  *bin
	rows [2]int
	// need[k] is by item, size[k] is the room, in steps.
	need [2][]int
	size [2]int
	// profit is what an item is worth beyond what it pays for the other rows.
	profit []float64
	fixed  float64
	// steps are parts of the room; 0 where nothing is rounded.
	steps [2]float64
	items []int
	// most is how many of every item are worth a look.
	most  []int
	table []float64
	last  []int16
}

// tabulate lowers the worth of b, which was weighed at values, to what a table of at most limit entries
// proves, but not below target, and returns
// a filling that comes close.
func (s *scales) tabulate(b *bin, values []float64, target float64, limit int) (held []int) {
	g := grid{in: s.in, bin: b, most: b.useful(values, target)}
	g.pick()
	for i, it := range b.items {
		profit := values[it.lot]
		for k, w := range b.weight(i) {
			if k != g.rows[0] && k != g.rows[1] {
				profit -= w * b.prices[k]
			}
		}
		g.profit = append(g.profit, profit)
		if profit > 0 && g.most[i] > 0 {
			g.items = append(g.items, i)
		}
	}
	for k, price := range b.prices {
		if k != g.rows[0] && k != g.rows[1] {
			g.fixed += price
		}
	}
	g.lay(limit)
	if g.coarse(values, target) {
		return nil
	}
	g.fill()
	b.worth = min(b.worth, max(g.table[len(g.table)-1]+g.fixed, target))
	f := g.trace()
	f.complete(values, b.prices)
	return f.held
}

// pick chooses the two resources that cost the most.
func (g *grid) pick() {
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

// lay chooses the steps so that cells × items is at most limit.
func (g *grid) lay(limit int) {
	most := int64(max(limit/max(len(g.items), 1), 1))
	var step, room [2]int64
	for d, k := range g.rows {
		step[d] = 1
		if k == none {
			continue
		}
		r := g.bin.rows[k].resource
		room[d], step[d] = g.bin.room[r], 0
		for _, i := range g.items {
			step[d] = gcd(g.in.lots[g.bin.items[i].lot].need[r], step[d])
		}
		step[d] = max(step[d], 1)
	}
	exact := step
	cells := func(d int) int64 { return room[d]/step[d] + 1 }
	for cells(0) > most/cells(1) {
		d := 0
		if cells(1) > cells(0) {
			d = 1
		}
		step[d] = room[d]/max(most/cells(1-d), int64(math.Sqrt(float64(most)))) + 1
	}
	for d, k := range g.rows {
		if step[d] > exact[d] {
			g.steps[d] = float64(step[d]) / float64(room[d])
		}
		g.need[d] = make([]int, len(g.bin.items))
		g.size[d] = int(room[d] / step[d])
		if k == none {
			continue
		}
		for _, i := range g.items {
			g.need[d][i] = int(g.in.lots[g.bin.items[i].lot].need[g.bin.rows[k].resource] / step[d])
		}
	}
}

// coarse reports whether rounding alone hides the difference between target and what b may be worth: every pod may come
// cheaper by half a step.
func (g *grid) coarse(values []float64, target float64) bool {
	dearest, hidden := 0.0, 0.0
	for _, i := range g.items {
		dearest = max(dearest, values[g.bin.items[i].lot])
	}
	for d, k := range g.rows {
		if k != none {
			hidden += g.bin.prices[k] * g.steps[d] / 2
		}
	}
	return dearest > 0 && hidden*target/dearest > g.bin.worth-target
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// fill works the table out. table[x·(size1+1)+y] is the most that x and y steps of room can be worth.
func (g *grid) fill() {
	width := g.size[1] + 1
	g.table = make([]float64, (g.size[0]+1)*width)
	g.last = slices.Repeat([]int16{-1}, len(g.table))
	for _, i := range g.items {
		nx, ny := g.need[0][i], g.need[1][i]
		fits := g.most[i] + 1
		if nx > 0 {
			fits = g.size[0] / nx
		}
		if ny > 0 {
			fits = min(fits, g.size[1]/ny)
		}
		most := g.most[i]
		if most >= fits && nx+ny > 0 {
			g.unbounded(i, nx, ny, width)
			continue
		}
		// So many at a time that every number up to most is a sum of them.
		for times := 1; most > 0; times *= 2 {
			n := min(times, most)
			most -= n
			g.once(i, n, width)
		}
	}
}

func (g *grid) unbounded(i, nx, ny, width int) {
	profit := g.profit[i]
	for x := nx; x <= g.size[0]; x++ {
		to := g.table[x*width+ny : (x+1)*width]
		from := g.table[(x-nx)*width : (x-nx+1)*width-ny]
		last := g.last[x*width+ny : (x+1)*width]
		for y, worth := range from {
			if worth += profit; worth > to[y] {
				to[y] = worth
				last[y] = int16(i) //nolint:gosec // items are few
			}
		}
	}
}

// once lets n of item i be held together, or none.
func (g *grid) once(i, n, width int) {
	nx, ny, profit := g.need[0][i]*n, g.need[1][i]*n, g.profit[i]*float64(n)
	if nx > g.size[0] || ny > g.size[1] {
		return
	}
	for x := g.size[0]; x >= nx; x-- {
		for y := g.size[1]; y >= ny; y-- {
			at := x*width + y
			if worth := g.table[at-nx*width-ny] + profit; worth > g.table[at] {
				g.table[at] = worth
				g.last[at] = int16(i) //nolint:gosec // items are few
			}
		}
	}
}

// trace follows the table back to a filling. Rounding and caps may keep some of it out.
func (g *grid) trace() *filling {
	width := g.size[1] + 1
	f := newFilling(g.in, g.bin)
	for x, y := g.size[0], g.size[1]; ; {
		i := int(g.last[x*width+y])
		if i < 0 || f.fitting(i) == 0 || g.need[0][i]+g.need[1][i] == 0 {
			return f
		}
		f.take(i, 1)
		x, y = x-g.need[0][i], y-g.need[1][i]
	}
}
