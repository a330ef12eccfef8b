package solve

import (
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// rightSize looks at the plan as a whole and packs pods again where that is cheaper. First fit fills a claim as long as any
// type can hold it, so a claim may end on the dearest machine there is, and pods that could run anywhere may end on a machine
// that only one of them needs.
//
// Invariant: the plan never gets dearer and no pod loses its place.
func rightSize(s *placer) {
	var out []*openNode
	first := len(s.targets.list) + len(s.open)
	for _, t := range s.templates {
		out = append(out, repack(s, t, first)...)
		s.counts.endTrials(first)
	}
	split := splitter{placer: s, first: first}
	for _, on := range s.open {
		if base := splitBase(s, on); on.devices != "" && base != noState && !on.indivisible() {
			out = append(out, split.split(on, base)...)
			continue
		}
		out = append(out, on)
	}
	s.open = out
}

// base is the state that every piece of on starts from: in the domains in which its pods were counted.
func splitBase(s *placer, on *openNode) stateID {
	var within []requirement.Requirement
	seen := map[int]bool{}
	for _, f := range on.batches {
		for _, list := range f.class().counting() {
			for _, g := range list {
				if g.host || seen[g.key] {
					continue
				}
				seen[g.key] = true
				within = append(within, s.counts.inDomains(g.key, s.counts.openDomains(on, g.key)))
			}
		}
	}
	if len(within) == 0 {
		return on.t.root
	}
	return on.t.step(on.t.root, s.classes.intern(requirement.NewSet(within...)))
}

func price(open []*openNode) float64 {
	sum := 0.0
	for _, on := range open {
		sum += on.price()
	}
	return sum
}
