package translate

import (
	"cmp"
	"slices"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// entryReader translates lists of API requirements that resemble each other, such as those of the instance types of one
// cloud: the same keys in the same positions, and mostly the same values. Entries that are equal to those of the previous list
// are not translated again. The result is that of cloud.Requirements.
type entryReader struct {
	rules v1.LabelRules
	// entries are those of the previous list, and translated their translations.
	entries    []v1.NodeSelectorRequirementWithMinValues
	translated []requirement.Requirement
	// order are the indexes of translated in order of keys; nil when a key occurs twice.
	order []int
	// space is preallocated for the next lists, so that lists that are read together are adjacent in memory.
	space []requirement.Requirement
}

func (x *entryReader) read(entries []v1.NodeSelectorRequirementWithMinValues) requirement.Set {
	alike := x.order != nil && slices.EqualFunc(x.entries, entries, func(a, b v1.NodeSelectorRequirementWithMinValues) bool {
		return a.Key == b.Key
	})
	if !alike {
		x.start(entries)
	}
	for i := range entries {
		if e := &entries[i]; alike && !sameEntry(&x.entries[i], e) {
			x.translated[i] = x.translate(e)
		}
	}
	x.entries = entries
	if x.order == nil {
		return requirement.NewSet(x.translated...)
	}
	if len(x.space) < len(entries) {
		x.space = make([]requirement.Requirement, len(entries))
	}
	out := requirement.Set(x.space[:len(entries):len(entries)])
	x.space = x.space[len(entries):]
	for i, place := range x.order {
		out[i] = x.translated[place]
	}
	return out
}

// start translates a list that differs from the previous one.
func (x *entryReader) start(entries []v1.NodeSelectorRequirementWithMinValues) {
	x.translated, x.order = x.translated[:0], make([]int, len(entries))
	for i := range entries {
		x.translated = append(x.translated, x.translate(&entries[i]))
		x.order[i] = i
	}
	key := func(place int) string { return x.translated[place].Key }
	slices.SortFunc(x.order, func(a, b int) int { return cmp.Compare(key(a), key(b)) })
	for i := 1; i < len(x.order); i++ {
		if key(x.order[i-1]) == key(x.order[i]) {
			x.order = nil
			return
		}
	}
}

func (x *entryReader) translate(e *v1.NodeSelectorRequirementWithMinValues) requirement.Requirement {
	r := cloud.Requirement(e.Key, e.Operator, e.Values, x.rules)
	if e.MinValues != nil {
		r = r.WithMinValues(*e.MinValues)
	}
	return r
}

func sameEntry(a, b *v1.NodeSelectorRequirementWithMinValues) bool {
	return a.Key == b.Key && a.Operator == b.Operator && (a.MinValues == b.MinValues ||
		a.MinValues != nil && b.MinValues != nil && *a.MinValues == *b.MinValues) && slices.Equal(a.Values, b.Values)
}

func sameEntries(a, b []v1.NodeSelectorRequirementWithMinValues) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !sameEntry(&a[i], &b[i]) {
			return false
		}
	}
	return true
}
