package kind

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiservercel "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// definitionHooks are those of CustomResourceDefinitions. Their status is written by the registry, which serves the kinds.
func definitionHooks() hooks {
	return hooks{
		defaults: on(func(o *apiextensionsv1.CustomResourceDefinition) {
			apiextensionsv1.SetDefaults_CustomResourceDefinition(o)
		}),
		create: on(func(o *apiextensionsv1.CustomResourceDefinition) {
			o.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
			for _, v := range o.Spec.Versions {
				if v.Storage {
					o.Status.StoredVersions = []string{v.Name}
				}
			}
		}),
		validate: on2(validateDefinition),
		columns:  []column{nameColumn(), {name: "Created At", kind: "date", value: func(o row) any { return o.get("metadata.creationTimestamp") }}},
	}
}

func validateDefinition(o, old *apiextensionsv1.CustomResourceDefinition, status bool) field.ErrorList {
	if status {
		return nil
	}
	path := field.NewPath("spec")
	var errs field.ErrorList
	if want := o.Spec.Names.Plural + "." + o.Spec.Group; old == nil && o.Name != want {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), o.Name, `must be spec.names.plural+"."+spec.group`))
	}
	if o.Spec.Group == "" {
		errs = append(errs, field.Required(path.Child("group"), ""))
	}
	scopes := []apiextensionsv1.ResourceScope{apiextensionsv1.ClusterScoped, apiextensionsv1.NamespaceScoped}
	if !slices.Contains(scopes, o.Spec.Scope) {
		errs = append(errs, field.NotSupported(path.Child("scope"), o.Spec.Scope, scopes))
	}
	for _, name := range []struct{ field, value string }{{"plural", o.Spec.Names.Plural}, {"kind", o.Spec.Names.Kind}} {
		if name.value == "" {
			errs = append(errs, field.Required(path.Child("names", name.field), ""))
		}
	}
	if o.Spec.Conversion != nil && o.Spec.Conversion.Strategy != apiextensionsv1.NoneConverter {
		errs = append(errs, field.NotSupported(path.Child("conversion", "strategy"), o.Spec.Conversion.Strategy, []apiextensionsv1.ConversionStrategyType{apiextensionsv1.NoneConverter}))
	}
	if old != nil {
		errs = append(errs, apivalidation.ValidateImmutableField(o.Spec.Group, old.Spec.Group, path.Child("group"))...)
		errs = append(errs, apivalidation.ValidateImmutableField(o.Spec.Scope, old.Spec.Scope, path.Child("scope"))...)
		errs = append(errs, apivalidation.ValidateImmutableField(o.Spec.Names.Plural, old.Spec.Names.Plural, path.Child("names", "plural"))...)
		errs = append(errs, apivalidation.ValidateImmutableField(o.Spec.Names.Kind, old.Spec.Names.Kind, path.Child("names", "kind"))...)
	}
	errs = append(errs, validateVersions(o, path.Child("versions"))...)
	errs = append(errs, validateNames(o, path)...)
	if len(errs) > 0 {
		return errs
	}
	if _, err := FromDefinition(o); err != nil {
		errs = append(errs, field.Invalid(path, o.Name, err.Error()))
	}
	return errs
}

func validateVersions(o *apiextensionsv1.CustomResourceDefinition, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	stored, names := 0, map[string]bool{}
	for i, v := range o.Spec.Versions {
		at := path.Index(i)
		names[v.Name] = true
		for _, problem := range utilvalidation.IsDNS1035Label(v.Name) {
			errs = append(errs, field.Invalid(at.Child("name"), v.Name, problem))
		}
		if v.Storage {
			stored++
		}
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			errs = append(errs, field.Required(at.Child("schema", "openAPIV3Schema"), ""))
			continue
		}
		where := at.Child("schema", "openAPIV3Schema")
		if len(o.Spec.Versions) == 1 {
			where = field.NewPath("spec", "validation", "openAPIV3Schema") // where kube-apiserver keeps the only schema
		}
		errs = append(errs, validateSchema(v.Schema.OpenAPIV3Schema, where)...)
	}
	if len(names) != len(o.Spec.Versions) {
		errs = append(errs, field.Invalid(path, internalVersions(o), "must contain unique version names"))
	}
	if stored != 1 {
		errs = append(errs, field.Invalid(path, internalVersions(o), "must have exactly one version marked as storage version"))
	}
	if stored == 0 {
		errs = append(errs, field.Invalid(field.NewPath("status", "storedVersions"), []string(nil), "must have at least one stored version"))
	}
	return errs
}

// internalVersions are the versions as messages of kube-apiserver show them.
func internalVersions(o *apiextensionsv1.CustomResourceDefinition) any {
	out := apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(o.DeepCopy(), &out, nil); err != nil {
		return o.Spec.Versions
	}
	return out.Spec.Versions
}

// validateNames: names are those of paths, and the first version is also that of earlier clients.
func validateNames(o *apiextensionsv1.CustomResourceDefinition, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(o.Spec.Versions) > 0 {
		for _, problem := range utilvalidation.IsDNS1035Label(o.Spec.Versions[0].Name) {
			errs = append(errs, field.Invalid(path.Child("version"), o.Spec.Versions[0].Name, problem))
		}
	}
	names := o.Spec.Names
	for _, n := range []struct{ field, value, shown string }{
		{"plural", names.Plural, names.Plural},
		{"singular", names.Singular, names.Singular},
		{"kind", strings.ToLower(names.Kind), names.Kind},
		{"listKind", strings.ToLower(names.ListKind), names.ListKind},
	} {
		if n.value == "" {
			continue
		}
		for _, problem := range utilvalidation.IsDNS1035Label(n.value) {
			errs = append(errs, field.Invalid(path.Child("names", n.field), n.shown, problem))
		}
	}
	return errs
}

// schemaProblems: the schema is structural, and its rules compile.
func schemaProblems(props *apiextensionsv1.JSONSchemaProps, path *field.Path) field.ErrorList {
	structural, _, err := structuralOf(props)
	if err != nil {
		return field.ErrorList{field.Invalid(path, "", err.Error())}
	}
	if errs := structuralschema.ValidateStructural(path, structural); len(errs) > 0 {
		return errs
	}
	if errs := mapKeys(structural, path); len(errs) > 0 {
		return errs
	}
	if errs, err := defaulting.ValidateDefaults(context.Background(), path, structural, true, true); err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	} else if len(errs) > 0 {
		return errs
	}
	return compileRules(structural, path, true)
}

// mapKeys: lists that are maps name their keys.
func mapKeys(s *structuralschema.Structural, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.XListType != nil && *s.XListType == "map" && len(s.XListMapKeys) == 0 {
		errs = append(errs, field.Required(path.Child("x-kubernetes-list-map-keys"), "must not be empty if x-kubernetes-list-type is map"))
	}
	for name, property := range s.Properties {
		errs = append(errs, mapKeys(&property, path.Child("properties").Key(name))...)
	}
	if s.Items != nil {
		errs = append(errs, mapKeys(s.Items, path.Child("items"))...)
	}
	return errs
}

// compileRules compiles the validation rules of a schema and of all that is in it.
func compileRules(s *structuralschema.Structural, path *field.Path, root bool) field.ErrorList {
	var errs field.ErrorList
	if len(s.XValidations) > 0 {
		results, err := cel.Compile(s, model(s, root), apiservercel.PerCallLimit, environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), cel.NewExpressionsEnvLoader())
		if err != nil {
			return field.ErrorList{field.InternalError(path, err)}
		}
		for i, result := range results {
			if result.Error != nil {
				errs = append(errs, field.Invalid(path.Child("x-kubernetes-validations").Index(i).Child("rule"), internalRule(s.XValidations[i]), result.Error.Detail))
			}
		}
	}
	for name, property := range s.Properties {
		errs = append(errs, compileRules(&property, path.Child("properties").Key(name), property.XEmbeddedResource)...)
	}
	if s.Items != nil {
		errs = append(errs, compileRules(s.Items, path.Child("items"), s.Items.XEmbeddedResource)...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		errs = append(errs, compileRules(s.AdditionalProperties.Structural, path.Child("additionalProperties"), false)...)
	}
	return errs
}

// internalRule is a rule as messages of kube-apiserver show it.
func internalRule(rule apiextensionsv1.ValidationRule) any {
	out := apiextensions.ValidationRule{}
	if err := apiextensionsv1.Convert_v1_ValidationRule_To_apiextensions_ValidationRule(&rule, &out, nil); err != nil {
		return rule
	}
	return out
}

// structuralOf is the schema in the forms that the libraries take.
func structuralOf(props *apiextensionsv1.JSONSchemaProps) (*structuralschema.Structural, *apiextensions.JSONSchemaProps, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil); err != nil {
		return nil, nil, fmt.Errorf("reading the schema: %w", err)
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the schema: %w", err)
	}
	return structural, internal, nil
}

func compileVersions(definition *apiextensionsv1.CustomResourceDefinition) ([]*Kind, error) {
	var storage schema.GroupVersion
	for _, v := range definition.Spec.Versions {
		if v.Storage {
			storage = schema.GroupVersion{Group: definition.Spec.Group, Version: v.Name}
		}
	}
	var out []*Kind
	for _, v := range definition.Spec.Versions {
		if !v.Served {
			continue
		}
		k, err := compileVersion(definition, v, storage)
		if err != nil {
			return nil, fmt.Errorf("version %s of %s: %w", v.Name, definition.Name, err)
		}
		out = append(out, k)
	}
	return out, nil
}
