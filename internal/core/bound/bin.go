package bound

import (
	"math"
	"slices"
)

// bin is a machine that can be bought, or nodes that are there, with what it can hold.
type bin struct {
	// price is in dollars an hour; 0 for nodes.
	price float64
	// supply is what bounds the number of such bins; none for machines that can be had any number of times.
	supply int
	room   []int64
	items  []item

	// rows are the constraints that can bind: resources as parts of the room, then caps as parts of what they allow.
	rows []row
	// weights are the items' entries in the rows, item by item; columns are the same for the program, whose variables are
	// the parts of most that are held.
	weights []float64
	columns []column
	// prices of rows, from the last time the bin was weighed: a good guess for the next.
	prices []float64
	// worth is an upper bound of what the bin can hold at the values it was last looked at with.
	worth float64
}

// none stands for an index that is not there.
const none = -1

// item is a lot that a bin can hold most pods of.
type item struct {
	lot, most int
}

// row is a resource or a cap; the other one is none.
type row struct {
	resource, cap int
}

// prepare lays out the rows of b.
func (b *bin) prepare(in *instance) {
	for r := range b.room {
		sum := 0.0
		for _, it := range b.items {
			sum += float64(in.lots[it.lot].need[r]) * float64(it.most)
		}
		if sum > float64(b.room[r])*(1-1e-12) {
			b.rows = append(b.rows, row{r, none})
		}
	}
	for c, capped := range in.caps {
		n, members := 0, 0
		for _, it := range b.items {
			if slices.Contains(in.lots[it.lot].caps, c) {
				n += it.most
				members++
			}
		}
		if members > 1 && n > capped.most {
			b.rows = append(b.rows, row{none, c})
		}
	}
	b.weights = make([]float64, len(b.rows)*len(b.items))
	b.columns = make([]column, len(b.items))
	for i, it := range b.items {
		c := &b.columns[i]
		for k, r := range b.rows {
			w := in.weight(it.lot, r, b)
			b.weights[i*len(b.rows)+k] = w
			if w > 0 {
				c.rows, c.values = append(c.rows, k), append(c.values, w*float64(it.most))
			}
		}
	}
	b.prices = make([]float64, len(b.rows))
}

// weight is the part of a row of b that one pod of a lot takes.
func (in *instance) weight(lot int, r row, b *bin) float64 {
	l := &in.lots[lot]
	switch {
	case r.resource != none:
		return float64(l.need[r.resource]) / float64(b.room[r.resource])
	case slices.Contains(l.caps, r.cap):
		return 1 / float64(in.caps[r.cap].most)
	}
	return 0
}

func (b *bin) weight(i int) []float64 { return b.weights[i*len(b.rows) : (i+1)*len(b.rows)] }

// most is an upper bound of what b can hold when a pod of lot i is worth values[i], for any prices of rows that are not
// negative: what the room costs at these prices, and what items are worth beyond what they would pay for it. The proof is
// adding up: every row holds at most 1, and no item is held more than most times.
func (b *bin) most(values, prices []float64) float64 {
	sum := 0.0
	for _, p := range prices {
		sum += p
	}
	for i, it := range b.items {
		if profit := b.profit(i, values, prices); profit > 0 {
			sum += profit * float64(it.most)
		}
	}
	return sum
}

// profit is what item i is worth beyond what it pays for the rows.
func (b *bin) profit(i int, values, prices []float64) float64 {
	profit := values[b.items[i].lot]
	for k, w := range b.weight(i) {
		profit -= prices[k] * w
	}
	return profit
}

// useful is how many of every item a filling can hold that is worth more than target: each one that pays more for the rows
// than it is worth eats into what b could be worth beyond that. b has to be weighed at values.
func (b *bin) useful(values []float64, target float64) []int {
	slack := (b.worth - target) * (1 + 1e-6)
	out := make([]int, len(b.items))
	for i, it := range b.items {
		switch loss := -b.profit(i, values, b.prices); {
		case values[it.lot] <= 0 || slack <= 0:
		case loss*float64(it.most) <= slack:
			out[i] = it.most
		default:
			out[i] = int(slack / loss)
		}
	}
	return out
}

// unit is the most that one lot is worth in b: the scale of what b can hold.
func (b *bin) unit(values []float64) float64 {
	most := 0.0
	for _, it := range b.items {
		most = max(most, values[it.lot]*float64(it.most))
	}
	return most
}

// scales weigh bins. They hold memory between one program and the next.
type scales struct {
	in      *instance
	program program
	basis   []int
	units   []column
	load    []float64
}

// weigh sets the prices of b's rows to those at which the upper bound of its worth is the least, and returns the fractional
// load that is worth as much, by item; nil when nothing is worth anything. The load is valid until the next call.
func (s *scales) weigh(b *bin, values []float64) (load []float64) {
	unit := b.unit(values)
	if unit <= 0 {
		clear(b.prices)
		b.worth = 0
		return nil
	}
	p := &s.program
	p.clear()
	s.basis = s.basis[:0]
	for k := range b.rows {
		p.right = append(p.right, 1)
		s.basis = append(s.basis, p.add(s.unitColumn(k), 0, math.Inf(1)))
	}
	first := len(p.columns)
	for i, it := range b.items {
		p.add(b.columns[i], -values[it.lot]*float64(it.most)/unit, 1)
	}
	p.start(s.basis)
	p.solve(20 * (len(b.items) + len(b.rows)))
	for k := range b.prices {
		b.prices[k] = max(-p.duals[k]*unit, 0)
	}
	s.load = resize(s.load, len(b.items))
	for i, it := range b.items {
		s.load[i] = p.value(first+i) * float64(it.most)
	}
	b.worth = b.most(values, b.prices)
	return s.load
}

// unitColumn is the column that has 1 in row k.
func (s *scales) unitColumn(k int) column {
	for n := len(s.units); n <= k; n++ {
		s.units = append(s.units, column{[]int{n}, []float64{1}})
	}
	return s.units[k]
}
