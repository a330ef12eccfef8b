package device

import "github.com/karpenter-anew/karpenter/internal/core/requirement"

// NodeKey is the key of the node name in requirements of this package. Planned nodes do not have it.
const NodeKey = "metadata.name"

// OnNode returns the place of a device that only one node can use.
func OnNode(name string) requirement.Set {
	return requirement.NewSet(requirement.New(NodeKey, requirement.In, name))
}

// Nowhere returns the place of a device that no node can use. No node has an empty name.
func Nowhere() requirement.Set { return OnNode("") }

// listed reports whether r is a plain list of values.
func listed(r requirement.Requirement) bool {
	return r.Operator() == requirement.In && !r.AllowsAbsence() && r.MinValues() == 0
}

// covers reports whether every node that facts describe is in place: every label of place is defined and within it.
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
		meet := have.Intersect(want).WithMinValues(have.MinValues())
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
