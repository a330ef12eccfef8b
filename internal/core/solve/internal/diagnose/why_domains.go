package diagnose

import (
	"fmt"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

// A spread allows no more pods in a domain than in the one with the fewest, plus the skew. Where no pool launches nodes for the pods in the one
// with the fewest, all other domains are full sooner or later, and no reason against one of the pools says why.

// unreachable are the domains with the fewest pods of a spread in which no pool launches nodes for the pods of the level.
func (s diagnosis) unreachable(st *compile.Level, g *compile.Group) (out []unschedulable.UnreachableDomain) {
	if g.Kind != topology.KindSpread || g.Host {
		return nil
	}
	key := spreadOfLevel{st, g}
	if known, ok := s.limiting[key]; ok {
		return known
	}
	defer func() { s.limiting[key] = out }()
	floor, within := g.MinCount(), s.Counts.Domains.Allowed(g.Key, st.Strict)
	for d, name := range s.Counts.Domains.Of(g.Key).Names {
		if !g.Known(d) || !within(d) || g.Count(d)+g.Expected(d) != floor {
			continue
		}
		if repelling, reachable := s.poolsIn(st, g.Key, d); !reachable {
			found, nodes := unschedulable.UnreachableDomain{Domain: name}, s.population(g.Key, name)
			found.Nodes, found.Tainted = nodes != nil, nodes != nil && nodes.repel(st.Class)
			if !found.Nodes || found.Tainted {
				found.Pools = repelling
			}
			out = append(out, found)
		}
	}
	return out
}

// missingDomains is minDomains of a spread that has only so many domains, if these are fewer; 0 otherwise.
func missingDomains(g *compile.Group, domains int) int {
	if g.Host || int(g.MinDomains) <= domains {
		return 0
	}
	return int(g.MinDomains)
}

// poolsIn reports whether some pool launches nodes for the pods of the level in a domain; repelling are those that launch nodes there whose
// taints the pods do not tolerate.
func (s diagnosis) poolsIn(st *compile.Level, key, d int) (repelling []string, reachable bool) {
	in := s.Classes.Intern(requirement.NewSet(s.Counts.InDomains(key, []int{d})))
	for _, t := range s.Templates {
		to := t.Step(t.Root, in)
		if to == compile.NoState || t.States[to].Mask.Empty() {
			continue
		}
		if _, repelled := t.Repels(st.Class, st); repelled {
			repelling = append(repelling, t.Pool.Name)
		} else if to = t.Step(to, st.Conjunction); to != compile.NoState && !t.States[to].Mask.Empty() {
			return nil, true
		}
	}
	return repelling, false
}

// taintSets are the different taints of some nodes, by their text.
type taintSets map[string][]model.Taint

// repel reports whether the pods of a class tolerate none of them.
func (ts taintSets) repel(c *compile.Class) bool {
	for _, taints := range ts { // the order does not matter
		if _, repelled := model.Untolerated(taints, c.Shape.Tolerations, true); !repelled {
			return false
		}
	}
	return true
}

// population are the taints of the nodes that have this value of the label; nil if none has.
func (s diagnosis) population(key int, value string) taintSets {
	values, known := s.populations[key]
	if !known {
		values = map[string]taintSets{}
		name := s.Classes.Universe.Keys[key].Name
		for _, t := range s.Targets.List {
			i, ok := t.Node.Requirements.Find(name)
			if !ok {
				continue
			}
			if r := t.Node.Requirements[i]; !r.Complement() && r.Len() == 1 {
				value := r.Values()[0]
				if values[value] == nil {
					values[value] = taintSets{}
				}
				values[value][fmt.Sprint(t.Node.Taints)] = t.Node.Taints
			}
		}
		s.populations[key] = values
	}
	return values[value]
}
