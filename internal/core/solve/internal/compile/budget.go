package compile

import (
	"cmp"
	"slices"
)

// Problem: any user who may create pods chooses their constraints, and what a run remembers about constraints grows with each combination
// of them. Approach: the run counts the bytes that it remembers, roughly. Beyond preferenceBudget, pods are placed without their
// preferences, which are what combinations are made of; beyond memoryBudget, the run stops, and the rest of the pods is undecided.
// Classes that cost much are placed last, so that others never wait for them.

const (
	// preferenceBudget and memoryBudget are in bytes. A run for 12 500 pods of 400 shapes takes less than a tenth of the first.
	preferenceBudget, memoryBudget = 96 << 20, 256 << 20
	// stateBudget is how many bytes of label states a template keeps before those that no open node has are forgotten.
	stateBudget = 24 << 20
	// levelEffort is the effort that a level takes without groups, in parts of that for a group; expensiveEffort is the effort of the
	// levels of a class beyond which it is placed after the others: 50 levels without groups, or 17 soft spread constraints.
	levelEffort, expensiveEffort = 4, 208
)

// Approximate sizes in bytes, beside what is counted.
const (
	conjunctionSize, stateSize, variantSize, levelSize = 250, 500, 100, 250
	wordSize, termSize, ownedSize, cursorSize          = 8, 8, 16, 24
)

// OverPreferenceBudget reports whether preferences are not to be tried any more.
func (cs *Classes) OverPreferenceBudget() bool { return cs.Universe.Bytes > preferenceBudget }

// Exhausted reports whether the run has to stop.
func (cs *Classes) Exhausted() bool { return cs.Universe.Bytes > memoryBudget }

// Expensive reports whether placing the class takes much more effort than usual.
func (c *Class) Expensive() bool {
	effort := 0
	for _, lv := range c.Levels {
		effort += levelEffort + len(lv.Owned) + len(lv.Hosts)
	}
	return effort > expensiveEffort
}

// Tiers returns the levels at which the class is to be tried, in groups: for a group a node is opened before the next group is tried. Where
// preferences are respected, the levels of a group relax equally much. Otherwise there is one group: no node is opened for a preference.
func (cs *Classes) Tiers(c *Class) [][]*Level {
	if !cs.OverPreferenceBudget() {
		return c.tiers
	}
	if c.plainTiers == nil {
		c.plainTiers = cs.tiersOf(cs.LevelsOf(c))
	}
	return c.plainTiers
}

// tiersOf groups levels, which must not change afterwards.
func (cs *Classes) tiersOf(levels []*Level) (tiers [][]*Level) {
	if !cs.options.OpensForPreferences() {
		return [][]*Level{levels}
	}
	order := func(a, b *Level) int { return cmp.Compare(a.relaxed, b.relaxed) }
	if !slices.IsSortedFunc(levels, order) {
		levels = slices.SortedStableFunc(slices.Values(levels), order)
	}
	tiers = cs.tiers.take(len(levels))[:0]
	for start, end := 0, 0; start < len(levels); start = end {
		for end < len(levels) && levels[end].relaxed == levels[start].relaxed {
			end++
		}
		tiers = append(tiers, levels[start:end:end])
	}
	return tiers
}

// LevelsOf returns the levels at which the class is to be tried: all of them, or those without preferences.
func (cs *Classes) LevelsOf(c *Class) []*Level {
	if !cs.OverPreferenceBudget() {
		return c.Levels
	}
	if c.plainLevels == nil {
		c.plainLevels = slices.DeleteFunc(slices.Clone(c.Levels), func(lv *Level) bool { return lv.preferring })
	}
	return c.plainLevels
}

// ForgetStates drops the label states that no open node is in, once they take more than stateBudget. No offer may be under way.
func (t *Template) ForgetStates(open []*OpenNode) {
	if t.stateBytes <= stateBudget {
		return
	}
	before := t.States
	t.States, t.steps = nil, stepCache{}
	t.Universe.Bytes -= t.stateBytes
	t.stateBytes = 0
	clear(t.byTerms)
	moved := map[StateID]StateID{}
	keep := func(id StateID) StateID {
		if to, known := moved[id]; known {
			return to
		}
		moved[id] = t.enter(before[id])
		return moved[id]
	}
	t.Root = keep(t.Root)
	for _, on := range open {
		if on.Template == t {
			on.State = keep(on.State)
		}
	}
}
