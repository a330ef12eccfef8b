package main

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/karpenter-anew/karpenter/api/crds/generator"
)

const (
	patternQualifiedName  = `^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	patternLabelValue     = `^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
	patternOptionalReason = `^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?|)$`

	maxLabelValue = 63
)

// ruleNodePoolKey closes the label that Karpenter sets on every claim of a pool. Claims themselves need it.
func ruleNodePoolKey() apiextensionsv1.ValidationRule {
	return apiextensionsv1.ValidationRule{
		Message: `label "karpenter.sh/nodepool" is restricted`,
		Rule:    `self != 'karpenter.sh/nodepool'`,
	}
}

// constrain makes the changes to a CRD that hold in every installation.
func constrain(crd *apiextensionsv1.CustomResourceDefinition) error {
	switch crd.Spec.Names.Kind {
	case "NodePool":
		return generator.Edit(crd, generator.Changes{
			"spec template metadata labels {}":             constrainLabelValue,
			"spec template spec taints []":                 constrainTaint,
			"spec template spec startupTaints []":          constrainTaint,
			"spec template spec requirements [] key":       generator.AddRule(ruleNodePoolKey()),
			"spec template spec requirements [] values []": constrainLabelValue,
		})
	case "NodeClaim":
		return generator.Edit(crd, generator.Changes{
			"spec taints []":                 constrainTaint,
			"spec startupTaints []":          constrainTaint,
			"spec requirements [] values []": constrainLabelValue,
			"status conditions []":           loosenCondition,
		})
	case "NodeOverlay":
		return generator.Edit(crd, generator.Changes{
			"spec requirements [] values []": constrainLabelValue,
		})
	}
	return nil
}

// constrainLabelValue restricts a text to label values. For requirements, the pattern is on each value and not, as upstream, on the list
// of values, where the API server ignores it: a value becomes a label of a node and a part of its user data.
func constrainLabelValue(s *apiextensionsv1.JSONSchemaProps) {
	s.MaxLength = new(int64(maxLabelValue))
	s.Pattern = patternLabelValue
}

// constrainTaint completes the schema of a core taint, which has no constraints.
func constrainTaint(s *apiextensionsv1.JSONSchemaProps) {
	change(s, "key", func(key *apiextensionsv1.JSONSchemaProps) {
		key.MinLength = new(int64(1))
		key.Pattern = patternQualifiedName
	})
	change(s, "value", func(value *apiextensionsv1.JSONSchemaProps) { value.Pattern = patternQualifiedName })
	change(s, "effect", func(effect *apiextensionsv1.JSONSchemaProps) {
		effect.Enum = []apiextensionsv1.JSON{
			{Raw: []byte(`"NoSchedule"`)}, {Raw: []byte(`"PreferNoSchedule"`)}, {Raw: []byte(`"NoExecute"`)},
		}
	})
}

// loosenCondition makes reason and message optional, so that conditions written by older releases still validate.
func loosenCondition(s *apiextensionsv1.JSONSchemaProps) {
	s.Required = slices.DeleteFunc(s.Required, func(field string) bool { return field == "reason" || field == "message" })
	change(s, "reason", func(reason *apiextensionsv1.JSONSchemaProps) {
		reason.MinLength = nil
		reason.Pattern = patternOptionalReason
	})
}

// change edits one property in place; a schema that lacks it is a defect of this program.
func change(s *apiextensionsv1.JSONSchemaProps, property string, f func(*apiextensionsv1.JSONSchemaProps)) {
	p, ok := s.Properties[property]
	if !ok {
		panic(fmt.Sprintf("schema has no property %q", property))
	}
	f(&p)
	s.Properties[property] = p
}
