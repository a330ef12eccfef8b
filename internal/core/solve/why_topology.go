package solve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/reason"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// whyTopology is the group that leaves the class no domain among those that a new machine of the pool could be in. Where
// each group leaves one and all of them together leave none, it is the first.
func (s diagnosis) whyTopology(t *template, c *class, st *level) (reason.Obstacle, bool) {
	host := len(s.targets.list) + len(s.open)
	for _, o := range st.hosts {
		boots := o.isAffinity() && o.Bootstraps(o.self, anyDomain)
		if !boots && o.AllowedOnHost(host, 0, o.self) == 0 {
			return s.unsatisfiable(t, st, o.group), true
		}
	}
	root := t.states[t.step(t.root, st.conjunction)]
	if root.mask.Empty() {
		return reason.Obstacle{}, false // there is nothing to launch in any domain
	}
	for _, o := range s.options(nil, c, st) {
		for _, form := range o.forms {
			if to := t.step(t.root, form); to != noState && !t.states[to].mask.Empty() {
				return reason.Obstacle{}, false
			}
		}
	}
	var first *group
	for _, key := range st.keys {
		within := s.counts.domains.allowed(key, st.strict)
		possible := s.counts.domains.possible(key, root.get(key))
		for _, b := range groupStates(nil, st, key, within) {
			if first == nil {
				first = b.group
			}
			if !slices.ContainsFunc(possible, func(d int) bool { room, _ := roomIn([]groupState{b}, d, within); return room > 0 }) {
				return s.unsatisfiable(t, st, b.group), true
			}
		}
		for _, g := range c.avoid {
			if first == nil {
				first = g
			}
			if g.key == key && !slices.ContainsFunc(possible, func(d int) bool { return g.Count(d) == 0 }) {
				return s.unsatisfiable(t, st, g), true
			}
		}
	}
	if first == nil {
		return reason.Obstacle{}, false
	}
	return s.unsatisfiable(t, st, first), true
}

func (s diagnosis) unsatisfiable(t *template, st *level, g *group) reason.Obstacle {
	k := s.classes.u.keys[g.key]
	node := requirement.New(k.name, requirement.Exists)
	if set := t.states[t.root].get(g.key); set != undefined && !g.host {
		node = k.sets[set]
	}
	return reason.Obstacle{Code: reason.TopologyUnsatisfiable, Topology: reason.Topology{
		Kind:        g.Kind.String(),
		Key:         k.name,
		Counts:      s.groupCountsOf(g),
		PodDomains:  st.strict.set.Get(k.name),
		NodeDomains: node,
	}}
}

// countsOf is a group's counts in the order of the domains' names.
func (s diagnosis) groupCountsOf(g *group) []reason.Count {
	var out []reason.Count
	if g.host {
		for _, d := range g.Counted() {
			out = append(out, reason.Count{Domain: s.hostName(d), Pods: g.Count(d)})
		}
	} else {
		for d, name := range s.counts.domains.of(g.key).names {
			if g.Known(d) {
				out = append(out, reason.Count{Domain: name, Pods: g.Count(d)})
			}
		}
	}
	slices.SortFunc(out, func(a, b reason.Count) int { return strings.Compare(a.Domain, b.Domain) })
	return out
}

func (s diagnosis) hostName(number int) string {
	if number < len(s.targets.list) {
		return s.targets.list[number].node.Name
	}
	return fmt.Sprintf("%s-%04d", newHostname, number-len(s.targets.list))
}
