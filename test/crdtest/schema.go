package crdtest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Schemas compares every field and constraint of definitions with testdata/*.schema.txt, one line a field, so that a reader notices
// each change of the wire format. It writes the files instead if rewrite is set.
func Schemas(t *testing.T, definitions []*apiextensionsv1.CustomResourceDefinition, rewrite bool) {
	t.Helper()
	for _, definition := range definitions {
		t.Run(definition.Spec.Names.Singular, func(t *testing.T) {
			got := strings.Join(linesOf(definition), "\n") + "\n"
			path := filepath.Join("testdata", definition.Spec.Names.Singular+".schema.txt")
			if rewrite {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("the schema changed; if that is meant, run the test with -rewrite and review the difference (-want +got)\n%s", diff)
			}
		})
	}
}

// Provider compares the definitions of a provider with those of the core kinds. They must differ in added rules only. It returns
// the rules by kind and path, and the definitions of the other kinds: the node classes of the provider.
func Provider(t *testing.T, core, provider []*apiextensionsv1.CustomResourceDefinition) (map[string]map[string]string, []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	rules, rest := map[string]map[string]string{}, slices.Clone(provider)
	for _, definition := range core {
		at := slices.IndexFunc(rest, func(d *apiextensionsv1.CustomResourceDefinition) bool { return d.Name == definition.Name })
		if at < 0 {
			t.Fatalf("%s is not among the definitions of the provider", definition.Name)
		}
		if diff := cmp.Diff(KindOf(t, definition), KindOf(t, rest[at])); diff != "" {
			t.Errorf("%s (-core +provider)\n%s", definition.Name, diff)
		}
		a, b := linesOf(definition), linesOf(rest[at])
		rest = slices.Delete(rest, at, at+1)
		if len(a) != len(b) {
			t.Fatalf("%s has %d fields, and %d with the provider", definition.Name, len(a), len(b))
		}
		added := map[string]string{}
		for i := range a {
			rule, ok := strings.CutPrefix(b[i], a[i]+" rule(")
			switch {
			case a[i] == b[i]:
			case ok:
				added[strings.Fields(a[i])[0]] = strings.TrimSuffix(rule, ")")
			default:
				t.Errorf("%s: %q became %q", definition.Name, a[i], b[i])
			}
		}
		if len(added) > 0 {
			rules[definition.Spec.Names.Kind] = added
		}
	}
	return rules, rest
}

// linesOf lists the schema of a definition.
func linesOf(definition *apiextensionsv1.CustomResourceDefinition) []string {
	var lines []string
	flatten("", definition.Spec.Versions[0].Schema.OpenAPIV3Schema, true, &lines)
	return lines
}

// flatten lists a schema, one line a field: path, R or O, type, then every keyword that is set.
func flatten(path string, s *apiextensionsv1.JSONSchemaProps, required bool, lines *[]string) {
	if path != "" && !standard(path) {
		*lines = append(*lines, line(path, s, required))
	}
	if s.Items != nil {
		flatten(path+"[]", s.Items.Schema, false, lines)
	}
	if s.AdditionalProperties != nil {
		flatten(path+"{}", s.AdditionalProperties.Schema, false, lines)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		flatten(strings.TrimPrefix(path+"."+name, "."), &property, slices.Contains(s.Required, name), lines)
	}
}

// standard reports whether every kind has the field.
func standard(path string) bool { return path == "apiVersion" || path == "kind" || path == "metadata" }

// line shows one field.
func line(path string, s *apiextensionsv1.JSONSchemaProps, required bool) string {
	presence := "O"
	if required {
		presence = "R"
	}
	parts := []string{path, presence, s.Type}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if s.XIntOrString {
		add("int-or-string")
	}
	if s.Format != "" {
		add("format=%s", s.Format)
	}
	if s.Default != nil {
		add("default=%s", s.Default.Raw)
	}
	for _, keyword := range []struct {
		name  string
		limit *int64
	}{{"maxItems", s.MaxItems}, {"minLength", s.MinLength}, {"maxLength", s.MaxLength}, {"maxProperties", s.MaxProperties}} {
		if keyword.limit != nil {
			add("%s=%d", keyword.name, *keyword.limit)
		}
	}
	if s.Minimum != nil {
		add("minimum=%v", *s.Minimum)
	}
	if s.Maximum != nil {
		add("maximum=%v", *s.Maximum)
	}
	if s.XListType != nil {
		add("list=%s%v", *s.XListType, s.XListMapKeys)
	}
	if s.XMapType != nil {
		add("map=%s", *s.XMapType)
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, value := range s.Enum {
			values = append(values, strings.Trim(string(value.Raw), `"`))
		}
		add("enum=%s", strings.Join(values, ","))
	}
	if s.Pattern != "" {
		add("pattern=%s", s.Pattern)
	}
	for _, rule := range s.XValidations {
		add("rule(%s)", rule.Rule)
	}
	return strings.Join(parts, " ")
}
