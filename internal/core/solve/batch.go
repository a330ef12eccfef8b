package solve

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// fill is pods of one class put into a claim in one go, at one stage and in the form of their question that the claim accepted.
type batch struct {
	level *level
	form  *conjunction
	pods  []*model.Pod
}

func (f batch) class() *class { return f.level.class }

// wishesApart reports whether the stage keeps pods of the class off a machine of their like, although they do not demand it.
func (c *class) prefersAntiAffinity(st *level) bool {
	return slices.ContainsFunc(st.hosts, func(o owned) bool {
		return o.self && !slices.ContainsFunc(c.final.hosts, func(other owned) bool { return other.group == o.group })
	})
}

// lowered is the pods with the first of their later stages that will do. It is not ok if there is none, or if the pods are
// bound to domains or to where their volumes are.
func (f batch) relaxed(will func(*level) bool) (lower batch, ok bool) {
	if !f.level.plain() || f.form != f.level.conjunction || len(f.class().shape.VolumeTopology) > 0 {
		return batch{}, false
	}
	for _, st := range f.class().levels[slices.Index(f.class().levels, f.level):] {
		if st.plain() && st.strict == f.level.strict && st.tolerant == f.level.tolerant && will(st) {
			return batch{st, st.conjunction, f.pods}, true
		}
	}
	return batch{}, false
}

// wishes reports whether some pods of the claim have a wish about nodes or about who else is there.
func (on *openNode) hasPreferences() bool {
	return slices.ContainsFunc(on.batches, func(f batch) bool { return !f.level.withoutPreferences(f.class()) })
}

// humble reports whether the stage asks for no more than the class demands.
func (st *level) withoutPreferences(c *class) bool {
	return st.conjunction == st.strict && len(st.hosts) == len(c.final.hosts)
}

// humble is the pods without any wish.
func (f batch) withoutPreferences() (lower batch, ok bool) {
	for _, list := range f.class().counting() {
		if slices.ContainsFunc(list, func(g *group) bool { return !g.host }) {
			return batch{}, false // the domain in which they are counted is not to change
		}
	}
	return f.relaxed(func(st *level) bool { return st.withoutPreferences(f.class()) })
}

// mayChange reports whether the alternative that the pods were given is all that binds them: no wish, no domain, no volume.
func (f batch) hasFreeAlternative() bool {
	return len(f.class().alternatives) > 1 && len(f.class().shape.VolumeTopology) == 0 && f.level.plain() && f.level.conjunction == f.level.strict && f.form == f.level.conjunction
}
