package chart

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/cli/values"
	"helm.sh/helm/v4/pkg/engine"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

var update = flag.Bool("update", false, "rewrite what is expected")

// The folders of the charts.
const (
	charts     = "../../charts"
	controller = charts + "/karpenter"
	crdChart   = charts + "/karpenter-crd"
)

// release is one `helm install`: of which chart, under which name and where to.
type release struct {
	chart, name, namespace string
	// set are the arguments of --set, files those of --values.
	set, files []string
	// served are API groups that the cluster has besides those of Kubernetes.
	served []string
}

// named returns the release of the controller that the guides install.
func named(set ...string) release {
	return release{chart: controller, name: "karpenter", namespace: "kube-system", set: set}
}

// text renders the templates of objects; keys are the names of their files without the folder.
func (r release) text() (map[string]string, error) {
	files, err := r.rendered()
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name, text := range files {
		if strings.TrimSpace(text) != "" && !strings.HasSuffix(name, ".tpl") && filepath.Base(name) != notesFile {
			out[filepath.Base(name)] = text
		}
	}
	return out, nil
}

// notes is what Helm prints after the installation.
func (r release) notes(t *testing.T) string {
	t.Helper()
	files, err := r.rendered()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if filepath.Base(name) == notesFile {
			return text
		}
	}
	t.Fatalf("%s has no notes", r.chart)
	return ""
}

const notesFile = "NOTES.txt"

// rendered renders all templates; keys are the names of their files.
func (r release) rendered() (map[string]string, error) {
	chart, err := loader.Load(r.chart)
	if err != nil {
		return nil, err
	}
	given, err := (&values.Options{Values: r.set, ValueFiles: r.files}).MergeValues(nil)
	if err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependencies(chart, given); err != nil {
		return nil, err
	}
	caps := common.DefaultCapabilities.Copy()
	caps.APIVersions = append(caps.APIVersions, r.served...)
	options := common.ReleaseOptions{Name: r.name, Namespace: r.namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, given, options, caps)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, all)
}

// manifest renders everything into one text, in the order of file names.
func (r release) manifest(t *testing.T) string {
	t.Helper()
	files, err := r.text()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&out, "---\n# Source: %s\n%s\n", name, strings.TrimSpace(files[name]))
	}
	return out.String()
}

// objects renders and reads the objects. A field that the API does not have fails the test. ServiceMonitors are of no API that is known here.
func (r release) objects(t *testing.T) []runtime.Object {
	t.Helper()
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(known); err != nil {
			t.Fatal(err)
		}
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, known, known, json.SerializerOptions{Strict: true})
	var out []runtime.Object
	documents := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(r.manifest(t)), 4096)
	for {
		var document runtime.RawExtension
		if err := documents.Decode(&document); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatalf("reading what was rendered: %v\n%s", err, r.manifest(t))
		}
		if len(document.Raw) == 0 || string(document.Raw) == "null" {
			continue
		}
		object, kind, err := decoder.Decode(document.Raw, nil, nil)
		if runtime.IsNotRegisteredError(err) && kind.GroupVersion().String() == monitored {
			object, err = runtime.Decode(unstructured.UnstructuredJSONScheme, document.Raw)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, document.Raw)
		}
		out = append(out, object)
	}
}

// the returns the one object of a type with this name; with "" as name, the only one.
func the[T runtime.Object](t *testing.T, objects []runtime.Object, name string) T {
	t.Helper()
	var found []T
	for _, o := range objects {
		typed, ok := o.(T)
		if !ok {
			continue
		}
		if accessor, err := meta.Accessor(o); err == nil && (name == "" || accessor.GetName() == name) {
			found = append(found, typed)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects of type %T named %q, want one", len(found), *new(T), name)
	}
	return found[0]
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := diffLines(string(want), text); diff != "" {
		t.Errorf("%s (-file +rendered); if it is meant, run the test with -update:\n%s", path, diff)
	}
}
