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
			"spec template metadata labels {}":          constrainLabelValue,
			"spec template spec taints []":              constrainTaint,
			"spec template spec startupTaints []":       constrainTaint,
			"spec template spec requirements [] key":    generator.AddRule(ruleNodePoolKey()),
			"spec template spec requirements [] values": addInertValueKeywords,
		})
	case "NodeClaim":
		return generator.Edit(crd, generator.Changes{
			"spec taints []":              constrainTaint,
			"spec startupTaints []":       constrainTaint,
			"spec requirements [] values": addInertValueKeywords,
			"status conditions []":        loosenCondition,
		})
	case "NodeOverlay":
		return generator.Edit(crd, generator.Changes{
			"spec requirements [] values": addInertValueKeywords,
		})
	}
	return nil
}

// addInertValueKeywords puts the constraints of label values on the list that holds them. Keywords for strings have no
// effect on a list, and that is meant: they are there for readers and for comparison with existing schemas, while
// manifests that were accepted before stay accepted. The check is made at run time.
func addInertValueKeywords(s *apiextensionsv1.JSONSchemaProps) {
	constrainLabelValue(s)
}

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
