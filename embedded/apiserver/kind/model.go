package kind

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Model returns the name and the OpenAPI schema of the kind. The schemas that it refers to are added to schemas.
func (k *Kind) Model(schemas map[string]any) (string, map[string]any) {
	gvk := []any{map[string]any{"group": k.Group, "version": k.Version, "kind": k.Kind}}
	if k.New == nil {
		reflected(reflect.TypeFor[metav1.ObjectMeta](), schemas)
		raw, err := json.Marshal(k.model)
		out := map[string]any{}
		if err == nil {
			// References of a version 2 document, as server-side apply takes them.
			raw = []byte(strings.ReplaceAll(string(raw), `"#/definitions/`, `"#/components/schemas/`))
			err = json.Unmarshal(raw, &out)
		}
		if err != nil {
			return k.modelName(), map[string]any{"type": "object", "x-kubernetes-group-version-kind": gvk}
		}
		return k.modelName(), out
	}
	t := reflect.TypeOf(k.New()).Elem()
	reflected(t, schemas)
	name := typeName(t)
	model, _ := schemas[name].(map[string]any)
	model["x-kubernetes-group-version-kind"] = gvk
	return name, model
}

// typeName names a Go type as Kubernetes does: io.k8s.api.core.v1.Pod.
func typeName(t reflect.Type) string {
	path := strings.ReplaceAll(strings.TrimPrefix(t.PkgPath(), "k8s.io/"), "/", ".")
	return "io.k8s." + path + "." + t.Name()
}

// reflected is the schema of a Go type. Structs are added to schemas and referred to.
func reflected(t reflect.Type, schemas map[string]any) map[string]any {
	switch t {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case reflect.TypeFor[resource.Quantity]():
		return map[string]any{"oneOf": []any{map[string]any{"type": "string"}, map[string]any{"type": "number"}}}
	case reflect.TypeFor[intstr.IntOrString]():
		return map[string]any{"oneOf": []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}}, "format": "int-or-string"}
	case reflect.TypeFor[metav1.FieldsV1]():
		return map[string]any{"type": "object"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return reflected(t.Elem(), schemas)
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return map[string]any{"type": "integer", "format": "int32"}
	case reflect.Int64, reflect.Uint64, reflect.Uint:
		return map[string]any{"type": "integer", "format": "int64"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number", "format": "double"}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": "string", "format": "byte"}
		}
		return map[string]any{"type": "array", "items": reflected(t.Elem(), schemas)}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": reflected(t.Elem(), schemas)}
	case reflect.Struct:
		if _, ok := t.MethodByName("MarshalJSON"); ok {
			return map[string]any{} // any value, such as the JSON in a schema
		}
		return reflectedStruct(t, schemas)
	}
	return map[string]any{}
}

func reflectedStruct(t reflect.Type, schemas map[string]any) map[string]any {
	name := typeName(t)
	ref := map[string]any{"$ref": "#/components/schemas/" + name}
	if schemas[name] != nil {
		return ref
	}
	properties := map[string]any{}
	model := map[string]any{"type": "object", "properties": properties}
	schemas[name] = model
	docs := map[string]string{}
	if documented, ok := reflect.New(t).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
		docs = documented.SwaggerDoc()
	}
	if docs[""] != "" {
		model["description"] = docs[""]
	}
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "" && f.Anonymous && strings.Contains(options, "inline") || tag == "" && f.Anonymous {
			inlined := map[string]any{}
			reflectedStruct(f.Type, inlined)
			embedded, _ := inlined[typeName(f.Type)].(map[string]any)
			for key, value := range embedded["properties"].(map[string]any) { //nolint:forcetypeassert // set above
				properties[key] = value
			}
			for key, value := range inlined {
				if key != typeName(f.Type) && schemas[key] == nil {
					schemas[key] = value
				}
			}
			continue
		}
		if tag == "" || tag == "-" {
			continue
		}
		properties[tag] = property(f, docs[tag], schemas)
	}
	return ref
}

// property is the schema of a field of a struct, with its documentation and how patches merge it.
func property(f reflect.StructField, doc string, schemas map[string]any) map[string]any {
	out := reflected(f.Type, schemas)
	if ref, ok := out["$ref"]; ok {
		out = map[string]any{"allOf": []any{map[string]any{"$ref": ref}}}
	}
	if doc != "" {
		out["description"] = doc
	}
	if strategy := f.Tag.Get("patchStrategy"); strategy != "" {
		out["x-kubernetes-patch-strategy"] = strategy
		if key := f.Tag.Get("patchMergeKey"); key != "" {
			out["x-kubernetes-patch-merge-key"] = key
			out["x-kubernetes-list-type"], out["x-kubernetes-list-map-keys"] = "map", []any{key}
		}
	}
	return out
}
