package compile

import (
	"maps"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
)

// Minimum is a minValues requirement on the candidates of an open node.
type Minimum struct{ Key, Values int }

// Minimums are the minValues of an open node in state st: the pool's, or what they were relaxed to when the node was
// opened.
func (on *OpenNode) Minimums(st *State) []Minimum {
	out := make([]Minimum, 0, len(st.Minimums))
	for _, m := range st.Minimums {
		values := on.Template.Universe.Keys[m.Key].Sets[m.Set].MinValues()
		if lowered, ok := on.RelaxedMinValues[m.Key]; ok {
			values = min(values, lowered)
		}
		out = append(out, Minimum{m.Key, values})
	}
	return out
}

// Unmet is the keys whose minValues the columns in mask do not meet in state st.
func (on *OpenNode) Unmet(st *State, mask bitset.Set) []string {
	if len(st.Minimums) == 0 {
		return nil
	}
	var keys []string
	for _, m := range on.Minimums(st) {
		if on.Template.Distinct(st, m.Key, mask) < m.Values {
			keys = append(keys, on.Template.Universe.Keys[m.Key].Name)
		}
	}
	return keys
}

// RelaxMinValues is the minValues of the open node, lowered to the number of values that the columns in mask offer. Source: scheduling
// specification, BestEffort policy.
func (on *OpenNode) RelaxMinValues(st *State, mask bitset.Set) map[int]int {
	lowered := maps.Clone(on.RelaxedMinValues)
	for _, m := range on.Minimums(st) {
		if n := on.Template.Distinct(st, m.Key, mask); n < m.Values {
			if lowered == nil {
				lowered = map[int]int{}
			}
			lowered[m.Key] = n
		}
	}
	return lowered
}

// Unmet is the keys whose demand for distinct values the columns in mask do not meet.
func (t *Template) Unmet(st *State, mask bitset.Set) []string {
	return (&OpenNode{Template: t}).Unmet(st, mask)
}

// Distinct is how many values of a label the columns in mask have together, as far as state st allows them: a NodeClaim whose own
// requirement lists fewer values than its minValues is invalid.
func (t *Template) Distinct(st *State, key int, mask bitset.Set) int {
	k, allowed := t.Universe.Keys[key], st.Get(key)
	within := requirement.New(k.Name, requirement.Exists)
	if allowed != index.Undefined {
		within = k.Sets[allowed]
	}
	return within.DistinctValues(func(yield func(requirement.Requirement) bool) {
		for _, label := range t.Columns.Label(key).Values {
			if label.Columns.Intersects(mask) && !yield(k.Sets[label.Set]) {
				return
			}
		}
	})
}
