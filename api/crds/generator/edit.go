package generator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Changes are changes to parts of the schema of a CRD, by path: property names separated by spaces, [] for the elements
// of a list, {} for the values of a map.
type Changes map[string]func(*apiextensionsv1.JSONSchemaProps)

// Edit applies changes to each version of a CRD. A path that does not exist is an error.
func Edit(crd *apiextensionsv1.CustomResourceDefinition, changes Changes) error {
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		for _, path := range slices.Sorted(maps.Keys(changes)) {
			if err := descend(version.Schema.OpenAPIV3Schema, strings.Fields(path), changes[path]); err != nil {
				return fmt.Errorf("version %s, path %q: %w", version.Name, path, err)
			}
		}
	}
	return nil
}

// AddRule returns the change that adds a validation rule.
func AddRule(rule apiextensionsv1.ValidationRule) func(*apiextensionsv1.JSONSchemaProps) {
	return func(s *apiextensionsv1.JSONSchemaProps) { s.XValidations = append(s.XValidations, rule) }
}

// descend walks down a path and changes what is at its end.
func descend(s *apiextensionsv1.JSONSchemaProps, path []string, f func(*apiextensionsv1.JSONSchemaProps)) error {
	if len(path) == 0 {
		f(s)
		return nil
	}
	switch step := path[0]; step {
	case "[]":
		if s.Items == nil || s.Items.Schema == nil {
			return fmt.Errorf("no list at %q", step)
		}
		return descend(s.Items.Schema, path[1:], f)
	case "{}":
		if s.AdditionalProperties == nil || s.AdditionalProperties.Schema == nil {
			return fmt.Errorf("no map at %q", step)
		}
		return descend(s.AdditionalProperties.Schema, path[1:], f)
	default:
		// Properties are stored by value: the changed copy has to be put back.
		p, ok := s.Properties[step]
		if !ok {
			return fmt.Errorf("no property %q", step)
		}
		if err := descend(&p, path[1:], f); err != nil {
			return err
		}
		s.Properties[step] = p
		return nil
	}
}
