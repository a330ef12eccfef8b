package topology

import (
	"math"
	"slices"
)

// Kind is what a group demands.
type Kind uint8

// The kinds of groups.
const (
	KindSpread Kind = iota
	KindAffinity
	KindAnti
)

// String is the word that messages use.
func (k Kind) String() string {
	return [...]string{"topology spread", "pod affinity", "pod anti-affinity"}[k]
}

// Unlimited is the room of a domain that takes any number of pods.
const Unlimited = math.MaxInt

// Group counts the pods of one constraint by domain. Domains are numbers that the caller gives out; a number that was never
// mentioned is an unknown domain with no pods.
//
// Invariant: counts only grow.
type Group struct {
	Kind Kind
	// MaxSkew and MinDomains are those of a spread.
	MaxSkew, MinDomains int32

	counts []int32
	known  []bool
	// counted are the domains with pods, in the order in which they got their first.
	counted []int
	// elsewhere is set when pods were counted in a domain that nothing can be placed in any more.
	elsewhere bool
	// changed is set by whatever has to be taken back by Restore.
	changed bool
}

// Restore makes g count what o counts. It costs nothing if nothing was counted since g was restored from o last.
func (g *Group) Restore(o *Group) {
	if g.counts != nil && !g.changed {
		return
	}
	g.Kind, g.MaxSkew, g.MinDomains, g.elsewhere, g.changed = o.Kind, o.MaxSkew, o.MinDomains, o.elsewhere, false
	g.counts = append(g.counts[:0], o.counts...)
	g.known = append(g.known[:0], o.known...)
	g.counted = append(g.counted[:0], o.counted...)
}

// Touch makes the next Restore copy whatever happened before.
func (g *Group) Touch() { g.changed = true }

// Truncate forgets the domains from d on.
func (g *Group) Truncate(d int) {
	g.changed = true
	g.counts, g.known = g.counts[:min(d, len(g.counts))], g.known[:min(d, len(g.known))]
	g.counted = slices.DeleteFunc(g.counted, func(other int) bool { return other >= d })
}

// Remove takes one pod out of the count of a domain that has some.
func (g *Group) Remove(d int) {
	g.changed = true
	if g.counts[d]--; g.counts[d] == 0 {
		g.counted = slices.DeleteFunc(g.counted, func(other int) bool { return other == d })
	}
}

// AddDomain makes d a domain, with no pods yet.
func (g *Group) AddDomain(d int) {
	g.grow(d)
	g.known[d], g.changed = true, true
}

// Add counts n more pods in d.
func (g *Group) Add(d, n int) {
	g.grow(d)
	g.known[d], g.changed = true, true
	if g.counts[d] == 0 && n > 0 {
		g.counted = append(g.counted, d)
	}
	g.counts[d] += int32(min(n, math.MaxInt32)) //nolint:gosec // bounded by min
}

// AddElsewhere notes that a domain has pods in which nothing can be placed.
func (g *Group) AddElsewhere() { g.elsewhere, g.changed = true, true }

func (g *Group) grow(d int) {
	if more := d + 1 - len(g.counts); more > 0 {
		g.counts = append(g.counts, make([]int32, more)...)
		g.known = append(g.known, make([]bool, more)...)
	}
}

// Count is how many pods d has.
func (g *Group) Count(d int) int {
	if d < len(g.counts) {
		return int(g.counts[d])
	}
	return 0
}

// Known reports whether d is a domain of the group.
func (g *Group) Known(d int) bool { return d < len(g.known) && g.known[d] }

// Counted are the domains that have pods, in the order in which they got their first. The slice is the group's own.
func (g *Group) Counted() []int { return g.counted }

// DomainFilter answers whether d is one of the domains that a pod may use at all.
type DomainFilter func(d int) bool

// MinCount is the count that a spread measures from: the lowest among the known domains within reach of the pod, or 0 when
// there are fewer of them than MinDomains.
func (g *Group) MinCount(within DomainFilter) int {
	low, n := int32(math.MaxInt32), int32(0)
	for d, known := range g.known {
		if known && within(d) {
			low = min(low, g.counts[d])
			n++
		}
	}
	if n == 0 || n < g.MinDomains {
		return 0
	}
	return int(low)
}

// Bootstraps reports whether a pod that the group selects may start a new domain: nothing is counted yet within its reach.
func (g *Group) Bootstraps(self bool, within DomainFilter) bool {
	if !self {
		return false
	}
	if len(g.counted) == 0 && !g.elsewhere {
		return true
	}
	for _, d := range g.counted {
		if within(d) {
			return false
		}
	}
	return len(g.counted) > 0
}

// Allowed is how many pods of an owner domain d may take: none, some, or Unlimited. self tells whether the group counts the
// owner's own pods; floor is that of the moment. Bootstrapping is the caller's to ask for.
func (g *Group) Allowed(d, floor int, self bool) int {
	if !g.Known(d) {
		return 0
	}
	return g.AllowedOnHost(d, floor, self)
}

// AllowedOnHost is Room for domains that are machines: every machine is known, and a new one can always be had, so that
// spreads measure from floor 0.
func (g *Group) AllowedOnHost(d, floor int, self bool) int {
	count := g.Count(d)
	switch {
	case g.Kind == KindAffinity && count == 0, g.Kind == KindAnti && count > 0:
		return 0
	case g.Kind == KindAnti && self:
		return 1
	case g.Kind != KindSpread:
		return Unlimited
	case self:
		return max(int(g.MaxSkew)+floor-count, 0)
	case count-floor <= int(g.MaxSkew):
		return Unlimited
	}
	return 0
}
