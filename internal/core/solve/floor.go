package solve

import "math"

// floor is a proven least burden of running the pods of cl on several machines whose claims start from base.
//
// Whatever the packing, its machines together have room for what the pods ask for, so it costs at least, for every single
// resource, the amount asked for at the lowest price per unit among the columns that the claim may become. Prices of a
// state are never below those of the state it follows from. One machine in place of one is never cheaper, unless limits
// of the pool kept the claim from the cheapest one.
func (cl *claim) floor(base stateID, whole float64) float64 {
	least := 0.0
	for r, rate := range cl.t.unitPrices(cl.state, base) {
		if amount := cl.total.At(r); amount > 0 {
			least = max(least, float64(amount)*rate)
		}
	}
	if cl.t.limits.unlimited() {
		least += surcharge(2, whole)
	}
	// Sums of prices are rounded; the floor must not be.
	const tolerance = 1e-9
	return least * (1 - tolerance)
}

// unitPrices is, by resource, the lowest price in base of one unit of room, among the columns of state.
func (t *template) unitPrices(state, base stateID) []float64 {
	key := [2]stateID{state, base}
	if known, ok := t.rates[key]; ok {
		return known
	}
	var out []float64
	prices := t.prices(t.states[base])
	for column := range t.states[state].mask.all() {
		for r, amount := range t.room[column] {
			for len(out) <= r {
				out = append(out, math.Inf(1))
			}
			if amount > 0 {
				out[r] = min(out[r], prices[column]/float64(amount))
			}
		}
	}
	if t.rates == nil {
		t.rates = map[[2]stateID][]float64{}
	}
	t.rates[key] = out
	return out
}

// quota is the burden that a packing has to stay below to be of use.
type quota struct {
	// whole is the price of the claim in one piece, and lowest the burden of the best packing so far.
	whole, lowest float64
}

// exceeded reports whether a packing into n machines or more, of which some cost sum together, is of no use.
func (q quota) exceeded(sum float64, n int) bool { return sum+surcharge(n, q.whole) >= q.lowest }
