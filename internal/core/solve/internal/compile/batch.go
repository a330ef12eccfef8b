package compile

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// Batch is pods of one class put on an open node at once, at one level and in the form of their requirements that the open
// node accepted.
type Batch struct {
	Level *Level
	Form  *Conjunction
	Pods  []*model.Pod
	// served is the class as devices serve it on the node; nil for the class of the level.
	served *Class
}

// Class is the class of the pods.
func (f Batch) Class() *Class {
	if f.served != nil {
		return f.served
	}
	return f.Level.Class
}

// PrefersAntiAffinity reports whether the level keeps pods of the class off hosts with pods of the same class because of a
// preference.
func (c *Class) PrefersAntiAffinity(lv *Level) bool {
	return slices.ContainsFunc(lv.Hosts, func(o Owned) bool {
		return o.Self && !slices.ContainsFunc(c.Final.Hosts, func(other Owned) bool { return other.Group == o.Group })
	})
}

// Relaxed is the pods at the first of their later levels that is accepted. It is not ok if there is none, or if the pods are
// bound to domains or to the places of their volumes.
func (f Batch) Relaxed(will func(*Level) bool) (lower Batch, ok bool) {
	if !f.Level.Plain() || f.Form != f.Level.Conjunction || len(f.Class().Shape.VolumeTopology) > 0 {
		return Batch{}, false
	}
	for _, st := range f.Class().Levels[slices.Index(f.Class().Levels, f.Level):] {
		if st.Plain() && st.Beside == f.Level.Beside && st.Strict == f.Level.Strict && st.Tolerant == f.Level.Tolerant && will(st) {
			return Batch{st, st.Conjunction, f.Pods, f.served}, true
		}
	}
	return Batch{}, false
}

// HasPreferences reports whether some pods of the open node have preferences about nodes or about the other pods there.
func (on *OpenNode) HasPreferences() bool {
	return slices.ContainsFunc(on.Batches, func(f Batch) bool { return !f.Level.withoutPreferences(f.Class()) })
}

// withoutPreferences reports whether the level requires no more than the class does.
func (lv *Level) withoutPreferences(c *Class) bool {
	return lv.Conjunction == lv.Strict && len(lv.Hosts) == len(c.Final.Hosts)
}

// WithoutPreferences is the pods without any preference.
func (f Batch) WithoutPreferences() (lower Batch, ok bool) {
	for _, list := range f.Class().Counting() {
		if slices.ContainsFunc(list, func(g *Group) bool { return !g.Host }) {
			return Batch{}, false // the domain in which they are counted is not to change
		}
	}
	return f.Relaxed(func(st *Level) bool { return st.withoutPreferences(f.Class()) })
}

// HasFreeAlternative reports whether the pods are bound by the alternative that they were given alone: by no preference,
// domain or volume.
func (f Batch) HasFreeAlternative() bool {
	return len(f.Class().Alternatives) > 1 && f.Level.Beside == nil && len(f.Class().Shape.VolumeTopology) == 0 && f.Level.Plain() && f.Level.Conjunction == f.Level.Strict && f.Form == f.Level.Conjunction
}
