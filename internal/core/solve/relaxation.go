package solve

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// wishes are the soft parts of a question that have not been given up yet, each list in the order of giving up.
type preferences struct {
	affinity, antiAffinity []*group
	preferred              []model.Preference
	spread                 []*group
}

func (w preferences) none() bool {
	return len(w.affinity)+len(w.antiAffinity)+len(w.preferred)+len(w.spread) == 0
}

// less is w without the wish that is given up next. Source: scheduling specification, relaxation order.
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

func (cs *classes) preferences(c *class) preferences {
	if cs.options.IgnorePreferences {
		return preferences{}
	}
	d := c.owns
	preferred := slices.Clone(c.shape.Preferred)
	slices.SortStableFunc(preferred, func(a, b model.Preference) int { return int(b.Weight) - int(a.Weight) })
	return preferences{affinity: d.part(partAffinity), antiAffinity: d.part(partAntiAffinity), preferred: preferred, spread: d.part(partSpread)}
}

// ladder lays out the stages: alternatives of required affinity are given up from the first on, then wishes in their order,
// then the aversion to softly tainted nodes. Source: scheduling specification, relaxation order.
//
// That order gives up an alternative because of a wish that comes with it, and may end at an alternative that nothing
// meets. So before a pod is refused, the alternatives that were given up are asked once more, without wishes.
func (cs *classes) addLevels(c *class) {
	last := c.shape.Alternatives() - 1
	all := cs.preferences(c)
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
	c.final = c.levels[len(c.levels)-1]
	for i := range last {
		if !all.none() {
			cs.addLevel(c, i, preferences{}, false)
		}
		if cs.softTaints {
			cs.addLevel(c, i, preferences{}, true)
		}
	}
}

// stage appends a stage unless it asks the same as the one before.
func (cs *classes) addLevel(c *class, alternative int, w preferences, tolerant bool) {
	st := &level{class: c, strict: c.alternatives[alternative], tolerant: tolerant}
	st.conjunction = st.strict
	if len(w.preferred) > 0 {
		st.conjunction = cs.intern(st.strict.set.And(w.preferred[0].Terms))
	}
	for _, list := range [][]*group{c.owns.part(partRequired), w.affinity, w.antiAffinity, w.spread} {
		for _, g := range list {
			st.bind(c, g)
		}
	}
	if n := len(c.levels); n > 0 && c.levels[n-1].same(st) {
		return
	}
	for _, list := range [][]*group{c.avoid, st.ownedGroups()} {
		for _, g := range list {
			if !slices.Contains(st.keys, g.key) {
				st.keys = append(st.keys, g.key)
			}
		}
	}
	slices.Sort(st.keys)
	if len(st.keys) == 0 {
		st.variants = []*domainVariant{cs.variant(c, st.conjunction)}
	} else {
		c.pinned = true
	}
	c.pinned = c.pinned || st.hostAffinity
	c.levels = append(c.levels, st)
}

// bind makes g one of the stage's groups.
func (st *level) bind(c *class, g *group) {
	o := owned{g, slices.Contains(c.members, g)}
	if !g.host {
		st.owned = append(st.owned, o)
		return
	}
	st.hosts = append(st.hosts, o)
	st.hostAffinity = st.hostAffinity || g.isAffinity()
}

func (st *level) ownedGroups() []*group {
	out := make([]*group, len(st.owned))
	for i, o := range st.owned {
		out[i] = o.group
	}
	return out
}

func (st *level) same(o *level) bool {
	return st.conjunction == o.conjunction && st.strict == o.strict && st.tolerant == o.tolerant &&
		slices.Equal(st.owned, o.owned) && slices.Equal(st.hosts, o.hosts)
}

// lane is a stage's question in the domains that want adds to it.
func (cs *classes) variant(c *class, want *conjunction) *domainVariant {
	dv := &domainVariant{want: want, cursors: make([]templateCursor, cs.templates)}
	for _, reach := range c.shape.VolumeTopology {
		dv.forms = append(dv.forms, cs.intern(want.set.And(reach)))
	}
	if len(dv.forms) == 0 {
		dv.forms = want.list[:]
	}
	return dv
}
