package topology

import (
	"math"
	"slices"
)

// Kind is the kind of a group's constraint.
type Kind uint8

// The kinds of groups.
const (
	KindSpread Kind = iota
	KindAffinity
	KindAnti
)

// String returns the name in messages.
func (k Kind) String() string {
	return [...]string{"topology spread", "pod affinity", "pod anti-affinity"}[k]
}

// Unlimited is the result of Allowed for a domain that may take any number of pods.
const Unlimited = math.MaxInt

// Group counts the pods of one constraint by domain. The caller numbers the domains; a number that was never added is an unknown
// domain without pods.
//
// Invariant: counts only grow.
type Group struct {
	Kind Kind
	// MaxSkew and MinDomains are those of a spread.
	MaxSkew, MinDomains int32

	counts []int32
	known  []bool
	// uncertain are the pods among counts that may turn out not to count; nil if all do.
	uncertain []int32
	// counted are the domains with pods, in the order of their first pod.
	counted []int
	// elsewhere is set when pods were counted in a domain in which no pod can be placed any more.
	elsewhere bool
	// changed is set by every change since the last Restore.
	changed bool
}

// Restore sets the counts of g to those of o. It returns at once if g was not changed since it was last restored from o.
func (g *Group) Restore(o *Group) {
	if g.counts != nil && !g.changed {
		return
	}
	g.Kind, g.MaxSkew, g.MinDomains, g.elsewhere, g.changed = o.Kind, o.MaxSkew, o.MinDomains, o.elsewhere, false
	g.counts = append(g.counts[:0], o.counts...)
	g.uncertain = append(g.uncertain[:0], o.uncertain...)
	g.known = append(g.known[:0], o.known...)
	g.counted = append(g.counted[:0], o.counted...)
}

// Touch forces the next Restore to copy.
func (g *Group) Touch() { g.changed = true }

// Truncate removes the domains from d on.
func (g *Group) Truncate(d int) {
	g.changed = true
	g.counts, g.known = g.counts[:min(d, len(g.counts))], g.known[:min(d, len(g.known))]
	g.counted = slices.DeleteFunc(g.counted, func(other int) bool { return other >= d })
}

// Remove subtracts one pod from a domain with pods.
func (g *Group) Remove(d int) {
	g.changed = true
	if g.counts[d]--; g.counts[d] == 0 {
		g.counted = slices.DeleteFunc(g.counted, func(other int) bool { return other == d })
	}
}

// AddDomain adds domain d without pods.
func (g *Group) AddDomain(d int) {
	g.grow(d)
	g.known[d], g.changed = true, true
}

// Restrict leaves the known domains that keep accepts, or all if it accepts none. It returns those that it removed.
func (g *Group) Restrict(keep DomainFilter) (removed []int) {
	left := make([]bool, len(g.known))
	for d, known := range g.known {
		left[d] = known && keep(d)
		if known && !left[d] {
			removed = append(removed, d)
		}
	}
	if !slices.Contains(left, true) {
		return nil
	}
	g.known, g.changed = left, true
	return removed
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

// AddUncertain counts n more pods in d that may turn out not to count there: they add to the skew of d, and do not raise the minimum
// count.
func (g *Group) AddUncertain(d, n int) {
	g.Add(d, n)
	g.Doubt(d, n)
}

// Withdraw removes n pods from d that AddUncertain counted there.
func (g *Group) Withdraw(d, n int) {
	g.changed = true
	g.counts[d] -= int32(n)    //nolint:gosec // not more than were added
	g.uncertain[d] -= int32(n) //nolint:gosec // not more than were added
	if g.counts[d] == 0 {
		g.counted = slices.DeleteFunc(g.counted, func(other int) bool { return other == d })
	}
}

// Doubt records that n of the pods in d may turn out not to count there.
func (g *Group) Doubt(d, n int) {
	g.changed = true
	if more := d + 1 - len(g.uncertain); more > 0 {
		g.uncertain = append(g.uncertain, make([]int32, more)...)
	}
	g.uncertain[d] += int32(min(n, math.MaxInt32)) //nolint:gosec // bounded by min
}

// AddElsewhere records that a domain in which no pod can be placed has pods.
func (g *Group) AddElsewhere() { g.elsewhere, g.changed = true, true }

func (g *Group) grow(d int) {
	if more := d + 1 - len(g.counts); more > 0 {
		g.counts = append(g.counts, make([]int32, more)...)
		g.known = append(g.known, make([]bool, more)...)
	}
}

// Count returns the number of pods in d.
func (g *Group) Count(d int) int {
	if d < len(g.counts) {
		return int(g.counts[d])
	}
	return 0
}

// Certain returns the number of pods in d without those that may turn out not to count.
func (g *Group) Certain(d int) int {
	n := g.Count(d)
	if d < len(g.uncertain) && d < len(g.counts) {
		n -= int(g.uncertain[d])
	}
	return n
}

// Domains returns a number above those of all known domains.
func (g *Group) Domains() int { return len(g.known) }

// Known reports whether d is a domain of the group.
func (g *Group) Known(d int) bool { return d < len(g.known) && g.known[d] }

// Counted returns the domains with pods, in the order of their first pod. The slice must not be changed.
func (g *Group) Counted() []int { return g.counted }

// DomainFilter reports whether a pod may use domain d.
type DomainFilter func(d int) bool

// MinCount returns the minimum count from which a spread measures skew: the lowest among the known domains, without the pods that may
// not count, or 0 if there are fewer domains than MinDomains.
func (g *Group) MinCount() int { return g.MinCountBeside(0, 0) }

// MinCountBeside is MinCount with so many more pods in a domain than are counted there.
func (g *Group) MinCountBeside(in, more int) int {
	low, n := int32(math.MaxInt32), int32(0)
	for d, known := range g.known {
		if known {
			certain := g.counts[d]
			if d < len(g.uncertain) {
				certain -= g.uncertain[d]
			}
			if d == in {
				certain += int32(min(more, math.MaxInt32)) //nolint:gosec // bounded by min
			}
			low = min(low, certain)
			n++
		}
	}
	if n == 0 || n < g.MinDomains {
		return 0
	}
	return int(low)
}

// Empty reports whether no pod is counted anywhere.
func (g *Group) Empty() bool { return len(g.counted) == 0 && !g.elsewhere }

// Allowed returns how many pods of an owner domain d may take: none, some, or Unlimited. self is set if the group counts the
// owner's own pods; floor is the current MinCount. The caller handles the first pod
// of an affinity.
func (g *Group) Allowed(d, floor int, self bool) int {
	if !g.Known(d) {
		return 0
	}
	return g.AllowedOnHost(d, floor, self)
}

// AllowedOnHost is Allowed for the hostname label: every node is a known domain, and a new one can always be launched, so that
// spreads measure from 0.
func (g *Group) AllowedOnHost(d, floor int, self bool) int { return g.AllowedBeside(d, 0, floor, self) }

// AllowedBeside is AllowedOnHost with so many more pods in the domain than are counted there.
func (g *Group) AllowedBeside(d, more, floor int, self bool) int {
	count := g.Count(d) + more
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
