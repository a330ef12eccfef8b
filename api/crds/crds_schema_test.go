package crds_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	awscrds "github.com/karpenter-anew/karpenter/api/aws/crds"
	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/crds"
	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/*.schema.txt from the definitions, for review")

// TestSchema compares every field and constraint with testdata/*.schema.txt, one line a field, so that a change of the
// wire format is a change that a reader notices.
func TestSchema(t *testing.T) {
	definitions, err := kwokcrds.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	aws, err := awscrds.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, definition := range slices.Concat(definitions, aws) {
		if definition.Spec.Group != awsv1.Group && slices.Contains(aws, definition) {
			continue // as in the other set, but for one rule; see TestAWSVariantDiffers
		}
		t.Run(definition.Spec.Names.Singular, func(t *testing.T) {
			var lines []string
			flatten("", definition.Spec.Versions[0].Schema.OpenAPIV3Schema, true, &lines)
			got := strings.Join(lines, "\n") + "\n"
			path := filepath.Join("testdata", definition.Spec.Names.Singular+".schema.txt")
			if *rewrite {
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

// TestVariantsDiffer checks that the two sets differ in the rule on the kwok label domain, which pools and claims have,
// and in nothing else.
func TestVariantsDiffer(t *testing.T) {
	core, err := crds.Core()
	if err != nil {
		t.Fatal(err)
	}
	kwok, err := kwokcrds.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, definition := range core {
		other := kwok[slices.IndexFunc(kwok, func(k *apiextensionsv1.CustomResourceDefinition) bool { return k.Name == definition.Name })]
		var a, b []string
		flatten("", definition.Spec.Versions[0].Schema.OpenAPIV3Schema, true, &a)
		flatten("", other.Spec.Versions[0].Schema.OpenAPIV3Schema, true, &b)
		var differing []string
		for i := range a {
			if a[i] != b[i] {
				differing = append(differing, strings.TrimPrefix(b[i], a[i]))
			}
		}
		rule := ` rule(self in ['karpenter.kwok.sh/kwoknodeclass', 'karpenter.kwok.sh/instance-cpu', 'karpenter.kwok.sh/instance-memory', ` +
			`'karpenter.kwok.sh/instance-family', 'karpenter.kwok.sh/instance-size'] || !self.matches('^[^/]*karpenter[.]kwok[.]sh(/|$)'))`
		want := map[string][]string{"NodePool": {rule}, "NodeClaim": {rule}}[definition.Spec.Names.Kind]
		if diff := cmp.Diff(want, differing); diff != "" {
			t.Errorf("%s (-want +got)\n%s", definition.Name, diff)
		}
	}
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
