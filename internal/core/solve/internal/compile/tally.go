package compile

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// Problem: kube-scheduler counts the pods of DaemonSets for spreads, affinity and anti-affinity like any others, and those of a node that
// does not exist yet start with the node: whatever opens a node in a zone changes what the zone counts. A plan knows where these pods
// will be only once it knows all its nodes.
//
// Approach: pods with required anti-affinity or affinity to pods of DaemonSets, or that spread beside them, are concerned. They are placed after
// all others, whose nodes are repacked before. From then on each group that counts pods of DaemonSets has a tally of those that do not run
// yet: the fewest and the most by domain. Spreads measure from the fewest to the most. A node is not opened, and not narrowed, where its
// DaemonSets would take a place from pods that the plan has put elsewhere (vetoes); the pods that ask for it wait until these are bound.
//
// A domain without a node is none for kube-scheduler. It counts as one with an empty new node, so that pods use all domains. Pods for which
// that leaves no place are placed once more, without these domains (exact).
//
// Invariant: at the end of a plan, no domain has more pods than its spread allows above the minimum, whatever its nodes are launched as.
// Cost: O(domains + open nodes) for each open node that changes and each such group; none where no group counts pods of DaemonSets.

// tally is the pods of DaemonSets that a group counts on existing and on open nodes, besides those that run already.
type tally struct {
	// daemons are the DaemonSets: those that the group selects, or those whose anti-affinity it is.
	daemons []*Class
	// fixed is what existing nodes have, sum that and what open nodes have, in their order.
	fixed, sum []domainTally
	open       []presence
	// fresh is what an empty new node has in each domain, at least; filled when it is needed.
	fresh map[int]int
	// marks are, for each domain in which the plan has put pods with the constraint, how many pods are counted there then, and one.
	marks []int
	// leaving is the lowest count of nodes that are being deleted, for groups over hosts.
	leaving int
	// settings are shared by all tallies of a run.
	*tallySettings
	// lowest is the floor over hosts at the given change.
	lowest, lowestAt int
}

// tallySettings are how tallies count.
type tallySettings struct {
	// active is set once pods are placed that pods of DaemonSets concern.
	active bool
	// exact is set when domains without nodes do not count.
	exact bool
	// changes counts the changes of open nodes.
	changes int
	fresh   func(*Group, int) int
}

// domainTally is what a tally counts in one domain.
type domainTally struct {
	// low and high are the fewest and the most pods that may start there; running are those of DaemonSets that run, for groups over hosts.
	low, high, running int
	// undecided are those of high on nodes that may end up outside of the domain.
	undecided int
	// possible and certain are the nodes that may be in the domain, and those that are.
	possible, certain int
}

// presence is what one node adds to a tally.
type presence struct {
	domains []int
	// certain is set when the node is in the one domain, and counts for the group.
	certain   bool
	low, high int
	running   int
}

func (p presence) equal(o presence) bool {
	if p.certain != o.certain || p.low != o.low || p.high != o.high || len(p.domains) != len(o.domains) {
		return false
	}
	for i, d := range p.domains {
		if o.domains[i] != d {
			return false
		}
	}
	return true
}

// in is what the presence adds to one domain.
func (p presence) in(d int) domainTally {
	for _, own := range p.domains {
		if own != d {
			continue
		}
		if p.certain {
			return domainTally{low: p.low, high: p.high, running: p.running, possible: 1, certain: 1}
		}
		return domainTally{high: p.high, running: p.running, undecided: p.high, possible: 1}
	}
	return domainTally{}
}

// plus is the sum of a tally and n times another.
func (t domainTally) plus(o domainTally, n int) domainTally {
	return domainTally{
		low: t.low + n*o.low, high: t.high + n*o.high, running: t.running + n*o.running, undecided: t.undecided + n*o.undecided,
		possible: t.possible + n*o.possible, certain: t.certain + n*o.certain,
	}
}

// change is an open node that becomes another one: before is none for a new node, both are none for no change.
type change struct{ before, after presence }

func addPresence(sum []domainTally, p presence, n int) []domainTally {
	for _, d := range p.domains {
		for len(sum) <= d {
			sum = append(sum, domainTally{})
		}
		sum[d] = sum[d].plus(p.in(d), n)
	}
	return sum
}

// at is what a domain has after a change.
func (t *tally) at(d int, c change) domainTally {
	var at domainTally
	if d < len(t.sum) {
		at = t.sum[d]
	}
	return at.plus(c.before.in(d), -1).plus(c.after.in(d), 1)
}

// counting is the tally of a group while pods are placed that it concerns; nil otherwise.
func (g *Group) counting() *tally {
	if g.tally == nil || !g.tally.active {
		return nil
	}
	return g.tally
}

// MinCount is the count from which a spread over domains other than hosts measures.
func (g *Group) MinCount() int {
	if t := g.counting(); t != nil {
		return g.floor(change{}, t.exact)
	}
	return g.Group.MinCount()
}

// CountsDaemonsOnly reports whether a spread of the level counts pods of DaemonSets, but not the pods that own it. These do not limit how many
// of them share a domain, while their nodes do.
func (lv *Level) CountsDaemonsOnly() bool {
	return slices.ContainsFunc(lv.Owned, func(o Owned) bool { return o.Kind == topology.KindSpread && o.tally != nil && !o.Self })
}

// floor is MinCount after a change of an open node; exact leaves out domains without nodes. A domain that is the only one has no skew, however
// many of the pods that may be there are: they count for the minimum as they do for the domain.
func (g *Group) floor(c change, exact bool) int {
	if g.Host {
		return g.hostFloor(c)
	}
	low, nodes, t := math.MaxInt, 0, g.tally
	known, highest := 0, 0
	for d := range g.Domains() {
		if !g.Known(d) {
			continue
		}
		at := t.at(d, c)
		known, highest = known+1, g.Count(d)+at.high
		if at.certain > 0 {
			nodes++
		}
		switch pods := g.Certain(d); {
		case at.possible > 0 || pods > 0:
			low = min(low, pods+at.low)
		case !exact:
			low = min(low, t.freshIn(g, d))
		}
	}
	switch {
	case nodes < int(g.MinDomains) || low == math.MaxInt:
		return 0
	case known == 1:
		return highest
	}
	return low
}

// hostFloor is the count from which a spread over hosts measures: pods of DaemonSets alone, as other pods may be bound later.
func (g *Group) hostFloor(c change) int {
	t, unchanged := g.tally, c.before.domains == nil && c.after.domains == nil
	if unchanged && t.lowestAt == t.changes {
		return t.lowest
	}
	low, hosts := t.leaving, 0
	measure := func(at domainTally) {
		if at.possible > 0 {
			low = min(low, at.low+at.running)
		}
		if at.certain > 0 {
			hosts++
		}
	}
	last := -1
	if len(c.after.domains) > 0 {
		last = c.after.domains[0]
	}
	for d := range max(len(t.sum), last+1) {
		measure(t.at(d, c))
	}
	if low == math.MaxInt || hosts < int(g.MinDomains) {
		low = 0
	}
	if unchanged {
		t.lowest, t.lowestAt = low, t.changes
	}
	return low
}

func (t *tally) freshIn(g *Group, d int) int {
	n, ok := t.fresh[d]
	if !ok {
		n = t.tallySettings.fresh(g, d)
		t.fresh[d] = n
	}
	return n
}

// Expected is how many pods of DaemonSets may start in a domain that the group counts then.
func (g *Group) Expected(d int) int {
	if t := g.counting(); t != nil {
		return t.at(d, change{}).high
	}
	return 0
}

// Allowed is how many pods of an owner domain d may take, see topology.Group.
func (g *Group) Allowed(d, floor int, self bool) int {
	if !g.Known(d) {
		return 0
	}
	return g.allowedAfter(d, 0, floor, self, change{})
}

// AllowedOnHost is Allowed for the hostname label.
func (g *Group) AllowedOnHost(d, floor int, self bool) int {
	if g.counting() != nil && g.Kind == topology.KindSpread {
		floor = max(floor, g.hostFloor(change{}))
	}
	return g.allowedAfter(d, 0, floor, self, change{})
}

// allowedAfter is how many pods a domain may take after a change of an open node, beside so many more pods.
func (g *Group) allowedAfter(d, more, floor int, self bool, c change) int {
	if t := g.counting(); t != nil {
		at := t.at(d, c)
		if g.IsAffinity() {
			if more += at.low; more == 0 && g.firstBeside(d, self) {
				return topology.Unlimited
			}
		} else {
			more += at.high
		}
	}
	return g.AllowedBeside(d, more, floor, self)
}

// expectsAny reports whether pods of DaemonSets may start anywhere that the group counts then.
func (g *Group) expectsAny() bool {
	t := g.counting()
	if t == nil {
		return false
	}
	for _, at := range t.sum {
		if at.high > 0 {
			return true
		}
	}
	return false
}

// firstBeside reports whether pods may go to a domain although no pod that their affinity selects is certain to be there: all pods of
// DaemonSets that may start anywhere would start in this domain. Either one of them is there, or none is anywhere and the pods are the first.
func (g *Group) firstBeside(d int, self bool) bool {
	only, ok := g.onlyExpected()
	return ok && only == d && g.MayBeFirst(self)
}

// onlyExpected is the one domain in which all pods of DaemonSets would start that may start, if there is one.
func (g *Group) onlyExpected() (d int, ok bool) {
	t := g.counting()
	if t == nil {
		return 0, false
	}
	for other, at := range t.sum {
		switch {
		case at.high == 0:
		case ok || at.undecided > 0:
			return 0, false
		default:
			d, ok = other, true
		}
	}
	return d, ok
}

// expected are the domains in which pods of DaemonSets may start.
func (t *tally) expected() (out []int) {
	for d, at := range t.sum {
		if at.high > 0 {
			out = append(out, d)
		}
	}
	return out
}
