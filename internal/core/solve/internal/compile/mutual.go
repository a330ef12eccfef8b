package compile

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// Problem: spread and affinity count the pods on a node whose domain is undecided only once the node is launched. Mostly that does no harm:
// pods without the constraint can be bound after those that have it. Where pods of two classes count each other over different labels, those
// of each class may have to be bound before those of the other. The same holds for affinity to others on one host: the first pod of such an
// affinity has to be bound before there are others.
// Approach: pods that others count over a label, and that count these others over another label, get one domain of the first label.
// Cost: a look at the pairs of classes that count each other, at most maxPairs.

// maxPairs is for how many pairs of a class and an owner of a group that counts it the search for such classes goes on: with thousands of
// different pods it is not worth the time.
const maxPairs = 1 << 16

// decideMutual finds the labels of which classes need one domain.
func (r *Run) decideMutual() {
	owners, onHost := map[*Group][]*Class{}, false
	for _, c := range r.Classes.list {
		for _, g := range c.Owns.Part(PartRequired) {
			if g.countsLate() {
				owners[g] = append(owners[g], c)
			}
			onHost = onHost || g.Host && g.IsAffinity()
		}
	}
	if len(owners) == 0 || len(owners) == 1 && !onHost {
		return
	}
	pairs := 0
	for _, c := range r.Classes.list {
		for _, g := range c.members {
			if len(owners[g]) == 0 || c.constrains(g.Key) {
				continue
			}
			if pairs += len(owners[g]); pairs > maxPairs {
				return
			}
			if slices.ContainsFunc(owners[g], c.countsOpenly) {
				c.decide(g.Key)
				r.mutual = true
			}
		}
	}
}

// countsLate reports whether the group counts pods only once their domain is decided.
func (g *Group) countsLate() bool { return !g.Host && g.Kind != topology.KindAnti }

// constrains reports whether a required constraint of the class gives its pods a domain of the label.
func (c *Class) constrains(key int) bool {
	return slices.ContainsFunc(c.Owns.Part(PartRequired), func(g *Group) bool { return g.Key == key && g.countsLate() })
}

// CountedOnlyBy reports whether a required constraint of the owner counts pods of c over a label on which c has no constraint.
func (c *Class) CountedOnlyBy(owner *Class) bool {
	return owner != c && slices.ContainsFunc(owner.Owns.Part(PartRequired), func(g *Group) bool {
		return g.countsLate() && slices.Contains(c.members, g) && !c.constrains(g.Key)
	})
}

// countsOpenly reports whether a required constraint of c counts pods of another class over a label of which these have no domain, or is
// affinity to them on one host.
func (c *Class) countsOpenly(other *Class) bool {
	return other != c && slices.ContainsFunc(c.Owns.Part(PartRequired), func(g *Group) bool {
		return (g.countsLate() || g.Host && g.IsAffinity()) && slices.Contains(other.members, g) && !other.constrains(g.Key)
	})
}

// decide makes every level of the class choose a domain of the label.
func (c *Class) decide(key int) {
	if slices.Contains(c.decided, key) {
		return
	}
	c.decided, c.Pinned = append(c.decided, key), true
	for _, lv := range c.Levels {
		if lv.Plain() {
			lv.Variants = nil
		}
		if !slices.Contains(lv.Keys, key) {
			decided := *lv.LevelConstraints // other classes share them
			decided.Keys = append(slices.Clip(lv.Keys), key)
			slices.Sort(decided.Keys)
			lv.LevelConstraints = &decided
		}
	}
}

// Decides reports whether pods of the class need one domain of the label, although no constraint of theirs is about it.
func (c *Class) Decides(key int) bool { return slices.Contains(c.decided, key) }

// SpreadByOthers reports whether spreads over a label count pods of the class.
func SpreadByOthers(c *Class, key int) bool {
	return slices.ContainsFunc(c.members, func(g *Group) bool { return g.Key == key && g.Kind == topology.KindSpread })
}

// SpreadIn is how many pods the spreads that count those of the class count in a domain of a label.
func SpreadIn(c *Class, key, d int) (count int) {
	for _, g := range c.members {
		if g.Key == key && g.Kind == topology.KindSpread {
			count += g.Count(d) + g.Expected(d)
		}
	}
	return count
}
