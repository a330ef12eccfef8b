package manifest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// schema is the part of a CustomResourceDefinition that the API server evaluates: structure, defaults and rules of one
// version.
type schema struct {
	structural *structuralschema.Structural
	openapi    validation.SchemaCreateValidator
	rules      *cel.Validator // nil when there are none
	// clusterScoped is set for kinds without namespaces.
	clusterScoped bool
}

// define compiles the served versions of a definition.
func (r *Reader) define(d *apiextensionsv1.CustomResourceDefinition) error {
	for _, version := range d.Spec.Versions {
		if !version.Served || version.Schema == nil {
			continue
		}
		var internal apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &internal, nil); err != nil {
			return err
		}
		structural, err := structuralschema.NewStructural(&internal)
		if err != nil {
			return err
		}
		openapi, _, err := validation.NewSchemaValidator(&internal)
		if err != nil {
			return err
		}
		gvk := runtimeschema.GroupVersionKind{Group: d.Spec.Group, Version: version.Name, Kind: d.Spec.Names.Kind}
		r.schemas[gvk.String()] = &schema{
			structural: structural, openapi: openapi, rules: cel.NewValidator(structural, true, celconfig.PerCallLimit),
			clusterScoped: d.Spec.Scope == apiextensionsv1.ClusterScoped,
		}
	}
	return nil
}

// unknown finds fields that the schema does not have.
func (s *schema) unknown(content map[string]any) []finding {
	pruned := runtime.DeepCopyJSON(content)
	paths := pruning.PruneWithOptions(pruned, s.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	out := make([]finding, len(paths))
	for i, path := range paths {
		out[i] = finding{path, "unknown field"}
	}
	return out
}

// complete fills in the defaults, in place.
func (s *schema) complete(content map[string]any) {
	defaulting.PruneNonNullableNullsWithoutDefaults(content, s.structural)
	defaulting.Default(content, s.structural)
}

// validate checks structure, list types and rules in the order of the API server: rules are evaluated only on objects whose
// structure is valid, and those about transitions on updates of old only; nil for a creation.
func (s *schema) validate(content map[string]any, old any) []finding {
	errs := validation.ValidateCustomResource(nil, content, s.openapi)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, content)...)
	if len(errs) == 0 && s.rules != nil {
		errs, _ = s.rules.Validate(context.Background(), nil, s.structural, content, old, celconfig.RuntimeCELCostBudget)
	}
	out := make([]finding, 0, len(errs))
	for _, err := range errs {
		out = append(out, finding{fieldOf(err), complaint(err)})
	}
	// The validators iterate over maps and may report an error twice.
	slices.SortFunc(out, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.field, b.field), cmp.Compare(a.message, b.message))
	})
	return slices.Compact(out)
}

func fieldOf(err *field.Error) string {
	if err.Field == "<nil>" {
		return ""
	}
	return strings.TrimPrefix(err.Field, "<nil>.")
}

// complaint returns the error without its field, and without the printed value where that is a whole structure.
func complaint(err *field.Error) string {
	switch err.BadValue.(type) {
	case string, int64, float64, bool:
		if err.Type == field.ErrorTypeInvalid {
			return fmt.Sprintf("%v: %s", err.BadValue, err.Detail)
		}
	default:
		if err.Type == field.ErrorTypeInvalid {
			return err.Detail
		}
	}
	return err.ErrorBody()
}
