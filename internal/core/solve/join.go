package solve

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/lp"
)

// joinNeighbours puts what was packed onto two machines in a row onto one where that costs no more: fewer nodes for the same
// money. Two that follow each other mostly hold the same kinds of pods, so looking at neighbours is enough.
func (y *yard) joinNeighbours(machines []laden) []laden {
	for {
		out := machines[:0]
		for _, m := range machines {
			if last := len(out) - 1; last >= 0 {
				if both, ok := y.join(out[last], m); ok {
					out[last] = both
					continue
				}
			}
			out = append(out, m)
		}
		if len(out) == len(machines) {
			return out
		}
		machines = out
	}
}

// join is one machine in place of two; ok is false if that costs more or if the pods look at who else is there.
func (y *yard) join(a, b laden) (both laden, ok bool) {
	t := y.t
	if a.state != b.state || len(t.states[a.state].minimums) > 0 {
		return laden{}, false
	}
	for _, list := range [][]pick{a.picks, b.picks} {
		if slices.ContainsFunc(list, func(p pick) bool { return p.picky }) {
			return laden{}, false
		}
	}
	total, most := a.total.Add(b.total), a.price()+b.price()
	st, mask := t.states[a.state], t.candidates
	clear(mask)
	within, prices := t.within(st.mask), t.prices(st)
	for _, column := range t.byPrice(st) {
		if prices[column] > most+lp.Negligible {
			break
		}
		if within.Has(int(column)) && total.Fits(t.room[column]) {
			mask.Add(int(column))
		}
	}
	if mask.Empty() {
		return laden{}, false
	}
	cl := t.blank(a.state, mask)
	copy(cl.total, total)
	cl.trial = true
	cl.fills = append(append(cl.fills, a.fills...), b.fills...)
	cl.measure()
	return laden{cl, append(slices.Clone(a.picks), b.picks...)}, true
}
