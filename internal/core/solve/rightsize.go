package solve

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// rightSize looks at the plan as a whole and packs pods again where that is cheaper. First fit fills a claim as long as any
// type can hold it, so a claim may end on the dearest machine there is, and pods that could run anywhere may end on a machine
// that only one of them needs.
//
// Invariant: the plan never gets dearer and no pod loses its place.
func (s *solver) rightSize() {
	var out []*claim
	for _, t := range s.templates {
		out = append(out, s.repack(t)...)
	}
	for _, cl := range s.claims {
		if base := s.base(cl); cl.devices != "" && base != refused && !cl.indivisible() {
			out = append(out, s.splitDevices(cl, base)...)
			continue
		}
		out = append(out, cl)
	}
	s.claims = out
}

// indivisible reports whether cl is to stay as it is: it may be launched from a reservation, or some of its pods must share a
// machine with others.
func (cl *claim) indivisible() bool {
	return cl.t.reservations.concern(cl) || slices.ContainsFunc(cl.fills, func(f fill) bool { return f.stage.near || cl.t.attaches(f.class()) })
}

// base is the state that every piece of cl starts from: in the domains in which its pods were counted.
func (s *solver) base(cl *claim) stateID {
	var within []requirement.Requirement
	seen := map[int]bool{}
	for _, f := range cl.fills {
		for _, list := range f.class().counting() {
			for _, g := range list {
				if g.host || seen[g.key] {
					continue
				}
				seen[g.key] = true
				var names []string
				for _, d := range s.claimDomains(cl, g.key) {
					names = append(names, s.domains.of(g.key).names[d])
				}
				within = append(within, requirement.New(cl.t.u.keys[g.key].name, requirement.In, names...))
			}
		}
	}
	if len(within) == 0 {
		return cl.t.root
	}
	return cl.t.step(cl.t.root, s.classes.intern(requirement.NewSet(within...)))
}

func price(claims []*claim) float64 {
	sum := 0.0
	for _, cl := range claims {
		sum += cl.price()
	}
	return sum
}

// cheapestOnly keeps the candidates at the lowest price.
func (cl *claim) cheapestOnly() {
	low, prices := cl.price(), cl.t.prices(cl.t.states[cl.state])
	for column := range cl.mask.All() {
		if prices[column] > low {
			cl.mask.Remove(column)
		}
	}
	cl.measure()
}

// widen lets a piece be any machine that can hold its pods and that the pool's limits admit: the cap has done its work, and
// more candidates make the launch more likely.
func (cl *claim) widen() {
	copy(cl.mask, cl.t.within(cl.t.states[cl.state].mask))
	for column := range cl.mask.All() {
		if !cl.total.Fits(cl.t.room[column]) {
			cl.mask.Remove(column)
		}
	}
	for _, f := range cl.fills {
		if len(f.class().shape.HostPorts) > 0 {
			cl.mask.Intersect(cl.mask, cl.t.portsFree(f.class()))
		}
	}
	cl.trial = false
	cl.measure()
}
