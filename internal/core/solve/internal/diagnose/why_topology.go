package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/place"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

// whyTopology is the group that leaves the class no domain among those that a new node of the pool could be in. Where each
// group leaves one and all of them together leave none, it is the first. It is nil if there is a domain.
func (s diagnosis) whyTopology(t *compile.Template, c *compile.Class, st *compile.Level) *compile.Group {
	host := len(s.Targets.List) + len(s.Open)
	for _, o := range st.Hosts {
		boots := o.IsAffinity() && o.Bootstraps(o.Self)
		if !boots && o.AllowedOnHost(host, 0, o.Self) == 0 {
			return o.Group
		}
	}
	root := t.States[t.Step(t.Root, st.Conjunction)]
	if root.Mask.Empty() {
		return nil // no domain has anything to launch
	}
	for _, o := range s.Options(nil, c, st) {
		for _, form := range o.Forms {
			if to := t.Step(t.Root, form); to != compile.NoState && !t.States[to].Mask.Empty() {
				return nil
			}
		}
	}
	var first *compile.Group
	for _, key := range st.Keys {
		within := s.Counts.Domains.Allowed(key, st.Strict)
		possible := s.Counts.Domains.Possible(key, root.Get(key))
		for _, b := range place.GroupStates(nil, st.LevelConstraints, key) {
			if first == nil {
				first = b.Group
			}
			if !slices.ContainsFunc(possible, func(d int) bool { maxPods, _ := place.CapacityIn([]place.GroupState{b}, d, within); return maxPods > 0 }) {
				return b.Group
			}
		}
		for _, g := range c.Avoid {
			if first == nil {
				first = g
			}
			if g.Key == key && !slices.ContainsFunc(possible, func(d int) bool { return g.Count(d)+g.Expected(d) == 0 }) {
				return g
			}
		}
	}
	return first
}

func (s diagnosis) unsatisfiable(t *compile.Template, st *compile.Level, g *compile.Group) unschedulable.Reason {
	k, counts := s.Classes.Universe.Keys[g.Key], s.groupCountsOf(g)
	node := requirement.New(k.Name, requirement.Exists)
	if set := t.States[t.Root].Get(g.Key); set != index.Undefined && !g.Host {
		node = k.Sets[set]
	}
	undefined, meant := !g.Host && len(s.Counts.Domains.Of(g.Key).Names) == 0, ""
	if undefined {
		meant = hint(t, k.Name)
	}
	return unschedulable.Reason{Code: unschedulable.TopologyUnsatisfiable, Topology: unschedulable.Topology{
		Kind:        g.Constraint(),
		Key:         k.Name,
		Counts:      counts,
		PodDomains:  st.Strict.Set.Get(k.Name),
		NodeDomains: node,
		MinDomains:  missingDomains(g, len(counts)),
		Unreachable: s.unreachable(st, g),
		Undefined:   undefined,
		Hint:        meant,
		Unmatched:   g.IsAffinity() && !s.Classes.Counts(g) && !slices.ContainsFunc(counts, func(c unschedulable.Count) bool { return c.Pods > 0 }),
	}}
}

// groupCountsOf is a group's counts in the order of the domains' names.
func (s diagnosis) groupCountsOf(g *compile.Group) []unschedulable.Count {
	var out []unschedulable.Count
	if g.Host {
		for _, d := range g.Counted() {
			out = append(out, unschedulable.Count{Domain: s.hostName(d), Pods: g.Count(d) + g.Expected(d)})
		}
	} else {
		for d, name := range s.Counts.Domains.Of(g.Key).Names {
			if g.Known(d) {
				out = append(out, unschedulable.Count{Domain: name, Pods: g.Count(d) + g.Expected(d)})
			}
		}
	}
	slices.SortFunc(out, func(a, b unschedulable.Count) int { return strings.Compare(a.Domain, b.Domain) })
	return out
}

func (s diagnosis) hostName(number int) string {
	if number < len(s.Targets.List) {
		return s.Targets.List[number].Node.Name
	}
	return fmt.Sprintf("%s-%04d", compile.NewHostname, number-len(s.Targets.List))
}
