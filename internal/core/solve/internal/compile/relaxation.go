package compile

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// preferences are the soft constraints that have not been relaxed yet, each list in the order of relaxation.
type preferences struct {
	affinity, antiAffinity []*Group
	preferred              []model.Preference
	spread                 []*Group
}

// count is how many preferences there are.
func (w preferences) count() int {
	return len(w.affinity) + len(w.antiAffinity) + len(w.preferred) + len(w.spread)
}

func (w preferences) none() bool { return w.count() == 0 }

// relax is w without the preference that is relaxed next. Source: scheduling specification, relaxation order.
func (w preferences) relax() preferences {
	switch {
	case len(w.affinity) > 0:
		w.affinity = w.affinity[1:]
	case len(w.antiAffinity) > 0:
		w.antiAffinity = w.antiAffinity[1:]
	case len(w.preferred) > 0:
		w.preferred = w.preferred[1:]
	case len(w.spread) > 0:
		w.spread = w.spread[1:]
	}
	return w
}

func (cs *Classes) preferences(c *Class) preferences {
	if cs.options.Preferences == model.IgnorePreferences || cs.OverPreferenceBudget() {
		return preferences{}
	}
	d := c.Owns
	preferred, order := c.Shape.Preferred, func(a, b model.Preference) int { return int(b.Weight) - int(a.Weight) }
	if !slices.IsSortedFunc(preferred, order) {
		preferred = slices.Clone(preferred)
		slices.SortStableFunc(preferred, order)
	}
	return preferences{affinity: d.Part(partAffinity), antiAffinity: d.Part(partAntiAffinity), preferred: preferred, spread: d.Part(partSpread)}
}

// addLevels compiles the levels: alternatives of required affinity are relaxed from the first on, then preferences in their
// order, then PreferNoSchedule taints are tolerated. Source: scheduling specification, relaxation order.
//
// That order may relax an alternative because of a preference that comes with it, and end at an alternative that nothing
// meets. So before a pod is unschedulable, the relaxed alternatives are tried once more, without preferences.
func (cs *Classes) addLevels(c *Class, all preferences) {
	last := c.Shape.Alternatives() - 1
	c.Levels = cs.levelLists.take(last + all.count() + 2)[:0]
	for i := range last {
		cs.addLevel(c, i, all, false)
	}
	for w := all; ; w = w.relax() {
		cs.addLevel(c, last, w, false)
		if w.none() {
			break
		}
	}
	if cs.softTaints {
		cs.addLevel(c, last, preferences{}, true)
	}
	c.Final = c.lastLevel()
	for i := range last {
		if !all.none() {
			cs.addLevel(c, i, preferences{}, false)
		}
		if cs.softTaints {
			cs.addLevel(c, i, preferences{}, true)
		}
	}
	c.tiers = cs.tiersOf(c.Levels)
}

// addLevel appends a level unless it is the same as the one before.
func (cs *Classes) addLevel(c *Class, alternative int, w preferences, tolerant bool) {
	st := cs.levels.next()
	st.Class, st.LevelConstraints = c, cs.constraints.next()
	*st.LevelConstraints = LevelConstraints{Strict: c.Alternatives[alternative], Tolerant: tolerant, preferring: !w.none(), relaxed: -w.count()}
	if tolerant {
		st.relaxed++
	}
	st.Conjunction = st.Strict
	if len(w.preferred) > 0 {
		st.Conjunction = cs.Intern(st.Strict.Set.And(w.preferred[0].Terms))
	}
	cs.bindAll(c, st, c.Owns.Part(PartRequired), w.affinity, w.antiAffinity, w.spread)
	if before := c.lastLevel(); before != nil && before.same(st) {
		before.preferring = st.preferring
		return
	}
	cs.enterLevel(c, st)
	cs.addBeside(c, st)
}

// lastLevel is the last level that relies on no DaemonSet; nil if there is none.
func (c *Class) lastLevel() *Level {
	for _, lv := range slices.Backward(c.Levels) {
		if lv.Beside == nil {
			return lv
		}
	}
	return nil
}

// enterLevel completes a level and appends it to those of its class.
func (cs *Classes) enterLevel(c *Class, st *Level) {
	st.Keys = nil
	cs.Universe.Bytes += int64(levelSize + ownedSize*(len(st.Owned)+len(st.Hosts)))
	for _, g := range c.Avoid {
		st.addKey(g.Key)
	}
	for _, o := range st.Owned {
		st.addKey(o.Key)
	}
	slices.Sort(st.Keys)
	cs.appendLevel(c, st)
}

// appendLevel appends a level with its constraints to those of its class.
func (cs *Classes) appendLevel(c *Class, st *Level) {
	if st.Plain() {
		st.Variants = cs.variantLists.take(1)
		st.Variants[0] = cs.Variant(c, st.Conjunction)
	}
	c.Pinned = c.Pinned || !st.Plain() || st.HostAffinity
	c.Levels = append(c.Levels, st)
}

// Bind makes g one of the groups of a level, whose constraints are not shared yet.
func (lv *LevelConstraints) Bind(c *Class, g *Group) {
	o := Owned{g, slices.Contains(c.members, g)}
	if !g.Host {
		lv.Owned = append(lv.Owned, o)
		return
	}
	lv.Hosts = append(lv.Hosts, o)
	lv.HostAffinity = lv.HostAffinity || g.IsAffinity()
}

// addKey adds a label that some group constrains.
func (lv *LevelConstraints) addKey(key int) {
	if !slices.Contains(lv.Keys, key) {
		lv.Keys = append(lv.Keys, key)
	}
}

// bindAll makes the groups of some lists those of a new level.
func (cs *Classes) bindAll(c *Class, lv *Level, lists ...[]*Group) {
	many, hosts := 0, 0
	for _, list := range lists {
		many += len(list)
		for _, g := range list {
			if g.Host {
				hosts++
			}
		}
	}
	if many == 0 {
		return
	}
	owned := cs.owned.take(many)
	lv.Owned, lv.Hosts = owned[:0:many-hosts], owned[many-hosts:][:0]
	for _, list := range lists {
		for _, g := range list {
			lv.Bind(c, g)
		}
	}
}

func (lv *Level) same(o *Level) bool {
	return lv.Conjunction == o.Conjunction && lv.Strict == o.Strict && lv.Tolerant == o.Tolerant &&
		slices.Equal(lv.Owned, o.Owned) && slices.Equal(lv.Hosts, o.Hosts)
}

// Variant is a level's requirements in the domains that want adds to them.
func (cs *Classes) Variant(c *Class, want *Conjunction) *DomainVariant {
	cs.Universe.Bytes += int64(variantSize + cursorSize*cs.Templates)
	dv := cs.variants.next()
	*dv = DomainVariant{Want: want, cursors: cs.cursors.take(cs.Templates)}
	for _, reach := range c.Shape.VolumeTopology {
		dv.Forms = append(dv.Forms, cs.Intern(want.Set.And(reach)))
	}
	if len(dv.Forms) == 0 {
		dv.Forms = want.List[:]
	}
	dv.Forms = cs.withDecisions(cs.withExclusions(dv.Forms, c.daemonExclusions), c.decisions)
	return dv
}
