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
	// domains are those that the site may turn out to be in; decided tells that there is one, for good.
	domains func(key int) (possible []int, decided bool)
	// meets tells whether the site agrees with a conjunction.
	meets func(*conjunction) bool
	// taints are those that spreads honour.
	taints []model.Taint
}

func (s *solver) targetSite(number int) site {
	t := s.targets.list[number]
	return site{
		number: number,
		domains: func(key int) ([]int, bool) {
			if t.get(key) == undefined && t.node.Launched {
				return nil, false // the labels of a machine that is there are facts
			}
			possible := s.domains.possible(key, t.get(key))
			return possible, len(possible) == 1 && t.get(key) != undefined
		},
		meets:  func(c *conjunction) bool { return s.targets.satisfying(c).Has(number) },
		taints: spreadTaints(t.node),
	}
}

func (s *solver) claimSite(number int) site {
	on := s.open[number]
	st := on.t.states[on.state]
	return site{
		number: len(s.targets.list) + number,
		domains: func(key int) ([]int, bool) {
			possible := s.claimDomains(on, key)
			return possible, len(possible) == 1 && on.t.decided(st, key)
		},
		meets:  func(c *conjunction) bool { return on.t.compatible(st, c.terms) },
		taints: on.t.pool.Taints,
	}
}

// claimDomains are the domains that a claim may still end up in.
func (s *solver) claimDomains(on *openNode, key int) []int {
	st := on.t.states[on.state]
	if !on.t.decided(st, key) {
		if names, ok := on.t.values(key, st, on.mask); ok {
			return s.domains.of(key).numbers(names)
		}
	}
	return s.domains.possible(key, st.get(key))
}

// decided reports whether the state leaves one value for the label, whatever columns drop out.
func (t *template) decided(st *state, key int) bool {
	set := st.get(key)
	return set != undefined && !t.u.keys[key].sets[set].Complement() && t.u.keys[key].sets[set].Len() == 1
}

// record counts n pods of a class that were put on a machine. Where the domain is not decided, spread and affinity count
// nothing, and anti-affinity counts every domain that is possible. Source: scheduling specification, recording.
func (s *solver) record(c *class, m site, n int) {
	for _, g := range c.members {
		if g.filter.counts(m) {
			s.count(g, m, n)
		}
	}
	for _, g := range c.guards() {
		s.count(g, m, n)
	}
}

func (s *solver) count(g *group, m site, n int) {
	if g.host {
		g.Add(m.number, n)
		return
	}
	possible, decided := m.domains(g.key)
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
