package solve

import (
	"cmp"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/lp"
)

// mergers is how many pairs of machines are tried to be made one.
const mergers = 64

// grant is the pods with the wish to be away from their like, as long as the yard grants any; without it when it does not.
func (y *yard) grant(f fill) fill {
	if !f.class().wishesApart(f.stage) {
		return f
	}
	humble, ok := f.lowered(func(st *stage) bool { return !f.class().wishesApart(st) })
	if !ok {
		return f
	}
	if y.granting[f.class()] += len(f.pods); y.granting[f.class()] > y.grants {
		return humble
	}
	y.granted += len(f.pods)
	return f
}

// wishesApart reports whether the stage keeps pods of the class off a machine of their like, although they do not demand it.
func (c *class) wishesApart(st *stage) bool {
	return slices.ContainsFunc(st.hosts, func(o owned) bool {
		return o.self && !slices.ContainsFunc(c.final.hosts, func(other owned) bool { return other.group == o.group })
	})
}

// lowered is the pods with the first of their later stages that will do. It is not ok if there is none, or if the pods are
// bound to domains or to where their volumes are.
func (f fill) lowered(will func(*stage) bool) (lower fill, ok bool) {
	if !f.stage.plain() || f.form != f.stage.conjunction || len(f.class().shape.VolumeTopology) > 0 {
		return fill{}, false
	}
	for _, st := range f.class().stages[slices.Index(f.class().stages, f.stage):] {
		if st.plain() && st.strict == f.stage.strict && st.tolerant == f.stage.tolerant && will(st) {
			return fill{st, st.conjunction, f.pods}, true
		}
	}
	return fill{}, false
}

// wishes reports whether some pods of the claim have a wish about nodes or about who else is there.
func (cl *claim) wishes() bool {
	return slices.ContainsFunc(cl.fills, func(f fill) bool { return !f.stage.humble(f.class()) })
}

// humble reports whether the stage asks for no more than the class demands.
func (st *stage) humble(c *class) bool {
	return st.conjunction == st.strict && len(st.hosts) == len(c.final.hosts)
}

// humble is the pods without any wish.
func (f fill) humble() (lower fill, ok bool) {
	for _, list := range f.class().counting() {
		if slices.ContainsFunc(list, func(g *group) bool { return !g.host }) {
			return fill{}, false // the domain in which they are counted is not to change
		}
	}
	return f.lowered(func(st *stage) bool { return st.humble(f.class()) })
}

// mergeHumbly makes one machine of two, as often as the wishes of their pods are all that speaks against it and it costs no
// more: no machine is launched for a wish alone. The cheapest machines are tried, which are those that could not be filled.
func (y *yard) mergeHumbly(pieces []*claim) []*claim {
	pieces = slices.SortedStableFunc(slices.Values(pieces), func(a, b *claim) int { return cmp.Compare(a.price(), b.price()) })
	tried := 0
	for i := 0; i < len(pieces); i++ {
		for j := i + 1; j < len(pieces) && tried < mergers; j++ {
			tried++
			if one := y.merged(pieces[i], pieces[j]); one != nil {
				pieces = slices.Delete(pieces, j, j+1)
				pieces[i] = one
				j = i // a new machine: it is tried with all others
			}
		}
	}
	return pieces
}

// merged is a machine with the pods of two, which have given up their wishes; nil if it cannot be or costs more.
func (y *yard) merged(a, b *claim) *claim {
	t, most := y.t, a.price()+b.price()+lp.Negligible
	total, root := a.total.Add(b.total), t.states[t.root]
	prices, fits := t.prices(root), false
	for column := range root.mask.All() {
		fits = fits || prices[column] <= most && total.Fits(t.room[column])
	}
	if !fits {
		return nil
	}
	one := t.open(root.mask)
	y.next++
	for _, f := range slices.Concat(a.fills, b.fills) {
		g, ok := f.humble()
		if !ok || g.class().hostRoom(g.stage, y.next) < len(g.pods) {
			return nil
		}
		o := one.consider(g.class(), g.form, len(g.pods))
		if o.pods < len(g.pods) {
			return nil
		}
		one.put(g.class(), g.stage, o, g.pods)
		for _, list := range g.class().counting() {
			for _, group := range list {
				group.Add(y.next, len(g.pods))
			}
		}
	}
	if one.price() > most || t.reservations.mayServe(t, t.states[one.state]) {
		return nil // a reservation is for those who hold it, and nobody takes one here
	}
	return one
}
