package bound

import "math"

// fineLot is a lot of an instance before lots were lumped together.
type fineLot struct {
	need []int64
	pods int
	// lot is the one that it became part of.
	lot int
}

// tariff is what the rows of a machine cost when a full one costs what the machine does.
type tariff struct {
	*bin
	prices []float64
	takes  []bool // by lot
}

// lifted is a bound from the lots as they were before they were lumped together, 0 if they were not.
//
// Lumping takes each pod for the smallest of its lot. Here a pod is worth what it would pay, by what it really needs, on the
// machine where it pays the least, at the prices of rows that the lumps led to. A full machine then holds no more than it
// costs, whatever it holds. What is lost is that pods are whole, which matters little where there are so many sizes.
func (g *generator) lifted() float64 {
	if len(g.in.fine) == 0 {
		return 0
	}
	tariffs := g.tariffs()
	bound := 0.0
	for i := range g.in.fine {
		f := &g.in.fine[i]
		value := math.Inf(1)
		for _, t := range tariffs {
			value = min(value, t.charge(g.in, f))
		}
		if !math.IsInf(value, 1) {
			bound += value * float64(f.pods) * (1 - margin)
		}
	}
	largest := make([]int64, len(g.in.lots[0].need))
	for _, f := range g.in.fine {
		for r, a := range f.need {
			largest[r] = max(largest[r], a)
		}
	}
	earned := make([]float64, len(g.in.supplies))
	for _, b := range g.in.bins {
		if b.supply != none && (len(g.in.crowd) == 0 || b.supply < g.in.standIns) {
			earned[b.supply] = max(earned[b.supply], worthAt(tariffs, b, largest)*(1+margin)-b.price)
		}
	}
	for s, count := range g.in.supplies {
		bound -= earned[s] * float64(count)
	}
	for _, c := range g.in.crowd {
		bound -= worthAt(tariffs, c.bin, largest) * float64(c.count) * (1 + margin)
	}
	return max(bound, 0)
}

// tariffs are those of the machines that can be had any number of times, at the best values.
func (g *generator) tariffs() []tariff {
	var out []tariff
	for _, b := range g.in.bins {
		if b.supply != none {
			continue
		}
		g.weigh(b, g.best.values)
		sum := 0.0
		for _, p := range b.prices {
			sum += p
		}
		t := tariff{bin: b, prices: make([]float64, len(b.rows)), takes: make([]bool, len(g.in.lots))}
		for k, p := range b.prices {
			if sum > 0 {
				t.prices[k] = p / sum * b.price
			}
		}
		for _, it := range b.items {
			t.takes[it.lot] = true
		}
		out = append(out, t)
	}
	return out
}

// charge is what a pod pays on the machine; nothing bounds it, if the machine cannot hold it.
func (t *tariff) charge(in *instance, f *fineLot) float64 {
	if !t.takes[f.lot] {
		return math.Inf(1)
	}
	for r, a := range f.need {
		if a > t.room[r] {
			return math.Inf(1)
		}
	}
	sum := 0.0
	for k, row := range t.rows {
		w := in.weight(f.lot, row, t.bin)
		if row.resource != none {
			w = float64(f.need[row.resource]) / float64(t.room[row.resource])
		}
		sum += t.prices[k] * w
	}
	return sum
}

// worthAt is an upper bound of what b can hold: what its room costs on the cheapest machine that can hold every single pod
// that b can. No pod needs more than largest.
func worthAt(tariffs []tariff, b *bin, largest []int64) float64 {
	single := make([]int64, len(largest))
	for r := range single {
		single[r] = min(b.room[r], largest[r])
	}
	low := math.Inf(1)
	for _, t := range tariffs {
		if !covers(t.room, single) || !t.holds(b) {
			continue
		}
		sum := 0.0
		for k, row := range t.rows {
			part := 1.0
			if row.resource != none {
				part = float64(b.room[row.resource]) / float64(t.room[row.resource])
			}
			sum += t.prices[k] * part
		}
		low = min(low, sum)
	}
	return low
}

// holds reports whether the machine takes every lot that b takes.
func (t *tariff) holds(b *bin) bool {
	for _, it := range b.items {
		if !t.takes[it.lot] {
			return false
		}
	}
	return true
}
