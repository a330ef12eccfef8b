package repack

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/lp"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
)

// mergeNeighbours puts what was packed into two successive bins into one where that costs no more: fewer nodes for the same
// price. Successive bins mostly hold the same item types, so comparing neighbours is enough.
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

// merge is one bin in place of two; ok is false if that costs more or if the pods are constrained by other pods on their
// host.
func (rp *repacker) merge(a, b packedBin) (both packedBin, ok bool) {
	t := rp.t
	if a.State != b.State || len(t.States[a.State].Minimums) > 0 {
		return packedBin{}, false
	}
	for _, list := range [][]assignment{a.assignments, b.assignments} {
		if slices.ContainsFunc(list, func(p assignment) bool { return p.hostConstrained }) {
			return packedBin{}, false
		}
	}
	total, most := a.Total.Add(b.Total), a.Price()+b.Price()
	st, mask := t.States[a.State], rp.scratch
	if copy(mask, st.Mask); !compile.Narrow(t, st, mask, total) {
		return packedBin{}, false
	}
	clear(mask)
	within, prices, available := t.Within(st.Mask), t.Prices(st), t.CapacityIn(st).Available
	exotic, others := st.HasLastResort(t), false // others would be launched in place of exotic types, even if they cost more
	for _, column := range t.ByPrice(st) {
		last, expensive := exotic && st.LastResort(t, column), prices[column] > most+lp.Negligible
		if last && others || expensive && (last || others || !exotic) {
			break
		}
		if within.Has(int(column)) && total.Fits(available[column]) {
			others = others || !last
			if !expensive {
				mask.Add(int(column))
			}
		}
	}
	for _, list := range [][]compile.Batch{a.Batches, b.Batches} {
		for _, f := range list {
			t.AwayFromDaemons(mask, st, f.Class())
		}
	}
	if mask.Empty() {
		return packedBin{}, false
	}
	on := t.BlankOpenNode(a.State, mask)
	copy(on.Total, total)
	on.Trial = true
	on.Batches = append(append(on.Batches, a.Batches...), b.Batches...)
	on.UpdateSlack()
	return packedBin{on, slices.Concat(a.assignments, b.assignments), slices.Concat(a.deferred, b.deferred)}, true
}
