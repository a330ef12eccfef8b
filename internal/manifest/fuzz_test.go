package manifest_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	awscrds "github.com/karpenter-anew/karpenter/api/aws/crds"
	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	azurecrds "github.com/karpenter-anew/karpenter/api/azure/crds"
	azurev1alpha2 "github.com/karpenter-anew/karpenter/api/azure/v1alpha2"
	azurev1beta1 "github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/crds"
	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	kwokv1alpha1 "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	legacyv1alpha1 "github.com/karpenter-anew/karpenter/api/legacy/v1alpha1"
	"github.com/karpenter-anew/karpenter/api/legacy/v1alpha5"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/test/generate"
)

// kinds are the definitions of all kinds, with their validators and decoders.
var kinds = sync.OnceValue(func() (out struct {
	definitions []*apiextensionsv1.CustomResourceDefinition
	judge       *manifest.Reader
	scheme      *runtime.Scheme
},
) {
	seen := map[string]bool{}
	for _, read := range []func() ([]*apiextensionsv1.CustomResourceDefinition, error){awscrds.Definitions, azurecrds.Definitions, kwokcrds.Definitions, crds.Legacy} {
		all, err := read()
		if err != nil {
			panic(err)
		}
		for _, crd := range all {
			if !seen[crd.Name] {
				seen[crd.Name] = true
				out.definitions = append(out.definitions, crd)
			}
		}
	}
	var err error
	if out.judge, err = manifest.NewReader(out.definitions, awsv1.AddToScheme, azurev1alpha2.AddToScheme, azurev1beta1.AddToScheme); err != nil {
		panic(err)
	}
	out.scheme = runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		v1.AddToScheme, v1alpha1.AddToScheme, opsv1alpha1.AddToScheme, v1beta1.AddToScheme, awsv1.AddToScheme, azurev1alpha2.AddToScheme, azurev1beta1.AddToScheme, kwokv1alpha1.AddToScheme, v1alpha5.AddToScheme, legacyv1alpha1.AddToScheme,
	} {
		if err := add(out.scheme); err != nil {
			panic(err)
		}
	}
	return out
})

// TestNoDefinitionAdmitsAQuantityThatCannotBeRead checks the patterns of all quantities. One object with such a quantity would stop the watch of
// its kind.
func TestNoDefinitionAdmitsAQuantityThatCannotBeRead(t *testing.T) {
	found := 0
	var walk func(at string, s *apiextensionsv1.JSONSchemaProps)
	walk = func(at string, s *apiextensionsv1.JSONSchemaProps) {
		if s.XIntOrString && s.Pattern != "" {
			found++
			admitted := regexp.MustCompile(s.Pattern)
			for _, text := range []string{"1e1.5", "1e999999999", "1e-999999999", "1e130", strings.Repeat("9", 300)} {
				if admitted.MatchString(text) {
					t.Errorf("%s admits %s", at, text)
				}
			}
		}
		for name, property := range s.Properties {
			walk(at+"."+name, &property)
		}
		if s.Items != nil {
			walk(at+"[]", s.Items.Schema)
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			walk(at+".*", s.AdditionalProperties.Schema)
		}
	}
	for _, crd := range kinds().definitions {
		for _, version := range crd.Spec.Versions {
			walk(crd.Spec.Names.Kind, version.Schema.OpenAPIV3Schema)
		}
	}
	if found < 6 {
		t.Errorf("%d quantities are found", found)
	}
}

// FuzzKinds checks that objects that the definitions admit can be decoded and encoded, and are admitted again. A single object that cannot be
// decoded stops the watch of its kind.
func FuzzKinds(f *testing.F) {
	for i := range kinds().definitions {
		f.Add(uint8(i), []byte{}, "")
		f.Add(uint8(i), []byte(strings.Repeat("\x07\x03\x05\x06\x01", 12)), "a")
		f.Add(uint8(i), []byte(strings.Repeat("\x05\x06\x07\x02\x06\x05\x09", 12)), "2562048h")
	}
	f.Fuzz(func(t *testing.T, kind uint8, choices []byte, own string) {
		k := kinds()
		crd := k.definitions[int(kind)%len(k.definitions)]
		content := generate.Object(generate.From(choices, own), crd, "a", nil)
		if len(k.judge.Check(content)) > 0 {
			return
		}
		text, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		gvk := schema.GroupVersionKind{Group: crd.Spec.Group, Version: crd.Spec.Versions[0].Name, Kind: crd.Spec.Names.Kind}
		object, err := k.scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, object); err != nil {
			t.Fatalf("the definition lets in what cannot be decoded: %v\n%s", err, text)
		}
		again, err := json.Marshal(object)
		if err != nil {
			t.Fatalf("what was decoded cannot be encoded: %v\n%s", err, text)
		}
		var back map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(again, &back); err != nil {
			t.Fatal(err)
		}
		delete(back, "status")
		for _, found := range k.judge.Check(back) {
			t.Errorf("decoded and encoded, it is refused: %s: %s\n%s\n%s", found.Field, found.Message, text, again)
		}
	})
}
