package compile

import (
	"encoding/binary"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
)

// Problem: pods of a few workloads come in many sizes: 4 000 pods of 140 constraints are of 2 400 classes, each with up to three levels.
//
// Approach: classes with equal constraints that the same groups count share the constraints of their levels, which the first of them
// compiles. What a class has tried, and what depends on requests and volumes, stays with the class.
//
// Invariant: a class has the levels that it would have alone. Cost: one look-up for each class.

// sharedLevelSize is about how many bytes a level takes whose constraints are shared.
const sharedLevelSize = 48

// sharedLevels is what classes with equal constraints share.
type sharedLevels struct {
	levels []*LevelConstraints
	// final is the place of Class.Final among the levels.
	final         int
	uncountedKeys []int
}

// findLevels compiles the levels of a class, or takes them over from a class with equal constraints.
func findLevels(cs *Classes, c *Class) {
	all := cs.preferences(c)
	if len(c.late) > 0 { // its membership has no number
		cs.addLevels(c, all)
		c.findUncountedKeys()
		return
	}
	id := constraintsOf(cs, c, all)
	if shared, ok := cs.constrained[string(id)]; ok {
		shareLevels(cs, c, shared)
		return
	}
	shared := &sharedLevels{}
	cs.constrained[string(id)] = shared
	cs.addLevels(c, all)
	c.findUncountedKeys()
	shared.levels, shared.uncountedKeys = make([]*LevelConstraints, len(c.Levels)), slices.Clip(c.UncountedKeys)
	for i, lv := range c.Levels {
		shared.levels[i] = lv.LevelConstraints
		if lv == c.Final {
			shared.final = i
		}
	}
}

// constraintsOf is equal for classes whose levels have the same constraints, in memory that the next call uses again.
func constraintsOf(cs *Classes, c *Class, all preferences) []byte {
	id := binary.AppendUvarint(cs.scratch[:0], uint64(c.membership.number)) //nolint:gosec // numbers count from zero
	for _, end := range c.Owns.ends {
		id = binary.AppendVarint(id, int64(end))
	}
	for _, g := range c.Owns.list {
		id = binary.AppendVarint(id, int64(g.number))
	}
	id = binary.AppendVarint(id, int64(all.count()))
	id = binary.AppendVarint(id, int64(len(c.Alternatives)))
	for _, alternative := range c.Alternatives {
		id = binary.AppendVarint(id, int64(alternative.Number))
	}
	cs.scratch = id
	for _, p := range all.preferred {
		start := len(id)
		for _, r := range p.Terms {
			id = append(append(id, index.Identity(r)...), 1)
		}
		number, ok := cs.preferred[string(id[start:])]
		if !ok {
			number = len(cs.preferred)
			cs.preferred[string(id[start:])] = number
		}
		id = binary.AppendVarint(id[:start], int64(number))
	}
	cs.scratch = id
	return id
}

// shareLevels gives a class the levels of those with equal constraints.
func shareLevels(cs *Classes, c *Class, shared *sharedLevels) {
	many := len(shared.levels)
	cs.Universe.Bytes += int64(sharedLevelSize * many)
	c.Levels, c.UncountedKeys = cs.levelLists.take(many)[:0], shared.uncountedKeys
	levels := cs.levels.take(many)
	for i, constraints := range shared.levels {
		levels[i] = Level{LevelConstraints: constraints, Class: c}
		cs.appendLevel(c, &levels[i])
	}
	c.Final = c.Levels[shared.final]
	c.tiers = cs.tiersOf(c.Levels)
}
