package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	awscrds "github.com/karpenter-anew/karpenter/api/aws/crds"
	azurecrds "github.com/karpenter-anew/karpenter/api/azure/crds"
	"github.com/karpenter-anew/karpenter/api/crds"
	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
)

// monitored is the API that ServiceMonitors are of.
const monitored = "monitoring.coreos.com/v1"

func TestRenderedManifests(t *testing.T) {
	everything := release{chart: controller, name: "other", namespace: "infra", files: []string{"testdata/every-value.yaml"}}
	for name, r := range map[string]release{
		"aws.golden":         named("settings.clusterName=one"),
		"azure.golden":       onAKS(),
		"kwok.golden":        named("settings.cloudProvider=kwok"),
		"every-value.golden": everything,
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, r.manifest(t)) })
	}
}

// TestRenderedObjectsAreOfTheAPI decodes the rendered objects strictly: an unknown field is an error.
func TestRenderedObjectsAreOfTheAPI(t *testing.T) {
	everything := release{chart: controller, name: "other", namespace: "infra", files: []string{"testdata/every-value.yaml"}}
	for name, r := range map[string]release{
		"aws": named("settings.clusterName=one"), "azure": onAKS(), "kwok": named("settings.cloudProvider=kwok"), "everything": everything,
	} {
		t.Run(name, func(t *testing.T) {
			if got := len(r.objects(t)); got < 11 {
				t.Errorf("%d objects were rendered", got)
			}
		})
	}
}

// TestServiceMonitorIsRenderedWhereverItIsEnabled: helm template knows no kinds of the cluster, and nothing says so if it is left out.
func TestServiceMonitorIsRenderedWhereverItIsEnabled(t *testing.T) {
	for name, served := range map[string][]string{"helm template": nil, "helm install": {monitored}} {
		r := named("settings.clusterName=one", "serviceMonitor.enabled=true")
		r.served = served
		if text := r.manifest(t); !strings.Contains(text, "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n") {
			t.Errorf("%s: no ServiceMonitor is rendered", name)
		}
	}
	if text := named("settings.clusterName=one").manifest(t); strings.Contains(text, "ServiceMonitor") {
		t.Error("a ServiceMonitor is rendered although it is not enabled")
	}
}

func TestLint(t *testing.T) {
	for path, values := range map[string]map[string]any{
		controller: {"settings": map[string]any{"clusterName": "one"}},
		crdChart:   {},
	} {
		result := action.NewLint().Run([]string{path}, values)
		for _, m := range result.Messages {
			if !strings.Contains(m.Err.Error(), "icon is recommended") {
				t.Errorf("%s: %s", path, m)
			}
		}
	}
}

func TestDefinitionsAreTheGeneratedOnes(t *testing.T) {
	for cloud, load := range map[string]func() ([]*apiextensionsv1.CustomResourceDefinition, error){"aws": awscrds.Definitions, "azure": azurecrds.Definitions, "kwok": kwokcrds.Definitions} {
		want, err := load()
		if err != nil {
			t.Fatal(err)
		}
		plain := release{chart: crdChart, name: "karpenter-crd", namespace: "kube-system", set: []string{"cloudProvider=" + cloud}}
		compareDefinitions(t, plain, want)
		for _, w := range want {
			if w.Annotations == nil {
				w.Annotations = map[string]string{}
			}
			w.Annotations["helm.sh/resource-policy"] = "keep"
		}
		plain.set = append(plain.set, `additionalAnnotations.helm\.sh/resource-policy=keep`)
		compareDefinitions(t, plain, want)
		legacy, err := crds.Legacy()
		if err != nil {
			t.Fatal(err)
		}
		plain.set = []string{"cloudProvider=" + cloud, "legacyProvisioner=true"}
		objects := plain.objects(t)
		if len(want) != 7 || len(objects) != len(want)+len(legacy) {
			t.Errorf("%s: %d definitions with those of earlier APIs", cloud, len(objects))
		}
		for _, l := range legacy {
			the[*apiextensionsv1.CustomResourceDefinition](t, objects, l.Name)
		}
	}
}

func compareDefinitions(t *testing.T, r release, want []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	objects := r.objects(t)
	if len(objects) != len(want) {
		t.Errorf("%v: %d definitions, want %d", r.set, len(objects), len(want))
	}
	for _, w := range want {
		got := the[*apiextensionsv1.CustomResourceDefinition](t, objects, w.Name)
		if diff := cmp.Diff(w, got); diff != "" {
			t.Errorf("%v: %s (-generated +rendered):\n%s", r.set, w.Name, diff)
		}
	}
}

// diffLines is the difference of two texts by lines, empty if there is none.
func diffLines(a, b string) string {
	return cmp.Diff(strings.Split(a, "\n"), strings.Split(b, "\n"))
}
