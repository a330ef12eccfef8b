package solve

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/lp"
)

// joinNeighbours puts what was packed onto two machines in a row onto one where that costs no more: fewer nodes for the same
// money. Two that follow each other mostly hold the same kinds of pods, so looking at neighbours is enough.
func (rp *repacker) mergeNeighbours(bins []packedBin) []packedBin {
	for {
		out := bins[:0]
		for _, m := range bins {
			if last := len(out) - 1; last >= 0 {
				if both, ok := rp.merge(out[last], m); ok {
					out[last] = both
					continue
				}
			}
			out = append(out, m)
		}
		if len(out) == len(bins) {
			return out
		}
		bins = out
	}
}

// join is one machine in place of two; ok is false if that costs more or if the pods look at who else is there.
func (rp *repacker) merge(a, b packedBin) (both packedBin, ok bool) {
	t := rp.t
	if a.state != b.state || len(t.states[a.state].minimums) > 0 {
		return packedBin{}, false
	}
	for _, list := range [][]assignment{a.assignments, b.assignments} {
		if slices.ContainsFunc(list, func(p assignment) bool { return p.hostConstrained }) {
			return packedBin{}, false
		}
	}
	total, most := a.total.Add(b.total), a.price()+b.price()
	st, mask := t.states[a.state], rp.scratch
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
		return packedBin{}, false
	}
	on := t.blankOpenNode(a.state, mask)
	copy(on.total, total)
	on.trial = true
	on.batches = append(append(on.batches, a.batches...), b.batches...)
	on.updateSlack()
	return packedBin{on, append(slices.Clone(a.assignments), b.assignments...)}, true
}
