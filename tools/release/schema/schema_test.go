package schema

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

const root = "../../.."

// compiled returns the schemas of a pattern of CRDs by their names.
func compiled(t *testing.T, patterns ...string) map[string]*jsonschema.Schema {
	t.Helper()
	out := map[string]*jsonschema.Schema{}
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(root, "api", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all, err := Make(content)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, s := range all {
				out[s.Name] = compile(t, s)
			}
		}
	}
	return out
}

func compile(t *testing.T, s Schema) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(s.Content))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(s.Name, document); err != nil {
		t.Fatal(err)
	}
	out, err := compiler.Compile(s.Name)
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	return out
}

// validate checks an object in YAML against the schema of its kind. An object of another project's kind is not known.
func validate(t *testing.T, schemas map[string]*jsonschema.Schema, object string) (known bool, err error) {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	fields, _ := value.(map[string]any)
	kind, _ := fields["kind"].(string)
	apiVersion, _ := fields["apiVersion"].(string)
	group, version, _ := strings.Cut(apiVersion, "/")
	s, known := schemas[group+"/"+strings.ToLower(kind)+"_"+version+".json"]
	if !known {
		return false, nil
	}
	return true, s.Validate(value)
}

func TestNamesOfSchemas(t *testing.T) {
	got := compiled(t, "aws/crds/*.yaml", "kwok/crds/*.yaml", "crds/legacy/*.yaml")
	for _, want := range []string{
		"karpenter.sh/nodepool_v1.json", "karpenter.sh/nodeclaim_v1.json", "karpenter.sh/nodeoverlay_v1alpha1.json",
		"karpenter.k8s.aws/ec2nodeclass_v1.json", "karpenter.kwok.sh/kwoknodeclass_v1alpha1.json",
		"autoscaling.x-k8s.io/capacitybuffer_v1beta1.json", "karpenter.sh/provisioner_v1alpha5.json",
	} {
		if got[want] == nil {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestExamplesAreAccepted(t *testing.T) {
	schemas := compiled(t, "aws/crds/*.yaml", "kwok/crds/*.yaml", "crds/legacy/*.yaml")
	var kinds []string
	err := filepath.WalkDir(filepath.Join(root, "examples"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for object := range strings.SplitSeq("\n"+string(content), "\n---") {
			known, err := validate(t, schemas, object)
			if err != nil {
				t.Errorf("%s: %v", path, err)
			}
			if known {
				kinds = append(kinds, path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(slices.Compact(kinds)) < 8 {
		t.Errorf("only these files have objects that were checked: %q", slices.Compact(kinds))
	}
}

const pool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: one}
spec:
  disruption: {consolidateAfter: 5s}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: one}
      requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
  limits: {cpu: 1, memory: 1Gi}
`

func TestWrongObjectsAreRefused(t *testing.T) {
	schemas := compiled(t, "aws/crds/*.yaml")
	if known, err := validate(t, schemas, pool); !known || err != nil {
		t.Fatalf("known %t, %v", known, err)
	}
	for name, change := range map[string][2]string{
		"unknown field":          {"consolidateAfter: 5s", "consolidateAfter: 5s, consolidateBefore: 5s"},
		"field of a wrong type":  {"values: [amd64]", "values: amd64"},
		"value outside an enum":  {"operator: In", "operator: Within"},
		"text against a pattern": {"5s", "soon"},
		"missing field":          {"consolidateAfter: 5s", "budgets: [{reasons: [Drifted]}]"},
		"missing metadata":       {"metadata: {name: one}\n", ""},
		"quantity that is none":  {"cpu: 1,", "cpu: [1],"},
	} {
		changed := strings.Replace(pool, change[0], change[1], 1)
		if known, err := validate(t, schemas, changed); !known || err == nil {
			t.Errorf("%s is accepted (known %t):\n%s", name, known, changed)
		}
	}
}

func TestKeywordsOfKubernetesAreConverted(t *testing.T) {
	all, err := Make([]byte(`
spec:
  group: example.com
  names: {kind: It}
  versions:
    - name: v1
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                above: {type: integer, minimum: 3, exclusiveMinimum: true}
                maybe: {type: string, nullable: true}
                either: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
                nullable: {type: string}
                free: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}
                items: {type: array, items: {type: object, properties: {a: {type: string}}}}
`))
	if err != nil || len(all) != 1 {
		t.Fatalf("%d schemas, %v", len(all), err)
	}
	schemas := map[string]*jsonschema.Schema{all[0].Name: compile(t, all[0])}
	for spec, want := range map[string]bool{
		"{above: 4}": true, "{above: 3}": false,
		"{maybe: null}": true, "{maybe: 1}": false,
		"{either: 1}": true, "{either: 1%}": true, "{either: 1.5}": false,
		"{nullable: x}": true, "{nullable: null}": false,
		"{free: {a: x, b: 1}}": true, "{free: {a: 1}}": false,
		"{items: [{a: x}]}": true, "{items: [{b: x}]}": false,
	} {
		known, err := validate(t, schemas, "apiVersion: example.com/v1\nkind: It\nmetadata: {}\nspec: "+spec)
		if !known || (err == nil) != want {
			t.Errorf("%s: known %t, error %v, want accepted %t", spec, known, err, want)
		}
	}
}

func TestWhatIsNoDefinitionIsRefused(t *testing.T) {
	if _, err := Make([]byte("kind: ConfigMap")); err == nil || !strings.Contains(err.Error(), "CustomResourceDefinition") {
		t.Errorf("error %v", err)
	}
}
