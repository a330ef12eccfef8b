package compile

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// Problem: pods with required affinity to the pods of a DaemonSet may run on every node where the DaemonSet runs, and on a new node its pod
// is not counted yet: it does not exist before the node.
//
// Approach: after each level with such an affinity come levels without it that require what the DaemonSet selects, one for each alternative
// of its node affinity, and after these again without the nodes of the DaemonSets that may take its place by a host port. They hold on nodes
// of the pools that the DaemonSet tolerates, and on existing nodes that expect its pod. Whatever the domains of the node are, the pod of the
// DaemonSet is in them.
//
// Invariant: labels of open nodes only narrow, so that the DaemonSet runs on the node however it ends. Cost: as many levels more, up to
// maxForms for each level, for the pods with such an affinity only.

// addBeside appends the levels of pods that rely on the pods of DaemonSets in place of the affinity that the level requires.
func (cs *Classes) addBeside(c *Class, lv *Level) {
	var near []*Group
	var labels []requirement.Requirement
	for _, g := range c.Owns.Part(PartRequired) {
		if g.IsAffinity() && !g.late {
			near = append(near, g)
			if !g.Host { // kube-scheduler accepts nodes with the label only
				labels = append(labels, requirement.New(cs.Universe.Keys[g.Key].Name, requirement.Exists))
			}
		}
	}
	if len(near) == 0 {
		return
	}
	without := func(list []Owned) []Owned {
		return slices.DeleteFunc(slices.Clone(list), func(o Owned) bool { return slices.Contains(near, o.Group) })
	}
	added := 0
	enter := func(d *Class, form *Conjunction) {
		if added++; added > maxForms {
			return
		}
		constraints := *lv.LevelConstraints
		next := &Level{LevelConstraints: &constraints, Class: c}
		next.Beside, next.HostAffinity, next.Conjunction = d, false, form
		next.Owned, next.Hosts = without(lv.Owned), without(lv.Hosts)
		cs.enterLevel(c, next)
	}
	// All groups of a pod's required affinity count the pods that all its terms select.
	there := map[*Class][]*Conjunction{}
	for _, d := range near[0].daemons {
		for _, alternative := range d.Alternatives {
			form := cs.Intern(lv.Set.And(alternative.Set).And(requirement.NewSet(labels...)))
			there[d] = append(there[d], form)
			enter(d, form)
		}
	}
	for _, d := range near[0].daemons {
		for _, form := range cs.withExclusions(there[d], contenders(cs, d))[len(there[d]):] {
			enter(d, form)
		}
	}
}

// contenders lists the ways to keep nodes free of the DaemonSets that may take the place of d: for each alternative of their node affinity, the
// requirements of which one is enough.
func contenders(cs *Classes, d *Class) (out [][]requirement.Requirement) {
	for _, o := range cs.daemonList {
		if d.mayYieldTo(o) {
			out = append(out, waysWithout(o)...)
		}
	}
	return out
}

// Runs reports whether the pod of the DaemonSet that a level relies on, whose labels the bin has, is certain to run on the bin: no other
// DaemonSet may take its place.
func (ts *Targets) Runs(lv *Level, b Bin) bool {
	if b.Open != nil {
		return runsOn(b.Open.Template, lv)
	}
	d := lv.Beside
	return slices.Contains(ts.arriving[b.Host], d) && !slices.ContainsFunc(b.Target.daemons, func(o *Class) bool {
		return d.mayYieldTo(o) || d != o && !slices.Contains(ts.arriving[b.Host], o) && o.Shape.Priority >= d.Shape.Priority
	})
}

// runsOn reports whether the pods of the DaemonSet that a level relies on are certain to run on the nodes of the template that the level selects.
func runsOn(t *Template, lv *Level) (runs bool) {
	d := lv.Beside
	for _, own := range t.daemons {
		if own.Class != d {
			continue
		}
		runs = true
		if slices.ContainsFunc(t.daemons, func(o templateDaemon) bool {
			return d.mayYieldTo(o.Class) && own.mayMeet(o) && !apart(lv.Conjunction.Set, o.alternative.Set)
		}) {
			return false
		}
	}
	return runs && !mayReplace(t, d)
}

// mayReplace reports whether a DaemonSet that a node can only hold in place of others may take the place of d.
func mayReplace(t *Template, d *Class) bool {
	return slices.ContainsFunc(t.possibleDaemons, func(o possibleDaemon) bool { return o.Shape.Priority >= d.Shape.Priority })
}

// mayMeet reports whether two DaemonSets may run on the same node.
func (d templateDaemon) mayMeet(o templateDaemon) bool {
	return !apart(d.alternative.Set, o.alternative.Set) && d.columns.Intersects(o.columns)
}

// apart reports whether two sets of requirements exclude each other.
func apart(a, b requirement.Set) bool {
	return slices.ContainsFunc(a, func(r requirement.Requirement) bool {
		i, ok := b.Find(r.Key)
		return ok && !r.HasIntersection(b[i])
	})
}

// mayYieldTo reports whether pods of another DaemonSet keep those of this one away by their host ports, if they arrive first.
func (c *Class) mayYieldTo(o *Class) bool {
	return c != o && o.Shape.Priority >= c.Shape.Priority && c.sharesPort(o)
}
