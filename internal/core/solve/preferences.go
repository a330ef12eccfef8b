package solve

import (
	"cmp"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/lp"
)

// mergers is how many pairs of machines are tried to be made one.
const maxMerges = 64

// grant is the pods with the wish to be away from their like, as long as the yard grants any; without it when it does not.
func (rp *repacker) applyAllowance(f batch) batch {
	if !f.class().prefersAntiAffinity(f.level) {
		return f
	}
	humble, ok := f.relaxed(func(st *level) bool { return !f.class().prefersAntiAffinity(st) })
	if !ok {
		return f
	}
	if rp.allowedByClass[f.class()] += len(f.pods); rp.allowedByClass[f.class()] > rp.allowance {
		return humble
	}
	rp.allowed += len(f.pods)
	return f
}

// mergeHumbly makes one machine of two, as often as the wishes of their pods are all that speaks against it and it costs no
// more: no machine is launched for a wish alone. The cheapest machines are tried, which are those that could not be filled.
func (rp *repacker) mergeWithoutPreferences(pieces []*openNode) []*openNode {
	pieces = slices.SortedStableFunc(slices.Values(pieces), func(a, b *openNode) int { return cmp.Compare(a.price(), b.price()) })
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
func (rp *repacker) mergeTwo(a, b *openNode) *openNode {
	t, most := rp.t, a.price()+b.price()+lp.Negligible
	total, root := a.total.Add(b.total), t.states[t.root]
	prices, fits := t.prices(root), false
	for column := range root.mask.All() {
		fits = fits || prices[column] <= most && total.Fits(t.room[column])
	}
	if !fits {
		return nil
	}
	one := t.newOpenNode(root.mask)
	one.trial = true
	rp.nextHost++
	on, o := bin{host: rp.nextHost, open: one}, &rp.offer
	for _, f := range slices.Concat(a.batches, b.batches) {
		g, ok := f.withoutPreferences()
		if !ok {
			return nil
		}
		if rp.s.fit(o, on, g.class(), g.level, g.form.list[:], g.pods); o.pods < len(g.pods) {
			return nil
		}
		rp.s.take(o, on, g.class(), g.level, g.pods)
	}
	if one.price() > most || t.reservations.mayServe(t, t.states[one.state]) {
		return nil // a reservation is for those who hold it, and nobody takes one here
	}
	return one
}
