package generator

import (
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/karpenter-anew/karpenter/api/quantity"
)

// boundExponents replaces the pattern of quantities by that of quantities that can be read in a moment. One that takes hours to read would
// stop the watch of its kind.
func boundExponents(crd *apiextensionsv1.CustomResourceDefinition) {
	for i := range crd.Spec.Versions {
		boundIn(crd.Spec.Versions[i].Schema.OpenAPIV3Schema)
	}
}

func boundIn(s *apiextensionsv1.JSONSchemaProps) {
	if s == nil {
		return
	}
	if s.Pattern == quantity.Usual {
		s.Pattern = quantity.Pattern
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		// Properties are stored by value: the changed copy has to be put back.
		p := s.Properties[name]
		boundIn(&p)
		s.Properties[name] = p
	}
	if s.Items != nil {
		boundIn(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		boundIn(s.AdditionalProperties.Schema)
	}
}
