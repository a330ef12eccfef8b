package repack

import (
	"cmp"
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/lp"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
)

// maxMerges is how many pairs of bins are tried to be merged.
const maxMerges = 64

// applyAllowance is the pods with their preferred anti-affinity to pods of the same class, as long as the repacker allows
// any; without it after that.
func (rp *repacker) applyAllowance(f compile.Batch) compile.Batch {
	if rp.s.Problem.Options.OpensForPreferences() && rp.allowance == math.MaxInt || !f.Class().PrefersAntiAffinity(f.Level) {
		return f
	}
	relaxed, ok := f.Relaxed(func(st *compile.Level) bool { return !f.Class().PrefersAntiAffinity(st) })
	if !ok {
		return f
	}
	if rp.allowedByClass[f.Class()] += len(f.Pods); rp.allowedByClass[f.Class()] > rp.allowance {
		return relaxed
	}
	rp.allowed += len(f.Pods)
	return f
}

// relax lets only so many pods of a class keep their preferred anti-affinity to each other. It is not ok if some of the others cannot be
// repacked.
func relax(rp *repacker, allowance int) (ok bool) {
	rp.allowance, rp.allowed, rp.bin.last.times = allowance, 0, 0
	clear(rp.allowedByClass)
	for _, k := range rp.groups {
		k.itemTypes = k.itemTypes[:0]
	}
	for _, p := range rp.itemTypes {
		p.remainingDemand, p.markup, p.listed = remainingDemand{}, 1, false
	}
	rp.itemTypes = rp.itemTypes[:0]
	for _, on := range rp.collected {
		for i, f := range on.batches {
			p, kept := on.itemTypes[i], rp.applyAllowance(f)
			if kept.Level != f.Level {
				if p = rp.knownItemType(on.OpenNode, kept); p == nil {
					return false
				}
			}
			rp.enter(p, kept)
		}
	}
	return true
}

// maxAllowed is how many pods of a class are kept on separate hosts only because they prefer it, at most.
func maxAllowed(rp *repacker) (most int) {
	for _, pods := range rp.allowedByClass {
		most = max(most, pods)
	}
	return most
}

// mergeWithoutPreferences merges two bins into one, as often as the preferences of their pods are all that prevents it and
// it costs no more: no node is launched for a preference alone. The cheapest bins are tried, which are those that could not
// be filled.
func (rp *repacker) mergeWithoutPreferences(pieces []*compile.OpenNode) []*compile.OpenNode {
	pieces = slices.SortedStableFunc(slices.Values(pieces), func(a, b *compile.OpenNode) int { return cmp.Compare(a.Price(), b.Price()) })
	tried := 0
	for i := 0; i < len(pieces); i++ {
		for j := i + 1; j < len(pieces) && tried < maxMerges; j++ {
			tried++
			if one := rp.mergeTwo(pieces[i], pieces[j]); one != nil {
				pieces = slices.Delete(pieces, j, j+1)
				pieces[i] = one
				j = i // a new bin is tried with all others
			}
		}
	}
	return pieces
}

// mergeTwo is a bin with the pods of two, whose preferences are relaxed; nil if it cannot be or costs more.
func (rp *repacker) mergeTwo(a, b *compile.OpenNode) *compile.OpenNode {
	t, most := rp.t, a.Price()+b.Price()+lp.Negligible
	total, root := a.Total.Add(b.Total), t.States[t.Root]
	prices, fits := t.Prices(root), false
	for column := range root.Mask.All() {
		fits = fits || prices[column] <= most && total.Fits(t.Most.Available[column])
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
		return nil // reservations are held by open nodes, and none is taken here
	}
	return one
}
