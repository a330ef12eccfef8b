package volume

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// maxAlternatives is how many alternatives Together keeps. Volumes come with a handful of zones each; only a pod that combines many
// volumes with many unrelated terms each gets beyond it, and is then offered the first of them.
const maxAlternatives = 256

// Union is where a volume can be used, from alternatives of which any will do: repetitions are left out, and alternatives
// that differ in the values of one label only become one. It is nil when one of them asks for nothing, because then the
// volume can be used anywhere. The order is that of the first appearance.
func Union(alternatives []requirement.Set) []requirement.Set {
	var out []requirement.Set
	for _, next := range alternatives {
		if len(next) == 0 {
			return nil
		}
		out = join(out, next)
	}
	return out
}

// join adds next to alternatives of which no two can be merged, and keeps them so. It may write to list.
func join(list []requirement.Set, next requirement.Set) []requirement.Set {
	grown := len(list)
	list = append(list, next)
	for i := 0; i < len(list); i++ {
		if i == grown {
			continue
		}
		wider, ok := merge(list[i], list[grown])
		if !ok {
			continue
		}
		first, second := min(i, grown), max(i, grown)
		list[first] = wider
		list = slices.Delete(list, second, second+1)
		// What grew may now be merged with another one.
		grown, i = first, -1
	}
	return list
}

// merge is one set that says the same as either of two, if there is one.
func merge(a, b requirement.Set) (requirement.Set, bool) {
	if a.Equal(b) {
		return a, true
	}
	if len(a) != len(b) {
		return nil, false
	}
	differs := -1
	for i := range a {
		switch {
		case a[i].Equal(b[i]):
		case a[i].Key != b[i].Key || differs >= 0 || !listed(a[i]) || !listed(b[i]):
			return nil, false
		default:
			differs = i
		}
	}
	out := slices.Clone(a)
	out[differs] = requirement.New(a[differs].Key, requirement.In, slices.Concat(a[differs].Values(), b[differs].Values())...)
	return out, true
}

// listed reports whether r is a plain list of values.
func listed(r requirement.Requirement) bool {
	return r.Operator() == requirement.In && r.MinValues() == 0
}

// Intersection is where several volumes can all be used: the combinations of one alternative of each that do not contradict
// each other. A volume without alternatives can be used anywhere, and so can nil. When every combination contradicts
// itself the answer is a single one that does, which no node can meet.
func Intersection(volumes ...[]requirement.Set) []requirement.Set {
	var out []requirement.Set
	for _, alternatives := range volumes {
		switch {
		case len(alternatives) == 0:
		case len(out) == 0:
			out = alternatives
		default:
			out = combine(out, alternatives)
		}
	}
	return out[:min(len(out), maxAlternatives)]
}

func combine(list, with []requirement.Set) []requirement.Set {
	var out []requirement.Set
	for _, a := range list {
		for _, b := range with {
			if a.Intersects(b) {
				out = join(out, a.And(b))
			}
		}
		if len(out) > maxAlternatives {
			break
		}
	}
	if len(out) == 0 {
		return []requirement.Set{list[0].And(with[0])}
	}
	return out
}
