package kind

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celmodel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiservercel "k8s.io/apiserver/pkg/apis/cel"
	apiservercommon "k8s.io/apiserver/pkg/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// model is what rules see of a schema.
func model(s *structuralschema.Structural, root bool) *apiservercommon.DeclType {
	return celmodel.SchemaDeclType(s, root)
}

// custom is a compiled schema of a CustomResourceDefinition.
type custom struct {
	structural *structuralschema.Structural
	schema     schemavalidation.SchemaValidator
	status     schemavalidation.SchemaValidator
	rules      *cel.Validator
	scale      *ScalePaths
}

func compileVersion(definition *apiextensionsv1.CustomResourceDefinition, v apiextensionsv1.CustomResourceDefinitionVersion, storage schema.GroupVersion) (*Kind, error) {
	names := definition.Spec.Names
	gv := schema.GroupVersion{Group: definition.Spec.Group, Version: v.Name}
	k := &Kind{
		GroupVersionKind: gv.WithKind(names.Kind), ListKind: names.ListKind, Plural: names.Plural, Singular: names.Singular,
		ShortNames: names.ShortNames, Categories: names.Categories, Namespaced: definition.Spec.Scope == apiextensionsv1.NamespaceScoped,
		Storage: storage, Generation: true, Versioned: true, ValidateName: validation.NameIsDNSSubdomain,
	}
	for _, f := range v.SelectableFields {
		k.Fields = append(k.Fields, strings.TrimPrefix(f.JSONPath, "."))
	}
	if s := v.Subresources; s != nil {
		k.Status = s.Status != nil
		if s.Scale != nil {
			k.Scale = &ScalePaths{Replicas: s.Scale.SpecReplicasPath, StatusReplicas: s.Scale.StatusReplicasPath}
			if s.Scale.LabelSelectorPath != nil {
				k.Scale.Selector = *s.Scale.LabelSelectorPath
			}
		}
	}
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		return nil, fmt.Errorf("no schema")
	}
	c, err := compileSchema(v.Schema.OpenAPIV3Schema, k.Scale)
	if err != nil {
		return nil, err
	}
	k.decode = c.decode
	// kube-apiserver defaults objects again when it reads them from storage. By then the status of the client is gone.
	k.create = func(content map[string]any) { defaulting.Default(content, c.structural) }
	k.prune = func(content map[string]any) { pruning.Prune(content, c.structural, true) }
	k.validate = c.validate
	if k.table, err = customTable(v.AdditionalPrinterColumns); err != nil {
		return nil, err
	}
	if err := k.describe(c.structural); err != nil {
		return nil, err
	}
	return k, k.track()
}

func compileSchema(props *apiextensionsv1.JSONSchemaProps, scale *ScalePaths) (*custom, error) {
	structural, internal, err := structuralOf(props)
	if err != nil {
		return nil, err
	}
	if err := defaulting.PruneDefaults(structural); err != nil {
		return nil, fmt.Errorf("pruning the defaults: %w", err)
	}
	c := &custom{structural: structural, scale: scale}
	if c.schema, _, err = schemavalidation.NewSchemaValidator(internal); err != nil {
		return nil, fmt.Errorf("compiling the schema: %w", err)
	}
	status := internal.Properties["status"]
	if _, ok := internal.Properties["status"]; !ok {
		status = apiextensions.JSONSchemaProps{}
	}
	if c.status, _, err = schemavalidation.NewSchemaValidator(&status); err != nil {
		return nil, fmt.Errorf("compiling the schema of the status: %w", err)
	}
	c.rules = cel.NewValidator(structural, true, apiservercel.PerCallLimit)
	return c, nil
}

// decode prunes and defaults content of a request.
func (c *custom) decode(content map[string]any) (map[string]any, []string, error) {
	out := runtime.DeepCopyJSON(content)
	unknown := pruning.PruneWithOptions(out, c.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(out, c.structural)
	if err, paths := objectmeta.CoerceWithOptions(nil, out, c.structural, false, objectmeta.CoerceOptions{
		DropInvalidFields: false, ReturnUnknownFieldPaths: true,
	}); err != nil {
		return nil, nil, err
	} else if len(paths) > 0 {
		unknown = append(unknown, paths...)
	}
	meta, _, paths, err := objectmeta.GetObjectMetaWithOptions(out, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, nil, err
	}
	if meta != nil {
		if err := objectmeta.SetObjectMeta(out, meta); err != nil {
			return nil, nil, fmt.Errorf("reading the metadata: %w", err)
		}
		dropNullTimes(out["metadata"])
	}
	unknown = append(unknown, paths...)
	for i := range unknown {
		unknown[i] = fmt.Sprintf("unknown field %q", unknown[i])
	}
	defaulting.Default(out, c.structural)
	return out, unknown, nil
}

func (c *custom) validate(content, old map[string]any, status bool) field.ErrorList {
	var errs field.ErrorList
	switch {
	case status:
		if value, ok := content["status"]; ok {
			errs = schemavalidation.ValidateCustomResourceUpdate(field.NewPath("status"), value, old["status"], c.status)
		}
	case old != nil:
		errs = schemavalidation.ValidateCustomResourceUpdate(nil, content, old, c.schema)
	default:
		errs = schemavalidation.ValidateCustomResource(nil, content, c.schema)
	}
	if c.scale != nil {
		errs = append(errs, c.validateScale(content, status)...)
	}
	if !status {
		errs = append(errs, objectmeta.Validate(context.Background(), nil, content, c.structural, false)...)
	}
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, c.structural, content)...)
	if c.rules == nil {
		return errs
	}
	if blocked := blocking(errs); blocked != nil {
		return append(errs, blocked)
	}
	var former any
	if old != nil {
		former = old
	}
	found, _ := c.rules.Validate(context.Background(), nil, c.structural, content, former, apiservercel.RuntimeCELCostBudget)
	return append(errs, found...)
}

// blocking: rules are not evaluated for objects whose types are wrong.
func blocking(errs field.ErrorList) *field.Error {
	for _, e := range errs {
		if e.Type == field.ErrorTypeNotSupported || e.Type == field.ErrorTypeRequired || e.Type == field.ErrorTypeTooLong ||
			e.Type == field.ErrorTypeTooMany || e.Type == field.ErrorTypeTypeInvalid {
			return field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation")
		}
	}
	return nil
}

// validateScale: what the subresource scale shows are numbers of replicas.
func (c *custom) validateScale(content map[string]any, status bool) field.ErrorList {
	var errs field.ErrorList
	for _, path := range []string{c.scale.Replicas, c.scale.StatusReplicas} {
		if status && path == c.scale.Replicas {
			continue
		}
		at := field.NewPath(path)
		n, _, err := unstructured.NestedInt64(content, strings.Split(strings.TrimPrefix(path, "."), ".")...)
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(at, n, err.Error()))
		case n < 0:
			errs = append(errs, field.Invalid(at, n, "should be a non-negative integer"))
		case n > math.MaxInt32:
			errs = append(errs, field.Invalid(at, n, fmt.Sprintf("should be less than or equal to %v", math.MaxInt32)))
		}
	}
	return errs
}

// customTable prints custom resources with the columns of their definition, or with their age if it has none.
func customTable(columns []apiextensionsv1.CustomResourceColumnDefinition) (func([]*unstructured.Unstructured, time.Time) (*metav1.Table, error), error) {
	if len(columns) == 0 {
		columns = []apiextensionsv1.CustomResourceColumnDefinition{{
			Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"],
		}}
	}
	var dates []int // the library prints them by the clock of the host
	plain := make([]apiextensionsv1.CustomResourceColumnDefinition, len(columns))
	for i, c := range columns {
		if plain[i] = c; c.Type == "date" {
			dates, plain[i].Type = append(dates, i+1), "string"
		}
	}
	convertor, err := tableconvertor.New(plain)
	if err != nil {
		return nil, fmt.Errorf("reading the printer columns: %w", err)
	}
	return func(objects []*unstructured.Unstructured, now time.Time) (*metav1.Table, error) {
		out := &metav1.Table{}
		for _, object := range objects {
			table, err := convertor.ConvertToTable(context.Background(), object, nil)
			if err != nil {
				return nil, fmt.Errorf("printing %s: %w", object.GetName(), err)
			}
			out.ColumnDefinitions, out.Rows = table.ColumnDefinitions, append(out.Rows, table.Rows...)
		}
		if len(objects) == 0 {
			table, err := convertor.ConvertToTable(context.Background(), &unstructured.UnstructuredList{}, nil)
			if err != nil {
				return nil, fmt.Errorf("printing an empty list: %w", err)
			}
			out.ColumnDefinitions = table.ColumnDefinitions
		}
		out.ColumnDefinitions = append([]metav1.TableColumnDefinition(nil), out.ColumnDefinitions...)
		for _, i := range dates {
			out.ColumnDefinitions[i].Type = "date"
			for _, row := range out.Rows {
				if row.Cells[i] != nil {
					row.Cells[i] = since(row.Cells[i], now)
				}
			}
		}
		return out, nil
	}, nil
}

// modelName names the schema of custom resources in OpenAPI documents.
func (k *Kind) modelName() string {
	parts := strings.Split(k.Group, ".")
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return strings.Join(append(parts, k.Version, k.Kind), ".")
}

// describe builds what server-side apply and OpenAPI know about the fields of a custom resource.
func (k *Kind) describe(structural *structuralschema.Structural) error {
	full := *structural
	object := full.ToKubeOpenAPI()
	object.SetProperty("metadata", *spec.RefSchema("#/definitions/" + metaName))
	object.SetProperty("apiVersion", *spec.StringProperty())
	object.SetProperty("kind", *spec.StringProperty())
	object.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{"group": k.Group, "version": k.Version, "kind": k.Kind}})
	meta := &spec.Schema{}
	if err := json.Unmarshal([]byte(metaSchema), meta); err != nil {
		return fmt.Errorf("reading the schema of metadata: %w", err)
	}
	typed, err := managedfields.NewTypeConverter(map[string]*spec.Schema{k.modelName(): object, metaName: meta}, false)
	if err != nil {
		return fmt.Errorf("reading the schema for server-side apply: %w", err)
	}
	k.typed = typed
	raw, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encoding the schema: %w", err)
	}
	return json.Unmarshal(raw, &k.model)
}

const metaName = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

// metaSchema has the fields of ObjectMeta with the way in which server-side apply merges them.
const metaSchema = `{"type":"object","properties":{
"annotations":{"type":"object","additionalProperties":{"type":"string"}},
"labels":{"type":"object","additionalProperties":{"type":"string"}},
"creationTimestamp":{"type":"string","format":"date-time"},
"deletionTimestamp":{"type":"string","format":"date-time"},
"deletionGracePeriodSeconds":{"type":"integer","format":"int64"},
"finalizers":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},
"generateName":{"type":"string"},"generation":{"type":"integer","format":"int64"},
"managedFields":{"type":"array","items":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"x-kubernetes-list-type":"atomic"},
"name":{"type":"string"},"namespace":{"type":"string"},
"ownerReferences":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["uid"],"items":{"type":"object",
"x-kubernetes-map-type":"atomic","properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},"name":{"type":"string"},
"uid":{"type":"string"},"controller":{"type":"boolean"},"blockOwnerDeletion":{"type":"boolean"}}}},
"resourceVersion":{"type":"string"},"selfLink":{"type":"string"},"uid":{"type":"string"}}}`
