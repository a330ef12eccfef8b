// Package generate writes objects by the schemas of their CustomResourceDefinitions, from a stream of bytes: what a fuzzer needs to
// reach code that only gets objects that the API server has admitted.
//
// The same bytes give the same object, and fewer bytes give a smaller one: when they are spent, only required fields are written.
// Most values are valid by the schema; some are not, and rules across fields are ignored, so the objects have to be validated before they
// are used.
package generate

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// maxEntries is how many entries a list or map gets at most, below what its schema allows.
const maxEntries = 4

// Source is a stream of choices.
type Source struct {
	bytes []byte
	// own are strings to use beside the usual ones.
	own []string
}

// From returns a source of bytes with further strings to use.
func From(choices []byte, own ...string) *Source { return &Source{bytes: choices, own: own} }

// below is the next choice among n.
func (s *Source) below(n int) int {
	if n <= 1 || len(s.bytes) == 0 {
		return 0
	}
	next := int(s.bytes[0])
	s.bytes = s.bytes[1:]
	return next % n
}

// wants reports whether to write an optional field: for about a third of all bytes.
func (s *Source) wants() bool { return s.below(8) > 4 }

// Object is an object of a kind, with the fields below "spec" from the source. Fixed holds values by their paths, such as
// "spec.template.spec.nodeClassRef", that are written as they are.
func Object(s *Source, crd *apiextensionsv1.CustomResourceDefinition, name string, fixed map[string]any) map[string]any {
	version := crd.Spec.Versions[0]
	spec := version.Schema.OpenAPIV3Schema.Properties["spec"]
	w := writer{s, fixed}
	return map[string]any{
		"apiVersion": crd.Spec.Group + "/" + version.Name, "kind": crd.Spec.Names.Kind,
		"metadata": map[string]any{"name": name}, "spec": w.value("spec", &spec),
	}
}

// writer writes values of one object.
type writer struct {
	*Source
	fixed map[string]any
}

// value writes a value by its schema.
func (w writer) value(path string, schema *apiextensionsv1.JSONSchemaProps) any {
	if fixed, ok := w.fixed[path]; ok {
		return copied(fixed)
	}
	switch {
	case schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields:
		var out any
		texts := blocks()
		if err := json.Unmarshal([]byte(texts[w.below(len(texts))]), &out); err != nil {
			panic(err) // a mistake in the list
		}
		return out
	case schema.XIntOrString:
		return w.text(schema, quantities())
	case len(schema.Enum) > 0:
		return w.member(schema)
	}
	switch schema.Type {
	case "object":
		return w.object(path, schema)
	case "array":
		return w.list(path, schema)
	case "integer":
		return w.number(schema)
	case "boolean":
		return w.below(2) == 1
	default:
		return w.text(schema, texts())
	}
}

// member is one of the values of an enumeration, or none of them.
func (w writer) member(schema *apiextensionsv1.JSONSchemaProps) any {
	at := w.below(len(schema.Enum) + 1)
	if at == len(schema.Enum) {
		return "nonsense"
	}
	var out any
	if err := json.Unmarshal(schema.Enum[at].Raw, &out); err != nil {
		panic(err) // the schema was read from JSON
	}
	return out
}

func (w writer) object(path string, schema *apiextensionsv1.JSONSchemaProps) any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		property := schema.Properties[name]
		below := path + "." + name
		_, fixed := w.fixed[below]
		if fixed || holds(w.fixed, below) || slices.Contains(schema.Required, name) || w.wants() {
			out[name] = w.value(below, &property)
		}
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		for range w.below(maxEntries) {
			key, _ := w.text(&apiextensionsv1.JSONSchemaProps{}, texts()).(string)
			out[key] = w.value(path+".*", schema.AdditionalProperties.Schema)
		}
	}
	return out
}

// holds reports whether a value below a path is fixed.
func holds(fixed map[string]any, path string) bool {
	for other := range fixed {
		if len(other) > len(path) && other[:len(path)+1] == path+"." {
			return true
		}
	}
	return false
}

func (w writer) list(path string, schema *apiextensionsv1.JSONSchemaProps) any {
	out := []any{}
	n := w.below(maxEntries)
	if n == 0 && schema.MinItems != nil {
		n = int(*schema.MinItems)
	}
	for range n {
		out = append(out, w.value(path+"[]", schema.Items.Schema))
	}
	return out
}

// number is one of the numbers at and beyond the bounds, or a small one.
func (w writer) number(schema *apiextensionsv1.JSONSchemaProps) any {
	least, most := int64(-1), int64(1)<<31-1
	if schema.Minimum != nil {
		least = int64(*schema.Minimum)
	}
	if schema.Maximum != nil {
		most = int64(*schema.Maximum)
	}
	return []int64{least, most, least + 1, 1, 7, 100, least - 1, most + 1}[w.below(8)]
}

// text is one of the texts that the schema allows, or any.
func (w writer) text(schema *apiextensionsv1.JSONSchemaProps, from []string) any {
	all := append(slices.Clone(from), w.own...)
	allowed := slices.DeleteFunc(slices.Clone(all), func(text string) bool { return !allows(schema, text) })
	if len(allowed) == 0 || w.below(16) == 15 {
		allowed = all
	}
	return allowed[w.below(len(allowed))]
}

func allows(schema *apiextensionsv1.JSONSchemaProps, text string) bool {
	if schema.MaxLength != nil && int64(len(text)) > *schema.MaxLength || schema.MinLength != nil && int64(len(text)) < *schema.MinLength {
		return false
	}
	if schema.Pattern == "" {
		return true
	}
	pattern := compiled(schema.Pattern)
	return pattern != nil && pattern.MatchString(text)
}

// patterns are the patterns of schemas, by their text: each is matched with every text of every object.
var patterns sync.Map //nolint:gochecknoglobals // a cache

// compiled is a pattern of a schema; nil if Go cannot read it.
func compiled(text string) *regexp.Regexp {
	if known, ok := patterns.Load(text); ok {
		return known.(*regexp.Regexp) //nolint:forcetypeassert // nothing else is stored
	}
	pattern, err := regexp.Compile(text)
	if err != nil {
		pattern = nil
	}
	patterns.Store(text, pattern)
	return pattern
}

func copied(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // fixed values are plain
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}
