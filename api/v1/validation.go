package v1

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
)

// RuntimeValidate checks what the API server cannot: names, values and domains of labels, taints that repeat, values
// that do not exist. The error lists everything that is wrong, joined by "; ", each with the field it is about.
//
// Source: spec API, NodePool runtime validation.
func (n *NodePool) RuntimeValidate(rules LabelRules) error {
	template := &n.Spec.Template
	errs := slices.Concat(
		templateLabelErrors(template.Labels, rules),
		taintErrors(template.Spec.Taints, template.Spec.StartupTaints),
	)
	for i, requirement := range template.Spec.Requirements {
		field := fmt.Sprintf("spec.template.spec.requirements[%d]", i)
		for _, err := range RequirementErrors(requirement, rules) {
			errs = append(errs, fmt.Errorf("%s: %w", field, err))
		}
		if rules.Normalize(requirement.Key) == NodePoolLabelKey {
			errs = append(errs, fmt.Errorf("%s: key %q is set by Karpenter and cannot be required", field, requirement.Key))
		}
	}
	return join(errs)
}

// ValidateRequirement checks one requirement of a pod, a pool or an overlay. The error lists everything that is wrong,
// joined by "; ".
//
// Source: spec scheduling, validation of one requirement.
func ValidateRequirement(requirement NodeSelectorRequirementWithMinValues, rules LabelRules) error {
	return join(RequirementErrors(requirement, rules))
}

// UnknownValues lists the values of an In requirement that a label with a closed list of values can never have. Next to
// values that exist they are harmless, but worth telling the user about.
func (r LabelRules) UnknownValues(requirement NodeSelectorRequirementWithMinValues) []string {
	key := r.Normalize(requirement.Key)
	known, closed := r.KnownValues[key]
	if requirement.Operator != corev1.NodeSelectorOpIn || !closed || !r.WellKnown[key] {
		return nil
	}
	var unknown []string
	for _, value := range requirement.Values {
		if !slices.Contains(known, r.NormalizeValue(key, value)) {
			unknown = append(unknown, value)
		}
	}
	return unknown
}

// templateLabelErrors checks the labels of a template, in the order of their keys.
func templateLabelErrors(labels map[string]string, rules LabelRules) []error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		field := fmt.Sprintf("spec.template.metadata.labels[%q]", key)
		if key == NodePoolLabelKey {
			errs = append(errs, fmt.Errorf("%s: the label is set by Karpenter and cannot be set here", field))
		}
		errs = append(errs, messages(content.IsLabelKey(key), "%s: not a qualified name", field)...)
		errs = append(errs, messages(content.IsLabelValue(labels[key]), "%s: value %q is not a label value", field, labels[key])...)
		if rules.Restricted(key) {
			errs = append(errs, fmt.Errorf("%s: %s", field, rules.whyRestricted(key)))
		}
	}
	return errs
}

// taintErrors checks both lists of taints; key and effect must be unique across them.
func taintErrors(taints, startupTaints []corev1.Taint) []error {
	type identity struct {
		key    string
		effect corev1.TaintEffect
	}
	var errs []error
	seen := map[identity]bool{}
	for _, list := range []struct {
		field  string
		taints []corev1.Taint
	}{{"taints", taints}, {"startupTaints", startupTaints}} {
		for i, taint := range list.taints {
			field := fmt.Sprintf("spec.template.spec.%s[%d]", list.field, i)
			errs = append(errs, messages(content.IsLabelKey(taint.Key), "%s: key %q is not a qualified name", field, taint.Key)...)
			if taint.Value != "" {
				errs = append(errs, messages(content.IsLabelKey(taint.Value), "%s: value %q is not a qualified name", field, taint.Value)...)
			}
			switch taint.Effect {
			case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute, "":
			default:
				errs = append(errs, fmt.Errorf("%s: effect %q: want NoSchedule, PreferNoSchedule or NoExecute", field, taint.Effect))
			}
			id := identity{taint.Key, taint.Effect}
			if seen[id] {
				errs = append(errs, fmt.Errorf("%s: key %q with effect %q appears twice in taints and startupTaints", field, taint.Key, taint.Effect))
			}
			seen[id] = true
		}
	}
	return errs
}

// RequirementErrors is everything that ValidateRequirement finds wrong, one by one.
func RequirementErrors(requirement NodeSelectorRequirementWithMinValues, rules LabelRules) []error {
	key := rules.Normalize(requirement.Key)
	var errs []error
	switch requirement.Operator {
	case corev1.NodeSelectorOpIn:
		errs = inErrors(requirement, key, rules)
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, NodeSelectorOpGte, NodeSelectorOpLte:
		errs = boundErrors(requirement, key)
	case corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
	default:
		errs = []error{fmt.Errorf("key %q: operator %q: want In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte", key, requirement.Operator)}
	}
	if rules.Restricted(key) {
		errs = append(errs, fmt.Errorf("key %q: %s", key, rules.whyRestricted(key)))
	}
	// Nearly all requirements of pods are valid: nothing is rendered for these.
	if !rules.WellKnown[key] {
		if findings := content.IsLabelKey(key); len(findings) > 0 {
			errs = append(errs, messages(findings, "key %q is not a qualified name", key)...)
		}
	}
	for _, value := range requirement.Values {
		if isName(value) {
			continue
		}
		if findings := content.IsLabelValue(value); len(findings) > 0 {
			errs = append(errs, messages(findings, "key %q: value %q is not a label value", key, value)...)
		}
	}
	return errs
}

// isName reports whether a text certainly is a label value, as nearly all are: up to 63 letters, digits and, between them, hyphens. It takes
// a fraction of the time of a regular expression.
func isName(text string) bool {
	for i := range len(text) {
		c := text[i]
		inner := c == '-' && i > 0 && i < len(text)-1
		if !inner && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return len(text) <= content.LabelValueMaxLength
}

// inErrors checks the number of values of an In requirement, and whether enough of them exist.
func inErrors(requirement NodeSelectorRequirementWithMinValues, key string, rules LabelRules) []error {
	if len(requirement.Values) == 0 {
		return []error{fmt.Errorf("key %q: operator In needs at least one value", key)}
	}
	var errs []error
	if requirement.MinValues != nil && len(requirement.Values) < *requirement.MinValues {
		errs = append(errs, fmt.Errorf("key %q: operator In has %d values, fewer than minValues %d", key, len(requirement.Values), *requirement.MinValues))
	}
	unknown := rules.UnknownValues(requirement)
	existing := len(requirement.Values) - len(unknown)
	switch known := rules.KnownValues[key]; {
	case len(unknown) == 0:
	case existing == 0:
		errs = append(errs, fmt.Errorf("key %q: none of the values %q exists: want some of %q", key, requirement.Values, known))
	case requirement.MinValues != nil && existing < *requirement.MinValues:
		errs = append(errs, fmt.Errorf("key %q: only %d of the values %q exist, fewer than minValues %d: want some of %q", key, existing, requirement.Values, *requirement.MinValues, known))
	}
	return errs
}

// boundErrors checks the operand of a comparison.
func boundErrors(requirement NodeSelectorRequirementWithMinValues, key string) []error {
	if len(requirement.Values) == 1 {
		if bound, err := strconv.Atoi(requirement.Values[0]); err == nil && bound >= 0 {
			return nil
		}
	}
	return []error{fmt.Errorf("key %q: operator %s needs exactly one value, an integer that is not negative, not %q", key, requirement.Operator, requirement.Values)}
}

// whyRestricted explains, for a restricted label, what it is that restricts it.
func (r LabelRules) whyRestricted(key string) string {
	if key == corev1.LabelHostname {
		return "the label is restricted: which host name a new node has is not known before its launch"
	}
	if r.RestrictedKeys[key] {
		return "the label is restricted"
	}
	domain, _, _ := strings.Cut(key, "/")
	return fmt.Sprintf("the label domain %q is restricted, only its well-known labels can be used", domain)
}

// messages turns the findings of a Kubernetes validator into errors with a prefix.
func messages(findings []string, format string, args ...any) []error {
	prefix := fmt.Sprintf(format, args...)
	errs := make([]error, 0, len(findings))
	for _, finding := range findings {
		errs = append(errs, fmt.Errorf("%s: %s", prefix, finding))
	}
	return errs
}

// join makes one error of several, on one line; nil of none.
func join(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return errors.New(strings.Join(texts, "; "))
}

// ValidateNodeLabel returns an error for a label that no Node can have.
func ValidateNodeLabel(key, value string) error {
	if len(content.IsLabelKey(key)) > 0 || len(content.IsLabelValue(value)) > 0 {
		return fmt.Errorf("%q=%q is not a label", key, value)
	}
	return nil
}

// ValidateNodeTaint returns an error for a taint that no Node can have. Values may have a prefix, as the schema of a NodePool allows it.
func ValidateNodeTaint(taint corev1.Taint) error {
	switch taint.Effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
	default:
		return fmt.Errorf("taint %q has the effect %q", taint.Key, taint.Effect)
	}
	if len(content.IsLabelKey(taint.Key)) > 0 || len(content.IsLabelValue(taint.Value)) > 0 && len(content.IsLabelKey(taint.Value)) > 0 {
		return fmt.Errorf("%q=%q is not a taint", taint.Key, taint.Value)
	}
	return nil
}
