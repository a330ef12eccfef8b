package cloud

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// In is the API requirement that a label has one of values.
func In(key string, values ...string) v1.NodeSelectorRequirementWithMinValues {
	return v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

// DoesNotExist is the API requirement that a label is absent.
func DoesNotExist(key string) v1.NodeSelectorRequirementWithMinValues {
	return v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpDoesNotExist}
}

// Requirements translates API requirements into the label algebra. Deprecated keys and values become the current
// ones, and entries that then share a key are intersected.
func Requirements(entries []v1.NodeSelectorRequirementWithMinValues, rules v1.LabelRules) requirement.Set {
	reqs := make([]requirement.Requirement, 0, len(entries))
	for _, e := range entries {
		r := Requirement(e.Key, e.Operator, e.Values, rules)
		if e.MinValues != nil {
			r = r.WithMinValues(*e.MinValues)
		}
		reqs = append(reqs, r)
	}
	return requirement.Gather(reqs)
}

// Requirement translates one API requirement, such as a term of a pod's node affinity. The operator must have been
// validated: an unknown one accepts nothing.
func Requirement(key string, op corev1.NodeSelectorOperator, values []string, rules v1.LabelRules) requirement.Requirement {
	key = rules.Normalize(key)
	if op == corev1.NodeSelectorOpLt && len(values) == 1 {
		// A label value does not start with a hyphen, so none is a negative integer, nor may a requirement have -1 as a bound.
		if bound, err := strconv.ParseInt(values[0], 10, 64); err == nil && bound <= 0 {
			values = nil // accepts nothing
		}
	}
	return requirement.New(key, requirement.Operator(op), currentValues(key, values, rules)...)
}

// LabelRequirements is the set that labels describe, or that a node selector demands: every label is In with one value.
func LabelRequirements(labels map[string]string, rules v1.LabelRules) requirement.Set {
	reqs := make([]requirement.Requirement, 0, len(labels))
	for key, value := range labels {
		key = rules.Normalize(key)
		reqs = append(reqs, requirement.New(key, requirement.In, rules.NormalizeValue(key, value)))
	}
	return requirement.Gather(reqs)
}

// currentValues are values with deprecated ones replaced; the argument is not changed.
func currentValues(key string, values []string, rules v1.LabelRules) []string {
	if len(rules.ValueAliases[key]) == 0 {
		return values
	}
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = rules.NormalizeValue(key, v)
	}
	return out
}

// RequirementEntries writes a set in API form, in key order.
func RequirementEntries(set requirement.Set) []v1.NodeSelectorRequirementWithMinValues {
	if len(set) == 0 {
		return nil
	}
	var space [2]requirement.Entry // a requirement rarely takes more
	out := make([]v1.NodeSelectorRequirementWithMinValues, 0, len(set))
	for _, r := range set {
		for _, e := range r.AppendEntries(space[:0]) {
			entry := v1.NodeSelectorRequirementWithMinValues{
				Key: e.Key, Operator: corev1.NodeSelectorOperator(e.Operator), Values: e.Values,
			}
			if e.MinValues > 0 {
				least := e.MinValues
				entry.MinValues = &least
			}
			out = append(out, entry)
		}
	}
	return out
}

// onlyValue is the single value of an In requirement on key, or "".
func onlyValue(entries []v1.NodeSelectorRequirementWithMinValues, key string) string {
	for _, e := range entries {
		if e.Key == key && e.Operator == corev1.NodeSelectorOpIn && len(e.Values) == 1 {
			return e.Values[0]
		}
	}
	return ""
}
