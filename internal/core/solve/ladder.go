package solve

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// wishes are the soft parts of a question that have not been given up yet, each list in the order of giving up.
type wishes struct {
	near, far []*group
	preferred []model.Preference
	spread    []*group
}

func (w wishes) none() bool {
	return len(w.near)+len(w.far)+len(w.preferred)+len(w.spread) == 0
}

// less is w without the wish that is given up next. Source: scheduling specification, relaxation order.
func (w wishes) less() wishes {
	switch {
	case len(w.near) > 0:
		w.near = w.near[1:]
	case len(w.far) > 0:
		w.far = w.far[1:]
	case len(w.preferred) > 0:
		w.preferred = w.preferred[1:]
	case len(w.spread) > 0:
		w.spread = w.spread[1:]
	}
	return w
}

func (cs *classes) wishes(c *class) wishes {
	if cs.options.IgnorePreferences {
		return wishes{}
	}
	d := c.owns
	preferred := slices.Clone(c.shape.Preferred)
	slices.SortStableFunc(preferred, func(a, b model.Preference) int { return int(b.Weight) - int(a.Weight) })
	return wishes{near: d.part(partNear), far: d.part(partFar), preferred: preferred, spread: d.part(partSpread)}
}

// ladder lays out the stages: alternatives of required affinity are given up from the first on, then wishes in their order,
// then the aversion to softly tainted nodes. Source: scheduling specification, relaxation order.
//
// That order gives up an alternative because of a wish that comes with it, and may end at an alternative that nothing
// meets. So before a pod is refused, the alternatives that were given up are asked once more, without wishes.
func (cs *classes) ladder(c *class) {
	last := c.shape.Alternatives() - 1
	all := cs.wishes(c)
	for i := range last {
		cs.stage(c, i, all, false)
	}
	for w := all; ; w = w.less() {
		cs.stage(c, last, w, false)
		if w.none() {
			break
		}
	}
	if cs.soft {
		cs.stage(c, last, wishes{}, true)
	}
	c.final = c.stages[len(c.stages)-1]
	for i := range last {
		if !all.none() {
			cs.stage(c, i, wishes{}, false)
		}
		if cs.soft {
			cs.stage(c, i, wishes{}, true)
		}
	}
}

// stage appends a stage unless it asks the same as the one before.
func (cs *classes) stage(c *class, alternative int, w wishes, tolerant bool) {
	st := &stage{class: c, strict: c.alternatives[alternative], tolerant: tolerant}
	st.conjunction = st.strict
	if len(w.preferred) > 0 {
		st.conjunction = cs.intern(st.strict.set.And(w.preferred[0].Terms))
	}
	for _, list := range [][]*group{c.owns.part(partRequired), w.near, w.far, w.spread} {
		for _, g := range list {
			st.bind(c, g)
		}
	}
	if n := len(c.stages); n > 0 && c.stages[n-1].same(st) {
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
		st.lanes = []*lane{cs.lane(c, st.conjunction)}
	} else {
		c.bound = true
	}
	c.bound = c.bound || st.near
	c.stages = append(c.stages, st)
}

// bind makes g one of the stage's groups.
func (st *stage) bind(c *class, g *group) {
	o := owned{g, slices.Contains(c.members, g)}
	if !g.host {
		st.owned = append(st.owned, o)
		return
	}
	st.hosts = append(st.hosts, o)
	st.near = st.near || g.attracts()
}

func (st *stage) ownedGroups() []*group {
	out := make([]*group, len(st.owned))
	for i, o := range st.owned {
		out[i] = o.group
	}
	return out
}

func (st *stage) same(o *stage) bool {
	return st.conjunction == o.conjunction && st.strict == o.strict && st.tolerant == o.tolerant &&
		slices.Equal(st.owned, o.owned) && slices.Equal(st.hosts, o.hosts)
}

// lane is a stage's question in the domains that want adds to it.
func (cs *classes) lane(c *class, want *conjunction) *lane {
	ln := &lane{want: want, spots: make([]spot, cs.templates)}
	for _, reach := range c.shape.VolumeTopology {
		ln.forms = append(ln.forms, cs.intern(want.set.And(reach)))
	}
	if len(ln.forms) == 0 {
		ln.forms = want.alone[:]
	}
	return ln
}
