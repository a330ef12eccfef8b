package unschedulable

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/spelling"
)

// maxKnownValues is how many of the values that exist a reason keeps.
const maxKnownValues = 5

// UnknownValue is a label for which no instance type, and no pool, has any of the values that are required.
type UnknownValue struct {
	Key string
	// Values are those that are required; Known are those that exist, at most five; More is how many
	// others exist.
	Values, Known []string
	More          int
}

// String says which values exist.
func (u UnknownValue) String() string {
	more := ""
	if u.More > 0 {
		more = fmt.Sprintf(" and %d more", u.More)
	}
	if u.Key == NodePoolKey {
		return fmt.Sprintf("no NodePool that launches nodes for pods has the name %s; those that do: %s%s", list(u.Values, ", "), strings.Join(u.Known, ", "), more)
	}
	return fmt.Sprintf("no instance type or NodePool has %s %s; known values: %s%s", u.Key, list(u.Values, ", "), strings.Join(u.Known, ", "), more)
}

// Unknown reports whether none of the values that a requirement lists is among the known ones, of which there have to be some. With ranked
// set, the known values are sorted by their distance from the first one, at the cost of a comparison with each.
func Unknown(want requirement.Requirement, known []string, ranked bool) (UnknownValue, bool) {
	values := want.Values()
	if want.Complement() || len(values) == 0 || len(known) == 0 || slices.ContainsFunc(values, func(v string) bool { return slices.Contains(known, v) }) {
		return UnknownValue{}, false
	}
	if ranked {
		known = spelling.Nearest(values[0], known)
		// Zones are often given without their region: "1" instead of "eastus-1".
		slices.SortStableFunc(known, func(a, b string) int { return cmp.Compare(endsIn(values[0], b), endsIn(values[0], a)) })
	}
	kept := known[:min(maxKnownValues, len(known))]
	return UnknownValue{Key: want.Key, Values: values, Known: kept, More: len(known) - len(kept)}, true
}

// Meant is the name of a label or resource that a user may have meant by one that nothing has; empty if none is nearly equal to it.
func Meant(name string, known []string) string {
	meant, _ := spelling.Suggest(name, known)
	return meant
}

// endsIn is 1 if the value ends in "-" and the suffix, 0 otherwise.
func endsIn(suffix, value string) int {
	if strings.HasSuffix(value, "-"+suffix) {
		return 1
	}
	return 0
}

// EmptyPool is why the requirements of a pool leave none of the instance types: labels whose requirements contradict each other, otherwise
// values that no type has, otherwise the requirements of which each alone, left out, leaves some. None is set if the requirements leave types.
// The cost is O(requirements × offerings).
func EmptyPool(want requirement.Set, types catalog.Catalog) Reason {
	r := Reason{Code: PoolEmpty}
	if types.Meets(want) {
		return r
	}
	for _, one := range want {
		if one.Len() == 0 && !one.AllowsAbsence() {
			r.Contradictory = append(r.Contradictory, one.Key)
		}
	}
	if len(r.Contradictory) > 0 {
		return r
	}
	for _, one := range want {
		if u, unknown := Unknown(one, types.Values(one.Key), true); unknown {
			r.UnknownValues = append(r.UnknownValues, u)
		}
	}
	if len(r.UnknownValues) > 0 {
		return r
	}
	for _, one := range want {
		if types.Meets(want.Without(one.Key)) {
			r.Without = append(r.Without, one)
		}
	}
	return r
}
