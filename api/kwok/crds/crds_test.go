package crds_test

import (
	"flag"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-anew/karpenter/api/crds"
	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/test/crdtest"
)

// validNodeClass is the manifest of a KWOKNodeClass that the server accepts.
const validNodeClass = "{apiVersion: karpenter.kwok.sh/v1alpha1, spec: {}}"

var rewrite = flag.Bool("rewrite", false, "write testdata/*.schema.txt from the definitions, for review")

// TestAPIServer installs the CRDs in a real API server and lets it judge, by what the core kinds need as well.
func TestAPIServer(t *testing.T) {
	t.Attr("covers", "C325")
	log.SetLogger(logr.Discard())
	c := crdtest.Start(t, definitions(t))
	for _, path := range []string{"testdata/vectors.yaml", "../../crds/testdata/vectors.yaml"} {
		for _, group := range crdtest.ReadVectors(t, path) {
			if group.CRDs == "core" {
				continue
			}
			group.Manifests = map[string]string{"KWOKNodeClass": validNodeClass}
			t.Run(group.Rule, func(t *testing.T) { group.Check(t, c) })
		}
	}
	t.Run("the largest pool", func(t *testing.T) { crdtest.LargestPool(t, c) })
	t.Run("default of the status", func(t *testing.T) {
		object := crdtest.Object(t, "KWOKNodeClass", validNodeClass)
		crdtest.Put(t, object, "spec", crdtest.Omit)
		if err := c.Create(t.Context(), object, client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": "2024-01-01T01:01:01Z",
		}}}
		got, _, _ := unstructured.NestedFieldNoCopy(object.Object, "status")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// TestDefinitions checks that the core kinds have the rule on the label domain added and are otherwise unchanged, and compares the
// node class with its inventory and its schema.
func TestDefinitions(t *testing.T) {
	core, err := crds.Core()
	if err != nil {
		t.Fatal(err)
	}
	rules, classes := crdtest.Provider(t, core, definitions(t))
	rule := `self in ['karpenter.kwok.sh/kwoknodeclass', 'karpenter.kwok.sh/instance-cpu', 'karpenter.kwok.sh/instance-memory', ` +
		`'karpenter.kwok.sh/instance-family', 'karpenter.kwok.sh/instance-size'] || !self.matches('^[^/]*karpenter[.]kwok[.]sh(/|$)')`
	want := map[string]map[string]string{
		"NodePool":  {"spec.template.spec.requirements[].key": rule},
		"NodeClaim": {"spec.requirements[].key": rule},
	}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	crdtest.Inventory(t, classes, map[string]crdtest.Kind{
		"kwoknodeclasses.karpenter.kwok.sh": {
			Group: "karpenter.kwok.sh", Version: "v1alpha1", Plural: "kwoknodeclasses", Singular: "kwoknodeclass", Kind: "KWOKNodeClass", ListKind: "KWOKNodeClassList",
			ShortNames: []string{"kwoknc", "kwokncs"}, Categories: []string{"karpenter"}, Scope: "Cluster", Subresources: "status",
		},
	})
	crdtest.Schemas(t, classes, *rewrite)
}

func definitions(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	out, err := kwokcrds.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	return out
}
