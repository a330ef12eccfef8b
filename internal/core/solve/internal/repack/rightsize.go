package repack

import (
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/place"
)

// RightSize considers the plan as a whole and packs pods again where that is cheaper. First fit fills an open node as long
// as any instance type can hold it, so an open node may end as the most expensive instance type, and pods that could run
// anywhere may end on a node that only one of them needs.
//
// Invariant: the plan never gets more expensive and no pod loses its place. Counts on bins of trials are
// reverted.
func RightSize(s *place.Placer) {
	var out []*compile.OpenNode
	first := len(s.Targets.List) + len(s.Open)
	for _, t := range s.Templates {
		out = append(out, repack(s, t, first)...)
		s.Counts.EndTrials(first)
	}
	split := splitter{Placer: s, first: first}
	for _, on := range s.Open {
		if base := splitBase(s, on); on.Devices != "" && base != compile.NoState && !on.Indivisible() {
			out = append(out, split.split(on, base)...)
			continue
		}
		out = append(out, on)
	}
	s.Open = out
}

// splitBase is the state that every piece of on starts from: in the domains in which its pods were counted.
func splitBase(s *place.Placer, on *compile.OpenNode) compile.StateID {
	var within []requirement.Requirement
	seen := map[int]bool{}
	for _, f := range on.Batches {
		for _, list := range f.Class().Counting() {
			for _, g := range list {
				if g.Host || seen[g.Key] {
					continue
				}
				seen[g.Key] = true
				within = append(within, s.Counts.InDomains(g.Key, s.Counts.OpenDomains(on, g.Key)))
			}
		}
	}
	if len(within) == 0 {
		return on.Template.Root
	}
	return on.Template.Step(on.Template.Root, s.Classes.Intern(requirement.NewSet(within...)))
}

func price(open []*compile.OpenNode) float64 {
	sum := 0.0
	for _, on := range open {
		sum += on.Price()
	}
	return sum
}
