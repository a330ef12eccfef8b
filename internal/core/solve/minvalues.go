package solve

import (
	"maps"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// minimum is a demand for distinct values of a label among the candidates of a claim.
type minimum struct{ key, values int }

// minimums are the demands on a claim in state st: the pool's, or what they were lowered to when the claim was opened.
func (on *openNode) minimums(st *state) []minimum {
	out := make([]minimum, 0, len(st.minimums))
	for _, m := range st.minimums {
		values := on.t.u.keys[m.key].sets[m.set].MinValues()
		if lowered, ok := on.relaxedMinValues[m.key]; ok {
			values = min(values, lowered)
		}
		out = append(out, minimum{m.key, values})
	}
	return out
}

// unmet is the keys whose demand the columns in mask do not meet.
func (on *openNode) unmet(st *state, mask bitset.Set) []string {
	var keys []string
	for _, m := range on.minimums(st) {
		if on.t.distinct(m.key, mask) < m.values {
			keys = append(keys, on.t.u.keys[m.key].name)
		}
	}
	return keys
}

// lower is the claim's demands cut down to what the columns in mask offer. Source: scheduling specification, BestEffort
// policy.
func (on *openNode) relaxMinValues(st *state, mask bitset.Set) map[int]int {
	lowered := maps.Clone(on.relaxedMinValues)
	for _, m := range on.minimums(st) {
		if n := on.t.distinct(m.key, mask); n < m.values {
			if lowered == nil {
				lowered = map[int]int{}
			}
			lowered[m.key] = n
		}
	}
	return lowered
}

// unmet is the keys whose demand for distinct values the columns in mask do not meet.
func (t *template) unmet(st *state, mask bitset.Set) []string {
	return (&openNode{t: t}).unmet(st, mask)
}

// distinct is how many values of a label the columns in mask have together.
func (t *template) distinct(key int, mask bitset.Set) int {
	anyValue := requirement.New(t.u.keys[key].name, requirement.Exists)
	return anyValue.DistinctValues(func(yield func(requirement.Requirement) bool) {
		for _, label := range t.columns.label(key).values {
			if label.columns.Intersects(mask) && !yield(t.u.keys[key].sets[label.set]) {
				return
			}
		}
	})
}
