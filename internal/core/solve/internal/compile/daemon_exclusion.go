package compile

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// Problem: a pod that shares no node with the pods of a DaemonSet, because of a host port or of anti-affinity, may run on the nodes that
// the DaemonSet does not select, such as those of another zone or capacity type. As long as the node's label is open, both may be on it.
//
// Approach: besides its own requirements, the pod is tried with requirements that exclude those of the DaemonSet. Instance types
// need none: AwayFromDaemons leaves out those on which the DaemonSet runs.
//
// Cost: a form more for each label that such a DaemonSet selects, for the pods that conflict with it only.

// maxForms bounds the forms of a variant.
const maxForms = 16

// findDaemonExclusions lists the ways to keep nodes free of the DaemonSets that the class shares no node with: for each of these, and each
// alternative of its node affinity, the requirements of which one is enough.
func (c *Class) findDaemonExclusions() [][]requirement.Requirement {
	var out [][]requirement.Requirement
	for i, conflict := range c.daemonConflicts {
		if i > 0 && c.daemonConflicts[i-1].daemon == conflict.daemon {
			continue
		}
		out = append(out, waysWithout(conflict.daemon)...)
	}
	return out
}

// waysWithout lists, for each alternative of the node affinity of a DaemonSet, the requirements of which one keeps a node free of it; alternatives
// for which there is none are left out.
func waysWithout(d *Class) (out [][]requirement.Requirement) {
	for _, alternative := range d.Alternatives {
		var ways []requirement.Requirement
		for _, r := range alternative.Set {
			if without, ok := excluding(r); ok {
				ways = append(ways, without)
			}
		}
		if len(ways) > 0 {
			out = append(out, ways)
		}
	}
	return out
}

// excluding is the requirement that excludes what another one allows; ok is false if no single requirement does.
func excluding(r requirement.Requirement) (without requirement.Requirement, ok bool) {
	operator := map[requirement.Operator]requirement.Operator{
		requirement.In: requirement.NotIn, requirement.NotIn: requirement.In,
		requirement.Exists: requirement.DoesNotExist, requirement.DoesNotExist: requirement.Exists,
	}[r.Operator()]
	_, low := r.Low()
	_, high := r.High()
	if operator == "" || low || high || r.Key == InitializedKey || r.Key == RegisteredKey {
		return requirement.Requirement{}, false
	}
	return requirement.New(r.Key, operator, r.Values()...), true
}

// Roomier derives from forms those that keep nodes of the template free of DaemonSets that only some of its nodes run, for pods that do not fit
// beside them, and returns these only.
func (cs *Classes) Roomier(t *Template, forms []*Conjunction) []*Conjunction {
	var daemonExclusions [][]requirement.Requirement
	for _, d := range t.daemons {
		var ways []requirement.Requirement
		for _, term := range d.alternative.Terms {
			if t.decidedByColumn(term.Key) {
				continue
			}
			if without, ok := excluding(t.Universe.Keys[term.Key].Sets[term.Set]); ok {
				ways = append(ways, without)
			}
		}
		if !d.always && len(ways) > 0 {
			daemonExclusions = append(daemonExclusions, ways)
		}
	}
	return cs.withExclusions(forms, daemonExclusions)[len(forms):]
}

// withExclusions adds to forms those that meet one requirement of each of some exclusions: the fewest requirements first.
func (cs *Classes) withExclusions(forms []*Conjunction, daemonExclusions [][]requirement.Requirement) []*Conjunction {
	for _, ways := range daemonExclusions {
		for _, form := range slices.Clip(forms) {
			for _, way := range ways {
				if len(forms) >= maxForms {
					return forms
				}
				if with := cs.Intern(form.Set.And(requirement.NewSet(way))); !slices.Contains(forms, with) {
					forms = append(forms, with)
				}
			}
		}
	}
	return forms
}

// findDecisions lists, for each DaemonSet that a required spread of the class counts and that only some nodes run, what keeps it off a node
// and what makes it run there. Where either may happen, the spread may have no place for the class on the node.
func (c *Class) findDecisions() [][]requirement.Set {
	var out [][]requirement.Set
	for _, g := range c.Owns.Part(PartRequired) {
		if g.tally == nil || g.Kind != topology.KindSpread {
			continue
		}
		for _, d := range g.tally.daemons {
			for _, alternative := range d.Alternatives {
				var ways []requirement.Set
				for _, r := range alternative.Set {
					if without, ok := excluding(r); ok {
						ways = append(ways, requirement.NewSet(without))
					}
				}
				if len(ways) > 0 {
					out = append(out, append(ways, alternative.Set))
				}
			}
		}
	}
	return out
}

// withDecisions adds to forms those that meet one of the ways of each of some decisions.
func (cs *Classes) withDecisions(forms []*Conjunction, decisions [][]requirement.Set) []*Conjunction {
	for _, ways := range decisions {
		for _, form := range slices.Clip(forms) {
			for _, way := range ways {
				if len(forms) >= maxForms {
					return forms
				}
				if with := cs.Intern(form.Set.And(way)); !slices.Contains(forms, with) {
					forms = append(forms, with)
				}
			}
		}
	}
	return forms
}
