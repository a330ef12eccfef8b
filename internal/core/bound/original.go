package bound

import "math"

// originalItemType is an item type of a packing problem before aggregation.
type originalItemType struct {
	need []int64
	pods int
	// itemType is the index of the aggregated item type that contains it.
	itemType int
}

// rowPrices are the prices of a bin type's rows, scaled so that they add up to its price.
type rowPrices struct {
	*bin
	prices  []float64
	accepts []bool // by item type
}

// originalBound returns a bound from the item types before aggregation; 0 if nothing was aggregated.
//
// Aggregation counts each pod as the smallest of its item type. Here the value of a pod is the price of its real requests at the row
// prices of the aggregated problem, on the bin type where that is lowest. The value in a full bin then never exceeds the bin's
// price. This ignores that pods are indivisible, which matters little with so many sizes.
func (g *columnGenerator) originalBound() float64 {
	if len(g.in.originalItemTypes) == 0 {
		return 0
	}
	prices := g.rowPrices()
	bound := 0.0
	for i := range g.in.originalItemTypes {
		f := &g.in.originalItemTypes[i]
		value := math.Inf(1)
		for _, t := range prices {
			value = min(value, t.price(g.in, f))
		}
		if !math.IsInf(value, 1) {
			bound += value * float64(f.pods) * (1 - margin)
		}
	}
	largest := make([]int64, len(g.in.itemTypes[0].need))
	for _, f := range g.in.originalItemTypes {
		for r, a := range f.need {
			largest[r] = max(largest[r], a)
		}
	}
	surplus := make([]float64, len(g.in.supplies))
	for _, b := range g.in.bins {
		if b.supply != none && (len(g.in.nodeGroups) == 0 || b.supply < g.in.firstAggregate) {
			surplus[b.supply] = max(surplus[b.supply], valueBoundAtPrices(prices, b, largest)*(1+margin)-b.price)
		}
	}
	for s, count := range g.in.supplies {
		bound -= surplus[s] * float64(count)
	}
	for _, c := range g.in.nodeGroups {
		bound -= valueBoundAtPrices(prices, c.bin, largest) * float64(c.count) * (1 + margin)
	}
	return max(bound, 0)
}

// rowPrices returns the row prices of the bin types of unlimited number, at the best values.
func (g *columnGenerator) rowPrices() []rowPrices {
	var out []rowPrices
	for _, b := range g.in.bins {
		if b.supply != none {
			continue
		}
		g.solveRelaxation(b, g.best.values)
		sum := 0.0
		for _, p := range b.prices {
			sum += p
		}
		t := rowPrices{bin: b, prices: make([]float64, len(b.rows)), accepts: make([]bool, len(g.in.itemTypes))}
		for k, p := range b.prices {
			if sum > 0 {
				t.prices[k] = p / sum * b.price
			}
		}
		for _, it := range b.items {
			t.accepts[it.itemType] = true
		}
		out = append(out, t)
	}
	return out
}

// price returns the price of a pod's requests; infinite if the bin cannot hold the pod.
func (t *rowPrices) price(in *packingProblem, f *originalItemType) float64 {
	if !t.accepts[f.itemType] {
		return math.Inf(1)
	}
	for r, a := range f.need {
		if a > t.capacity[r] {
			return math.Inf(1)
		}
	}
	sum := 0.0
	for k, row := range t.rows {
		w := in.weight(f.itemType, row, t.bin)
		if row.resource != none {
			w = float64(f.need[row.resource]) / float64(t.capacity[row.resource])
		}
		sum += t.prices[k] * w
	}
	return sum
}

// valueBoundAtPrices returns an upper bound of the value that b can hold: the lowest price of its capacity among the bin types
// that can hold every single pod that b can hold. No pod needs more than largest.
func valueBoundAtPrices(prices []rowPrices, b *bin, largest []int64) float64 {
	single := make([]int64, len(largest))
	for r := range single {
		single[r] = min(b.capacity[r], largest[r])
	}
	low := math.Inf(1)
	for _, t := range prices {
		if !covers(t.capacity, single) || !t.acceptsAll(b) {
			continue
		}
		sum := 0.0
		for k, row := range t.rows {
			part := 1.0
			if row.resource != none {
				part = float64(b.capacity[row.resource]) / float64(t.capacity[row.resource])
			}
			sum += t.prices[k] * part
		}
		low = min(low, sum)
	}
	return low
}

// acceptsAll reports whether the bin type accepts every item type that b accepts.
func (t *rowPrices) acceptsAll(b *bin) bool {
	for _, it := range b.items {
		if !t.accepts[it.itemType] {
			return false
		}
	}
	return true
}
