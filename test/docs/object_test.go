package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	awscrds "github.com/karpenter-anew/karpenter/api/aws/crds"
	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	azurecrds "github.com/karpenter-anew/karpenter/api/azure/crds"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/internal/manifest"
)

// place is a cluster of one cloud: the definitions that it has, and what judges by them.
type place struct {
	definitions []*apiextensionsv1.CustomResourceDefinition
	judge       *manifest.Reader
}

func newPlace(read func() ([]*apiextensionsv1.CustomResourceDefinition, error)) place {
	all, err := read()
	if err != nil {
		panic(err)
	}
	judge, err := manifest.NewReader(all, awsv1.AddToScheme, v1beta1.AddToScheme)
	if err != nil {
		panic(err)
	}
	return place{all, judge}
}

// The clusters. Rules are compiled once.
var (
	onAWS   = sync.OnceValue(func() place { return newPlace(awscrds.Definitions) })
	onAzure = sync.OnceValue(func() place { return newPlace(azurecrds.Definitions) })
	onKwok  = sync.OnceValue(func() place { return newPlace(kwokcrds.Definitions) })
)

// checkObjects validates documents with the API server of a cluster of one cloud.
func checkObjects(t *testing.T, name, text string) {
	t.Helper()
	where := onAWS()
	switch {
	case strings.Contains(text, "karpenter.kwok.sh"):
		where = onKwok()
	case strings.Contains(text, "karpenter.azure.com"):
		where = onAzure()
	}
	all, reader := where.definitions, where.judge
	if _, err := reader.Read(name, strings.NewReader(text)); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	for document := range strings.SplitSeq(text, "\n---\n") {
		content, err := manifest.PartOf(name, []byte(document)).Content()
		if err != nil {
			t.Errorf("%v\n%s", err, document)
			continue
		}
		group, version, _ := strings.Cut(content["apiVersion"].(string), "/")
		defined := func(crd *apiextensionsv1.CustomResourceDefinition) bool {
			current := func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
				return v.Name == version && !v.Deprecated
			}
			return crd.Spec.Group == group && crd.Spec.Names.Kind == content["kind"] && slices.ContainsFunc(crd.Spec.Versions, current)
		}
		if strings.Contains(group, "karpenter") && !slices.ContainsFunc(all, defined) {
			t.Errorf("%s: there is no %v %v", name, content["apiVersion"], content["kind"])
		}
		for _, found := range reader.Check(content) {
			t.Errorf("%s: %s: %s\n%s", name, found.Field, found.Message, document)
		}
	}
}

// small are objects that parts of objects are put into.
func small(kind string) string {
	switch kind {
	case "EC2NodeClass":
		return `{apiVersion: karpenter.k8s.aws/v1, kind: EC2NodeClass, metadata: {name: a}, spec: {role: a, amiSelectorTerms: [{alias: al2023@latest}],
			subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]}}`
	case "AKSNodeClass":
		return `{apiVersion: karpenter.azure.com/v1beta1, kind: AKSNodeClass, metadata: {name: a}, spec: {}}`
	case "NodePool":
		return `{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: a}, spec: {template: {spec: {requirements: [],
			nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}}}}}`
	default:
		return ""
	}
}

func TestObjectsOfPagesAreLetIn(t *testing.T) {
	objects, parts := 0, 0
	for _, p := range pages(t) {
		for _, b := range p.blocks() {
			switch {
			case b.language != "yaml":
			case b.note != "":
				parts++
				checkPart(t, p, b)
			case strings.Contains(b.text, "apiVersion:"):
				objects++
				checkObjects(t, p.name, b.text)
			default:
				var any map[string]any
				if err := yaml.UnmarshalStrict([]byte(b.text), &any); err != nil {
					t.Errorf("%s: %v\n%s", p.name, err, b.text)
				}
			}
		}
	}
	if objects < 3 || parts < 10 {
		t.Errorf("%d objects and %d parts were found", objects, parts)
	}
}

func checkPart(t *testing.T, p page, b block) {
	t.Helper()
	var whole, part map[string]any
	if err := yaml.Unmarshal([]byte(small(b.note)), &whole); err != nil || whole == nil {
		t.Fatalf("%s: a part of what is %q? %v", p.name, b.note, err)
	}
	if err := yaml.UnmarshalStrict([]byte(b.text), &part); err != nil {
		t.Errorf("%s: %v\n%s", p.name, err, b.text)
		return
	}
	spec, _ := whole["spec"].(map[string]any)
	written, _ := part["spec"].(map[string]any)
	if len(part) != 1 || len(written) == 0 {
		t.Errorf("%s: a part holds spec and nothing else\n%s", p.name, b.text)
	}
	for field, value := range written {
		spec[field] = value
	}
	if spec["instanceProfile"] != nil {
		delete(spec, "role")
	}
	text, err := yaml.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	checkObjects(t, p.name, string(text))
}

func TestExamplesAreLetIn(t *testing.T) {
	check := func(path string, d fs.DirEntry, err error) error {
		// Objects to convert are of earlier APIs, and the rest of deploy is for other programs, as is the configuration of kube-state-metrics.
		if err != nil || d.IsDir() || strings.Contains(path, "/convert/") || strings.Contains(path, "/kube-state-metrics/") || strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		checkObjects(t, path, string(text))
		return nil
	}
	for _, from := range []string{"examples", "deploy/flowschemas.yaml"} {
		if err := filepath.WalkDir(filepath.Join(root, from), check); err != nil {
			t.Fatal(err)
		}
	}
}
