package volume

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// maxAlternatives limits the alternatives that Intersection returns. A volume has a handful of zones; only a pod with many volumes and
// many unrelated terms exceeds the limit, and gets the first alternatives.
const maxAlternatives = 256

// Union returns where a volume can be used, from alternatives of which any is sufficient: duplicates are removed, and alternatives
// that differ only in the values of one label are merged. It is nil if one of them is empty, because the volume can then be used
// anywhere. The order is that of the first occurrence.
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
		// The merged one may now be merged with another one.
		grown, i = first, -1
	}
	return list
}

// merge returns a set that is equivalent to the alternative of two sets, if there is one.
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

// Intersection returns where several volumes can all be used: the combinations of one alternative of each that do not
// conflict. A volume without alternatives can be used anywhere. If every combination conflicts, the result is a single one that
// no node can meet.
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
