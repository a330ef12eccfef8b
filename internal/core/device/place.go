package device

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// NodeKey stands for the name of the node in requirements of this package. Candidates that have no name yet do not have it.
const NodeKey = "metadata.name"

// OnNode is the place of what can be used on one node only.
func OnNode(name string) requirement.Set {
	return requirement.NewSet(requirement.New(NodeKey, requirement.In, name))
}

// Places merges alternatives that differ in the values of one key only, so that "zone a or zone b" stays one alternative
// and nothing has to be chosen before it matters. The order of what is left is that of the first of each.
func Places(terms []requirement.Set) []requirement.Set {
	out := slices.Clone(terms)
	for merged := true; merged; {
		merged = false
		for i := 0; i < len(out) && !merged; i++ {
			for j := i + 1; j < len(out); j++ {
				if both, ok := union(out[i], out[j]); ok {
					out[i] = both
					out = slices.Delete(out, j, j+1)
					merged = true
					break
				}
			}
		}
	}
	return out
}

// union is the one conjunction that says the same as a or b, if there is one.
func union(a, b requirement.Set) (requirement.Set, bool) {
	if len(a) != len(b) {
		return nil, false
	}
	differs := -1
	for i := range a {
		switch {
		case a[i].Key != b[i].Key:
			return nil, false
		case a[i].Equal(b[i]):
		case differs >= 0 || !listed(a[i]) || !listed(b[i]):
			return nil, false
		default:
			differs = i
		}
	}
	if differs < 0 {
		return a, true
	}
	values := slices.Concat(a[differs].Values(), b[differs].Values())
	return a.Replace(requirement.New(a[differs].Key, requirement.In, values...)), true
}

// listed reports whether r is a plain list of values.
func listed(r requirement.Requirement) bool {
	return r.Operator() == requirement.In && !r.AllowsAbsence() && r.MinValues == 0
}

// covers reports whether whatever facts describe is in place: every label that place mentions is known, and as it should be.
func covers(facts, place requirement.Set) bool {
	for _, want := range place {
		if !facts.Has(want.Key) {
			if !want.AllowsAbsence() {
				return false
			}
			continue
		}
		have := facts.Get(want.Key)
		if have.AllowsAbsence() && !want.AllowsAbsence() {
			return false
		}
		meet := have.Intersect(want).WithMinValues(have.MinValues)
		if have.Complement() != meet.Complement() || have.Len() != meet.Len() || !sameBounds(have, meet) {
			return false
		}
		if have.Len() == 0 && !have.AllowsAbsence() {
			return false
		}
	}
	return true
}

func sameBounds(a, b requirement.Requirement) bool {
	aLow, aHasLow := a.Low()
	bLow, bHasLow := b.Low()
	aHigh, aHasHigh := a.High()
	bHigh, bHasHigh := b.High()
	return aLow == bLow && aHasLow == bHasLow && aHigh == bHigh && aHasHigh == bHasHigh
}
