package compile

import (
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
)

const (
	// MaxRequirements is the number of requirements that a NodeClaim may have, by its schema.
	MaxRequirements = 100
	// impliedRequirements are those that a plan adds to the requirements of a state: instance types and capacity types.
	impliedRequirements = 2
	// entriesPerKey is the maximum number of requirements of a NodeClaim for one key: two bounds and exclusions.
	entriesPerKey = 3
	// maxExclusions bounds the bytes of the values that a NodeClaim excludes, so that it stays far below the size that the API server
	// accepts. fewExclusions is a number of values for which that is not checked.
	maxExclusions, fewExclusions = 256 << 10, 500
)

// EntriesOf is the number of requirements that r takes in a NodeClaim.
func EntriesOf(r requirement.Requirement) int {
	n := 0
	if _, bounded := r.Low(); bounded {
		n++
	}
	if _, bounded := r.High(); bounded {
		n++
	}
	if n == 0 || len(r.Values()) > 0 {
		n++
	}
	return n
}

// expressible reports whether a NodeClaim can hold the requirements of a state after the terms in changed were set.
func (t *Template) expressible(s *State, changed []index.Term) bool {
	if len(s.Terms)*entriesPerKey > MaxRequirements-impliedRequirements {
		entries := 0
		for _, r := range t.Requirements(s) {
			entries += EntriesOf(r)
		}
		if entries > MaxRequirements-impliedRequirements {
			return false
		}
	}
	for _, c := range changed {
		if r := t.Universe.Keys[c.Key].Sets[c.Set]; r.Complement() && len(r.Values()) > fewExclusions {
			return t.excludedBytes(s) <= maxExclusions
		}
	}
	return true
}

func (t *Template) excludedBytes(s *State) int {
	sum := 0
	for _, r := range t.Requirements(s) {
		if !r.Complement() {
			continue
		}
		for _, v := range r.Values() {
			sum += len(v)
		}
	}
	return sum
}

// InertRequirements are the demands of the pods of an open node that have no effect on it: as many as fit beside the requirements
// given, in the order of their keys. A NodeClaim cannot have those on the name of its node.
func (on *OpenNode) InertRequirements(beside requirement.Set) requirement.Set {
	t := on.Template
	var found []requirement.Requirement
	for i, f := range on.Batches {
		if i > 0 && f.Form == on.Batches[i-1].Form {
			continue
		}
		for _, want := range f.Form.Terms {
			if t.Inert(want) && t.Universe.Keys[want.Key].Name != requirement.NodeName {
				found = append(found, t.Universe.Keys[want.Key].Sets[want.Set])
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	entries, bytes := 0, 0
	for _, r := range beside {
		entries += EntriesOf(r)
	}
	set := requirement.Gather(found)
	for i, r := range set {
		for _, v := range r.Values() {
			bytes += len(v)
		}
		if entries += EntriesOf(r); entries > MaxRequirements || bytes > maxExclusions {
			return set[:i]
		}
	}
	return set
}
