package chart

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// schema is the part of a JSON schema that is walked.
type schema struct {
	Properties map[string]schema `json:"properties"`
	Reference  string            `json:"$ref"`
}

// TestSchemaKnowsEveryValueAndNoOther: what values.yaml has is in the schema, and what the schema has is in values.yaml.
func TestSchemaKnowsEveryValueAndNoOther(t *testing.T) {
	for _, chart := range []string{controller, crdChart} {
		var all schema
		var values map[string]any
		for name, into := range map[string]any{"values.schema.json": &all, "values.yaml": &values} {
			text, err := os.ReadFile(chart + "/" + name)
			if err != nil {
				t.Fatal(err)
			}
			parse := json.Unmarshal
			if strings.HasSuffix(name, "yaml") {
				parse = func(text []byte, into any) error { return yaml.Unmarshal(text, into) }
			}
			if err := parse(text, into); err != nil {
				t.Fatalf("%s/%s: %v", chart, name, err)
			}
		}
		delete(all.Properties, "global")  // Helm's own
		delete(all.Properties, "enabled") // the condition of parent charts
		compareLevels(t, chart, all, values)
	}
}

func compareLevels(t *testing.T, path string, s schema, values map[string]any) {
	t.Helper()
	for name, value := range values {
		property, known := s.Properties[name]
		if !known {
			t.Errorf("%s.%s is not in the schema", path, name)
		} else if nested, ok := value.(map[string]any); ok && len(property.Properties) > 0 {
			compareLevels(t, path+"."+name, property, nested)
		}
	}
	for name := range s.Properties {
		if _, ok := values[name]; !ok {
			t.Errorf("%s.%s is in the schema and not in values.yaml", path, name)
		}
	}
}

// TestBadValuesAreRefused: the message names the value and the defect.
func TestBadValuesAreRefused(t *testing.T) {
	for _, tc := range []struct {
		set  string
		want []string
	}{
		{"settings.clustername=one", []string{"/settings", "'clustername' not allowed"}},
		{"controler.env=x", []string{"'controler' not allowed"}},
		{"settings.featureGates.drift=true", []string{"/settings/featureGates", "'drift' not allowed"}},
		{"settings.featureGates.nodeRepair=on", []string{"/settings/featureGates/nodeRepair", "true, false"}},
		{"settings.preferencePolicy=ignore", []string{"/settings/preferencePolicy", "'Respect', 'Economical', 'Ignore'"}},
		{"settings.minValuesPolicy=x", []string{"/settings/minValuesPolicy", "'Strict', 'BestEffort'"}},
		{"settings.cloudProvider=gcp", []string{"/settings/cloudProvider", "'aws', 'azure', 'kwok'"}},
		{"settings.batchMaxDuration=10", []string{"/settings/batchMaxDuration", "string"}},
		{"settings.batchIdleDuration=1x", []string{"/settings/batchIdleDuration", "1x"}},
		{"settings.batchMaxDuration=0s", []string{"/settings/batchMaxDuration", "a duration above 0s"}},
		{"settings.batchIdleDuration=0h0.0s", []string{"/settings/batchIdleDuration", "a duration above 0s"}},
		{"settings.amiRefreshInterval=59s", []string{"/settings/amiRefreshInterval", "a duration of at least 1m"}},
		{"settings.amiRefreshInterval=0.9m", []string{"/settings/amiRefreshInterval", "a duration of at least 1m"}},
		{"settings.subnetRefreshInterval=0s", []string{"/settings/subnetRefreshInterval", "a duration of at least 1m"}},
		{"settings.subnetRefreshInterval=5000ms", []string{"/settings/subnetRefreshInterval", "a duration of at least 1m"}},
		{"settings.vmMemoryOverheadPercent=-1", []string{"/settings/vmMemoryOverheadPercent", "a fraction from 0 to less than 1"}},
		{"settings.vmMemoryOverheadPercent=-0.1", []string{"/settings/vmMemoryOverheadPercent", "a fraction from 0 to less than 1"}},
		{"settings.vmMemoryOverheadPercent=7.5", []string{"/settings/vmMemoryOverheadPercent", "a fraction from 0 to less than 1", "0.075 for 7.5 percent"}},
		{"settings.vmMemoryOverheadPercent=1", []string{"/settings/vmMemoryOverheadPercent", "a fraction from 0 to less than 1"}},
		{"settings.reservedENIs=-1", []string{"/settings/reservedENIs", "a whole number from 0 to 100"}},
		{"settings.reservedENIs=101", []string{"/settings/reservedENIs", "a whole number from 0 to 100"}},
		{"settings.reservedENIs=1.5", []string{"/settings/reservedENIs", "a whole number from 0 to 100"}},
		{"settings.isolatedVPC=yes", []string{"/settings/isolatedVPC"}},
		{"logLevel=verbose", []string{"/logLevel", "'debug', 'info', 'error'"}},
		{"logOutputPaths=stdout", []string{"/logOutputPaths", "array"}},
		{"replicas=-1", []string{"/replicas"}},
		{"replicas=many", []string{"/replicas", "integer"}},
		{"controller.metrics.port=0", []string{"/controller/metrics/port"}},
		{"controller.healthProbe.port=70000", []string{"/controller/healthProbe/port", "65,535"}},
		{"controller.image.digest=latest", []string{"/controller/image/digest"}},
		{"dnsPolicy=default", []string{"/dnsPolicy", "'Default'"}},
		{"hostNetwork=1", []string{"/hostNetwork", "boolean"}},
		{"podDisruptionBudget.maxUnavailable=half", []string{"/podDisruptionBudget/maxUnavailable"}},
		{"podDisruptionBudget.maxUnavailable=101%", []string{"/podDisruptionBudget/maxUnavailable", "from 0% to 100%"}},
		{"tolerations.key=x", []string{"/tolerations"}},
	} {
		t.Run(tc.set, func(t *testing.T) {
			_, err := named("settings.clusterName=one", tc.set).text()
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the message lacks %q:\n%v", want, err)
				}
			}
		})
	}
	if _, err := (release{chart: crdChart, set: []string{"cloudProvider=gcp"}}).text(); err == nil || !strings.Contains(err.Error(), "/cloudProvider") {
		t.Errorf("definitions of an unknown cloud: %v", err)
	}
}

// TestNumbersInFilesAreRefused: a values file gives numbers, where --set gives text.
func TestNumbersInFilesAreRefused(t *testing.T) {
	for _, tc := range []struct{ value, want string }{
		{"vmMemoryOverheadPercent: 7.5", "a fraction from 0 to less than 1, for example 0.075 for 7.5 percent"},
		{"vmMemoryOverheadPercent: 1.0", "a fraction from 0 to less than 1"},
		{"vmMemoryOverheadPercent: -0.01", "a fraction from 0 to less than 1"},
		{`vmMemoryOverheadPercent: "7.5"`, "a fraction from 0 to less than 1"},
		{`reservedENIs: "101"`, "a whole number from 0 to 100"},
	} {
		r := named("settings.clusterName=one")
		r.files = []string{filepath.Join(t.TempDir(), "values.yaml")}
		if err := os.WriteFile(r.files[0], []byte("settings: {"+tc.value+"}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := r.text(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.value, err, tc.want)
		}
	}
}

// TestWhatTheBinaryAcceptsRenders: the schema refuses no number and no duration that the binary accepts.
func TestWhatTheBinaryAcceptsRenders(t *testing.T) {
	for _, set := range []string{
		"settings.vmMemoryOverheadPercent=0", "settings.vmMemoryOverheadPercent=0.999", "settings.vmMemoryOverheadPercent=.5",
		"settings.reservedENIs=0", "settings.reservedENIs=100",
		"settings.amiRefreshInterval=60s", "settings.amiRefreshInterval=0.5h", "settings.amiRefreshInterval=1.5m", "settings.amiRefreshInterval=1m30s",
		"settings.subnetRefreshInterval=30s30s", "settings.subnetRefreshInterval=60000ms", "settings.subnetRefreshInterval=24h",
		"settings.batchMaxDuration=1ms", "settings.batchIdleDuration=0.1s", "settings.batchMaxDuration=1h",
		"podDisruptionBudget.maxUnavailable=0%", "podDisruptionBudget.maxUnavailable=100%", "podDisruptionBudget.maxUnavailable=3",
	} {
		t.Run(set, func(t *testing.T) { parsed(t, named("settings.clusterName=one", set)) })
	}
}

func TestClusterNameIsRequiredOnAWSOnly(t *testing.T) {
	const want = "Chart cannot be installed without a valid settings.clusterName!"
	if _, err := named().text(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("without a name: %v, want %q", err, want)
	}
	if _, err := named("settings.cloudProvider=kwok").text(); err != nil {
		t.Errorf("simulated nodes need no name: %v", err)
	}
}

// TestUnusualValuesRender: all values that the schema accepts give valid objects, with which the binary starts.
func TestUnusualValuesRender(t *testing.T) {
	files, err := filepath.Glob("testdata/unusual/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r := named()
			r.files = []string{file}
			if got := parsed(t, r).Cluster.Name; got == "" {
				t.Error("the name of the cluster did not arrive")
			}
		})
	}
	r := named()
	r.files = []string{"testdata/unusual/names-that-look-like-numbers.yaml"}
	deployment := the[*appsv1.Deployment](t, r.objects(t), "007")
	pod := deployment.Spec.Template
	if pod.Spec.Containers[0].Image != "123:1.10" || pod.Spec.ServiceAccountName != "12" || pod.Labels["app.kubernetes.io/name"] != "99" {
		t.Errorf("names were changed: %+v", pod)
	}
}

// TestParentChartsEnableTheCharts: Helm passes the condition of a dependency on to it as the value enabled.
func TestParentChartsEnableTheCharts(t *testing.T) {
	const definition = `
apiVersion: v2
name: platform
version: 1.0.0
dependencies:
- {name: karpenter, version: "*", condition: karpenter.enabled}
- {name: karpenter-crd, version: "*", condition: karpenter-crd.enabled}
`
	parent := t.TempDir()
	if err := os.WriteFile(parent+"/Chart.yaml", []byte(definition), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, chart := range []string{controller, crdChart} {
		if err := os.CopyFS(parent+"/charts/"+filepath.Base(chart), os.DirFS(chart)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		enabled string
		objects bool
	}{{"true", true}, {"false", false}} {
		r := release{chart: parent, name: "platform", namespace: "kube-system", set: []string{
			"karpenter.enabled=" + tc.enabled, "karpenter-crd.enabled=" + tc.enabled, "karpenter.settings.clusterName=one",
		}}
		files, err := r.text()
		if err != nil {
			t.Errorf("enabled=%s: %v", tc.enabled, err)
			continue
		}
		for _, name := range []string{"deployment.yaml", "definitions.yaml"} {
			if _, ok := files[name]; ok != tc.objects {
				t.Errorf("enabled=%s: %s is rendered: %t, want %t", tc.enabled, name, ok, tc.objects)
			}
		}
	}
	if _, err := named("settings.clusterName=one", "enabled=yes").text(); err == nil || !strings.Contains(err.Error(), "/enabled") {
		t.Errorf("a condition that is not a boolean: error %v, want the path of the value", err)
	}
}
