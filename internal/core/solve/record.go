package solve

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// site is a place for pods, existing or planned, as topology sees it.
type site struct {
	// number is the machine's own domain: targets come first, claims after them.
	number int
	// set is what is known about a label; meets tells whether the machine agrees with a conjunction.
	set   func(key int) setID
	meets func(*conjunction) bool
	// taints are those that spreads honour.
	taints []model.Taint
}

func (s *solver) targetSite(number int) site {
	t := s.targets.list[number]
	return site{
		number: number,
		set:    t.get,
		meets:  func(c *conjunction) bool { return s.targets.satisfying(c).has(number) },
		taints: spreadTaints(t.node),
	}
}

func (s *solver) claimSite(number int) site {
	cl := s.claims[number]
	st := cl.t.states[cl.state]
	return site{
		number: len(s.targets.list) + number,
		set:    st.get,
		meets:  func(c *conjunction) bool { return cl.t.compatible(st, c.terms) },
		taints: cl.t.pool.Taints,
	}
}

// record counts n pods of a class that were put on a machine. Where the domain is not decided, spread and affinity count
// nothing, and anti-affinity counts every domain that is possible. Source: scheduling specification, recording.
func (s *solver) record(c *class, m site, n int) {
	for _, g := range c.members {
		if g.filter.counts(m) {
			s.count(g, m, n)
		}
	}
	for _, g := range c.guards {
		s.count(g, m, n)
	}
}

func (s *solver) count(g *group, m site, n int) {
	if g.host {
		g.Add(m.number, n)
		return
	}
	possible, decided := s.domains.possible(g.key, m.set(g.key))
	if !decided && g.Kind != topology.KindAnti {
		return
	}
	for _, d := range possible {
		g.Add(d, n)
	}
}

// counts reports whether a spread looks at the machine.
func (f *nodeFilter) counts(m site) bool {
	if f == nil {
		return true
	}
	if f.honorTaints && !f.tolerates(m.taints) {
		return false
	}
	return len(f.alternatives) == 0 || slices.ContainsFunc(f.alternatives, m.meets)
}
