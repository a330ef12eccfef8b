package repack

import (
	"cmp"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/lp"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
)

// mergers is how many pairs of machines are tried to be made one.
const maxMerges = 64

// grant is the pods with the wish to be away from their like, as long as the yard grants any; without it when it does not.
func (rp *repacker) applyAllowance(f compile.Batch) compile.Batch {
	if !f.Class().PrefersAntiAffinity(f.Level) {
		return f
	}
	humble, ok := f.Relaxed(func(st *compile.Level) bool { return !f.Class().PrefersAntiAffinity(st) })
	if !ok {
		return f
	}
	if rp.allowedByClass[f.Class()] += len(f.Pods); rp.allowedByClass[f.Class()] > rp.allowance {
		return humble
	}
	rp.allowed += len(f.Pods)
	return f
}

// mergeHumbly makes one machine of two, as often as the wishes of their pods are all that speaks against it and it costs no
// more: no machine is launched for a wish alone. The cheapest machines are tried, which are those that could not be filled.
func (rp *repacker) mergeWithoutPreferences(pieces []*compile.OpenNode) []*compile.OpenNode {
	pieces = slices.SortedStableFunc(slices.Values(pieces), func(a, b *compile.OpenNode) int { return cmp.Compare(a.Price(), b.Price()) })
	tried := 0
	for i := 0; i < len(pieces); i++ {
		for j := i + 1; j < len(pieces) && tried < maxMerges; j++ {
			tried++
			if one := rp.mergeTwo(pieces[i], pieces[j]); one != nil {
				pieces = slices.Delete(pieces, j, j+1)
				pieces[i] = one
				j = i // a new machine: it is tried with all others
			}
		}
	}
	return pieces
}

// merged is a machine with the pods of two, which have given up their wishes; nil if it cannot be or costs more.
func (rp *repacker) mergeTwo(a, b *compile.OpenNode) *compile.OpenNode {
	t, most := rp.t, a.Price()+b.Price()+lp.Negligible
	total, root := a.Total.Add(b.Total), t.States[t.Root]
	prices, fits := t.Prices(root), false
	for column := range root.Mask.All() {
		fits = fits || prices[column] <= most && total.Fits(t.Room[column])
	}
	if !fits {
		return nil
	}
	one := t.NewOpenNode(root.Mask)
	one.Trial = true
	rp.nextHost++
	on, o := compile.Bin{Host: rp.nextHost, Open: one}, &rp.offer
	for _, f := range slices.Concat(a.Batches, b.Batches) {
		g, ok := f.WithoutPreferences()
		if !ok {
			return nil
		}
		if rp.s.Fit(o, on, g.Class(), g.Level, g.Form.List[:], g.Pods); o.Pods < len(g.Pods) {
			return nil
		}
		rp.s.Take(o, on, g.Class(), g.Level, g.Pods)
	}
	if one.Price() > most || t.Reservations.MayServe(t, t.States[one.State]) {
		return nil // a reservation is for those who hold it, and nobody takes one here
	}
	return one
}
