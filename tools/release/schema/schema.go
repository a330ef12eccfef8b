// Package schema makes JSON schemas of CustomResourceDefinitions, for editors and for validation without a cluster. They check what JSON
// schemas can: rules in CEL are left to the API server.
package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Schema is the JSON schema of one version of a kind.
type Schema struct {
	// Name is GROUP/KIND_VERSION.json in lower case, as kubeconform and the catalogs for editors expect it.
	Name    string
	Content []byte
}

// definition is what is read of a CustomResourceDefinition.
type definition struct {
	Spec struct {
		Group    string
		Names    struct{ Kind string }
		Versions []struct {
			Name   string
			Schema struct{ OpenAPIV3Schema map[string]any }
		}
	}
}

// Make returns the schemas of all versions of a CustomResourceDefinition in YAML.
func Make(content []byte) ([]Schema, error) {
	var d definition
	if err := yaml.Unmarshal(content, &d); err != nil {
		return nil, err
	}
	if d.Spec.Group == "" || d.Spec.Names.Kind == "" || len(d.Spec.Versions) == 0 {
		return nil, fmt.Errorf("it is no CustomResourceDefinition with a group, a kind and versions")
	}
	var out []Schema
	for _, v := range d.Spec.Versions {
		root := object(v.Schema.OpenAPIV3Schema)
		root["$schema"] = "http://json-schema.org/draft-07/schema#"
		root["title"] = d.Spec.Names.Kind + " " + d.Spec.Group + "/" + v.Name
		identify(root, d.Spec.Group+"/"+v.Name, d.Spec.Names.Kind)
		text, err := json.MarshalIndent(root, "", "  ")
		if err != nil {
			return nil, err
		}
		out = append(out, Schema{d.Spec.Group + "/" + strings.ToLower(d.Spec.Names.Kind) + "_" + v.Name + ".json", append(text, '\n')})
	}
	return out, nil
}

// identify makes a schema accept only the version and the kind. A definition need not mention the metadata.
func identify(root map[string]any, version, kind string) {
	properties, _ := root["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
	}
	for name, only := range map[string]string{"apiVersion": version, "kind": kind} {
		field, _ := properties[name].(map[string]any)
		if field == nil {
			field = map[string]any{"type": "string"}
		}
		field["enum"] = []any{only}
		properties[name] = field
	}
	if properties["metadata"] == nil {
		properties["metadata"] = map[string]any{"type": "object"}
	}
	required, _ := root["required"].([]any)
	for _, name := range []any{"apiVersion", "kind", "metadata"} {
		if !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	root["properties"], root["required"] = properties, required
}

// convert turns a structural schema of Kubernetes, or a part of it, into a JSON schema.
func convert(node any) any {
	switch n := node.(type) {
	case map[string]any:
		return object(n)
	case []any:
		out := make([]any, 0, len(n))
		for _, one := range n {
			out = append(out, convert(one))
		}
		return out
	}
	return node
}

// object converts a schema. Kubernetes rejects or drops unknown fields unless the schema preserves them.
func object(in map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range in {
		switch {
		case strings.HasPrefix(key, "x-kubernetes-") || key == "nullable":
		case key == "properties":
			out[key] = members(value)
		case slices.Contains([]string{"items", "additionalProperties", "allOf", "anyOf", "oneOf", "not"}, key):
			out[key] = convert(value)
		default: // also default, enum and example, which are values
			out[key] = value
		}
	}
	if in["x-kubernetes-int-or-string"] == true {
		delete(out, "anyOf")
		out["type"] = []any{"integer", "string"}
	}
	_, hasProperties := in["properties"]
	_, hasAdditional := in["additionalProperties"]
	if in["type"] == "object" && hasProperties && !hasAdditional && in["x-kubernetes-preserve-unknown-fields"] != true {
		out["additionalProperties"] = false
	}
	if t, ok := out["type"].(string); ok && in["nullable"] == true {
		out["type"] = []any{t, "null"}
	}
	// A flag in OpenAPI 3.0, the limit itself in JSON schema.
	for exclusive, limit := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if flag, ok := in[exclusive].(bool); ok {
			delete(out, exclusive)
			if flag {
				out[exclusive] = in[limit]
				delete(out, limit)
			}
		}
	}
	return out
}

// members converts the schemas of fields, which may have the name of a keyword.
func members(properties any) map[string]any {
	fields, _ := properties.(map[string]any)
	out := make(map[string]any, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		out[name] = convert(fields[name])
	}
	return out
}
