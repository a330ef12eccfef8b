package crds_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-anew/karpenter/api/crds"
	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
)

// omit is the fragment that removes a path.
const omit = "OMIT"

// vectors is one group of testdata/vectors.yaml, where the fields are explained.
type vectors struct {
	Rule    string
	CRDs    string
	At      map[string]string
	Also    map[string]any
	From    any
	Accept  []any
	Reject  []any
	Because string
}

// TestAPIServer installs the CRDs in a real API server and lets it judge.
func TestAPIServer(t *testing.T) {
	t.Attr("covers", "C325")
	log.SetLogger(logr.Discard())
	groups := readVectors(t)
	for _, set := range []struct {
		name string
		read func() ([]*apiextensionsv1.CustomResourceDefinition, error)
	}{{"core", crds.Core}, {"kwok", kwokcrds.Definitions}} {
		t.Run(set.name, func(t *testing.T) {
			t.Parallel()
			definitions, err := set.read()
			if err != nil {
				t.Fatal(err)
			}
			c := startServer(t, definitions)
			for _, group := range groups {
				if group.CRDs == "" || group.CRDs == set.name {
					t.Run(group.Rule, func(t *testing.T) { group.check(t, c) })
				}
			}
			t.Run("defaults", func(t *testing.T) { checkDefaults(t, c, set.name) })
			t.Run("status", func(t *testing.T) { checkStatus(t, c) })
			t.Run("scale", func(t *testing.T) { checkScale(t, c) })
			t.Run("round trip", func(t *testing.T) { checkRoundTrip(t, c) })
			t.Run("the largest pool", func(t *testing.T) { checkLargest(t, c) })
		})
	}
}

// readVectors reads the table, and refuses groups that could not fail.
func readVectors(t *testing.T) []vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var groups []vectors
	if err := yaml.UnmarshalStrict(text, &groups); err != nil {
		t.Fatal(err)
	}
	for _, group := range groups {
		if len(group.At) == 0 || len(group.Accept)+len(group.Reject) == 0 || (len(group.Reject) > 0 && group.Because == "") {
			t.Fatalf("group %q checks nothing, or rejects without a reason", group.Rule)
		}
	}
	return groups
}

// startServer runs an API server for the length of the test.
func startServer(t *testing.T, definitions []*apiextensionsv1.CustomResourceDefinition) client.Client {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: this test needs a directory with the programs kube-apiserver and etcd; run \"make test\", which builds them")
	}
	environment := &envtest.Environment{CRDs: definitions}
	config, err := environment.Start()
	if err != nil {
		t.Fatalf("starting the API server: %v", err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Errorf("stopping the API server: %v", err)
		}
	})
	config.QPS = -1
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// check tries every fragment of a group on every kind.
func (v vectors) check(t *testing.T, c client.Client) {
	for kind, path := range v.At {
		for _, fragment := range v.Accept {
			if err := v.try(t, c, kind, path, fragment); err != nil {
				t.Errorf("%s %s = %s: rejected: %v", kind, path, text(fragment), err)
			}
		}
		for _, fragment := range v.Reject {
			switch err := v.try(t, c, kind, path, fragment); {
			case err == nil:
				t.Errorf("%s %s = %s: accepted", kind, path, text(fragment))
			case !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), v.Because):
				t.Errorf("%s %s = %s: rejected, but not because of %q: %v", kind, path, text(fragment), v.Because, err)
			}
		}
	}
}

// try asks the server to create an object with a fragment, or to change one to it, and returns its judgement. Nothing
// stays behind.
func (v vectors) try(t *testing.T, c client.Client, kind, path string, fragment any) error {
	t.Helper()
	object := valid(t, kind)
	for also, value := range v.Also {
		put(t, object, also, value)
	}
	if v.From == nil {
		put(t, object, path, fragment)
		return c.Create(t.Context(), object, client.DryRunAll)
	}
	put(t, object, path, v.From)
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatalf("creating the object to update: %v", err)
	}
	defer remove(t, c, object)
	changed := object.DeepCopy()
	put(t, changed, path, fragment)
	return c.Update(t.Context(), changed)
}

// remove deletes an object that a test created.
func remove(t *testing.T, c client.Client, object client.Object) {
	t.Helper()
	// The context of the test is already cancelled when clean-ups run.
	if err := c.Delete(context.Background(), object); err != nil {
		t.Errorf("deleting %s: %v", object.GetName(), err)
	}
}

// valid is an object that the server accepts.
func valid(t *testing.T, kind string) *unstructured.Unstructured {
	t.Helper()
	const machine = "{nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}, requirements: []}"
	manifest := map[string]string{
		"NodePool":       "{apiVersion: karpenter.sh/v1, spec: {template: {spec: " + machine + "}}}",
		"NodeClaim":      "{apiVersion: karpenter.sh/v1, spec: " + machine + "}",
		"NodeOverlay":    "{apiVersion: karpenter.sh/v1alpha1, spec: {requirements: []}}",
		"CapacityBuffer": "{apiVersion: autoscaling.x-k8s.io/v1beta1, metadata: {namespace: default}, spec: {}}",
		"EC2NodeClass": "{apiVersion: karpenter.k8s.aws/v1, spec: {role: r, amiSelectorTerms: [{alias: al2023@latest}], " +
			"subnetSelectorTerms: [{tags: {a: b}}], securityGroupSelectorTerms: [{tags: {a: b}}]}}",
		"KWOKNodeClass": "{apiVersion: karpenter.kwok.sh/v1alpha1, spec: {}}",
	}[kind]
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil || object.Object == nil {
		t.Fatalf("no valid %q: %v", kind, err)
	}
	object.SetKind(kind)
	object.SetName("vector")
	return object
}

// put sets the value at a dotted path, making the objects above it, or removes the path.
func put(t *testing.T, object *unstructured.Unstructured, path string, value any) {
	t.Helper()
	fields := strings.Split(path, ".")
	if value == omit {
		unstructured.RemoveNestedField(object.Object, fields...)
		return
	}
	if err := unstructured.SetNestedField(object.Object, integers(value), fields...); err != nil {
		t.Fatalf("setting %s: %v", path, err)
	}
}

// integers turns the numbers of a decoded table, which are all floating point, into the integers that they are.
func integers(value any) any {
	switch value := value.(type) {
	case float64:
		return int64(value)
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = integers(value[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(value))
		for k := range value {
			out[k] = integers(value[k])
		}
		return out
	default:
		return value
	}
}

// text shows a fragment on one line.
func text(fragment any) string { return fmt.Sprintf("%v", fragment) }
