package solve

import "math"

// floor is a proven least burden of running the pods of cl on several machines whose claims start from base, each of them
// cheaper than whole.
//
// Whatever the packing, its machines together have room for what the pods ask for, so it costs at least, for every single
// resource, the amount asked for at the lowest price per unit among the columns in question. Prices of a state are never
// below those of the state it follows from. One machine in place of one is never cheaper, unless limits of the pool kept
// the claim from the cheapest one.
func (cl *claim) floor(base stateID, whole float64) float64 {
	t := cl.t
	root, mask := t.states[t.root], t.states[cl.state].mask
	at, from := t.prices(root), t.prices(t.states[base])
	least := 0.0
	for r, amount := range cl.total {
		if amount <= 0 {
			continue
		}
		rate := math.Inf(1)
		for _, column := range t.byPrice(root) {
			if at[column] >= whole {
				break
			}
			if room := t.room[column].At(r); room > 0 && mask.has(column) {
				rate = min(rate, from[column]/float64(room))
			}
		}
		least = max(least, float64(amount)*rate)
	}
	if t.limits.unlimited() {
		least += surcharge(2, whole)
	}
	// Sums of prices are rounded; the floor must not be.
	const tolerance = 1e-9
	return least * (1 - tolerance)
}

// quota is the burden that a packing has to stay below to be of use.
type quota struct {
	// whole is the price of the claim in one piece, and lowest the burden of the best packing so far.
	whole, lowest float64
}

// exceeded reports whether a packing into n machines or more, of which some cost sum together, is of no use.
func (q quota) exceeded(sum float64, n int) bool { return sum+surcharge(n, q.whole) >= q.lowest }
