package solve

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// counts is where pods are counted for topology: the groups with their counts, and the domains that they count in.
type counts struct {
	u       *universe
	groups  *groups
	domains *domains
	targets *targets
	// trials are the groups that count pods on bins of a trial.
	trials []*group
}

func newCounts(u *universe, groups *groups, ts *targets) *counts {
	return &counts{u: u, groups: groups, domains: newDomains(u), targets: ts}
}

// bin is what pods are put on: an existing node, an open one, or an open one of a trial, most of which are given up.
type bin struct {
	// host is the bin's own domain of the hostname label, or uncounted.
	host int
	// number is the place of an open node among its like.
	number int
	// target is set for an existing node, open for any other.
	target *target
	open   *openNode
}

// uncounted is the host of bins whose pods are not counted. The pods of a part of an open node are among those of the whole:
// what the groups that count by host allow for all of them they allow for some.
const uncounted = -1

// add counts n pods of a class that were put on a bin. Where the domain is not decided, spread and affinity count nothing, and
// anti-affinity counts every domain that is possible. On bins of a trial only the groups that count by host do.
// Source: scheduling specification, recording.
func (ct *counts) add(b bin, c *class, n int) {
	switch {
	case b.host == uncounted || !c.counted():
	case b.open != nil && b.open.trial:
		ct.addTrial(b.host, c, n)
	default:
		for _, g := range c.members {
			if ct.looksAt(g.filter, b) {
				ct.addTo(g, b, n)
			}
		}
		for _, g := range c.guards() {
			ct.addTo(g, b, n)
		}
	}
}

func (ct *counts) addTo(g *group, b bin, n int) {
	if g.host {
		g.Add(b.host, n)
		return
	}
	possible, decided := ct.possible(b, g.key)
	if !decided && g.Kind != topology.KindAnti {
		return
	}
	for _, d := range possible {
		g.Add(d, n)
	}
}

func (ct *counts) addTrial(host int, c *class, n int) {
	for _, list := range c.counting() {
		for _, g := range list {
			if !g.host {
				continue
			}
			if !g.trial {
				g.trial = true
				ct.trials = append(ct.trials, g)
			}
			g.Add(host, n)
		}
	}
}

// endTrials takes back what was counted on bins of trials, whose hosts are numbered from first.
func (ct *counts) endTrials(first int) {
	for _, g := range ct.trials {
		g.Truncate(first)
		g.trial = false
	}
	ct.trials = nil
}

// possible are the domains that a bin may turn out to be in; decided tells that there is one, for good.
func (ct *counts) possible(b bin, key int) (domains []int, decided bool) {
	if b.target == nil {
		on := b.open
		domains = ct.openDomains(on, key)
		return domains, len(domains) == 1 && on.t.decided(on.t.states[on.state], key)
	}
	have := b.target.get(key)
	if have == undefined && b.target.node.Launched {
		return nil, false // the labels of a node that exists are facts
	}
	domains = ct.domains.possible(key, have)
	return domains, len(domains) == 1 && have != undefined
}

// openDomains are the domains that an open node may still end up in.
func (ct *counts) openDomains(on *openNode, key int) []int {
	st := on.t.states[on.state]
	if !on.t.decided(st, key) {
		if names, ok := on.t.values(key, st, on.mask); ok {
			return ct.domains.of(key).numbers(names)
		}
	}
	return ct.domains.possible(key, st.get(key))
}

// looksAt reports whether a spread with the filter counts pods on the bin.
func (ct *counts) looksAt(f *nodeFilter, b bin) bool {
	switch {
	case f == nil:
		return true
	case f.honorTaints && !f.tolerates(b.taints()):
		return false
	}
	return len(f.alternatives) == 0 || slices.ContainsFunc(f.alternatives, func(c *conjunction) bool {
		if b.target != nil {
			return ct.targets.satisfying(c).Has(b.host)
		}
		return b.open.t.compatible(b.open.t.states[b.open.state], c.terms)
	})
}

// taints are those of the bin that spreads honor.
func (b bin) taints() []model.Taint {
	if b.target != nil {
		return spreadTaints(b.target.node)
	}
	return b.open.t.pool.Taints
}

// decided reports whether the state leaves one value for the label, whatever columns drop out.
func (t *template) decided(st *state, key int) bool {
	set := st.get(key)
	return set != undefined && !t.u.keys[key].sets[set].Complement() && t.u.keys[key].sets[set].Len() == 1
}

// hostCapacity is how many more pods of the class a host may take by the groups that count per host.
func (c *class) hostCapacity(lv *level, host int) int {
	for _, g := range c.avoidHosts {
		if g.Count(host) > 0 {
			return 0
		}
	}
	capacity := math.MaxInt
	for _, o := range lv.hosts {
		if o.isAffinity() && o.Count(host) == 0 && o.Bootstraps(o.self, anyDomain) {
			continue
		}
		capacity = min(capacity, o.AllowedOnHost(host, 0, o.self))
	}
	return capacity
}

// requiresExisting reports whether pods of the level have to join others on a bin that is there already.
func (lv *level) requiresExisting() bool {
	_, ok := lv.affineHosts()
	return ok
}

// affineHosts are the hosts that hold what pods of the level have an affinity to. ok is false when any host will do, because
// there is no such affinity or the first pod may choose.
func (lv *level) affineHosts() (hosts []int, ok bool) {
	for _, o := range lv.hosts {
		if o.isAffinity() && !o.Bootstraps(o.self, anyDomain) {
			return o.Counted(), true
		}
	}
	return nil, false
}

// inDomains is the requirement of one of the domains.
func (ct *counts) inDomains(key int, domains []int) requirement.Requirement {
	names := make([]string, len(domains))
	for i, d := range domains {
		names[i] = ct.domains.of(key).names[d]
	}
	return requirement.New(ct.u.keys[key].name, requirement.In, names...)
}

// blocked are the domains of a label that others keep the class away from.
func (c *class) blocked(key int) []int {
	var out []int
	for _, g := range c.avoid {
		if g.key == key {
			out = append(out, g.Counted()...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
