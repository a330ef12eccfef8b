package chart

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// monitoring returns the one object of Prometheus Operator.
func monitoring(t *testing.T, kind string, set ...string) map[string]any {
	t.Helper()
	o := the[*unstructured.Unstructured](t, named(append(set, "settings.clusterName=one")...).objects(t), "karpenter")
	if o.GetKind() != kind {
		t.Fatalf("a %s is rendered, want a %s", o.GetKind(), kind)
	}
	return o.Object["spec"].(map[string]any)
}

// TestPodMonitorScrapesAsTheServiceMonitorDoes: only the field of the endpoints has another name.
func TestPodMonitorScrapesAsTheServiceMonitorDoes(t *testing.T) {
	specs := map[string]map[string]any{}
	for kind, value := range map[string]string{"ServiceMonitor": "serviceMonitor", "PodMonitor": "podMonitor"} {
		specs[kind] = monitoring(t, kind, value+".enabled=true", value+".endpointConfig.interval=30s", value+".sampleLimit=0",
			value+".metricRelabelings[0].action=drop", value+".relabelings[0].action=labeldrop")
	}
	pod := specs["PodMonitor"]
	pod["endpoints"] = pod["podMetricsEndpoints"]
	delete(pod, "podMetricsEndpoints")
	if diff := cmp.Diff(specs["ServiceMonitor"], pod); diff != "" || len(pod["endpoints"].([]any)) != 1 {
		t.Errorf("(-ServiceMonitor +PodMonitor):\n%s", diff)
	}
}

// TestCombinationsThatCannotWorkAreRefused: the message says what to do.
func TestCombinationsThatCannotWorkAreRefused(t *testing.T) {
	for _, tc := range []struct {
		set  []string
		want string
	}{
		{[]string{"serviceMonitor.enabled=true", "podMonitor.enabled=true"}, "serviceMonitor.enabled and podMonitor.enabled are both true: Prometheus would store every series twice. Set one of them to false"},
		{[]string{"networkPolicy.enabled=true", "hostNetwork=true"}, "NetworkPolicies do not apply to pods on the host network. Set one of them to false"},
		{[]string{"prometheusRule.disabledAlerts={KarpenterDrainStuck,KarpenterGone}"}, "prometheusRule.disabledAlerts names KarpenterGone: the alerts of the chart are KarpenterPodsUnschedulable, "},
	} {
		if _, err := named(append(tc.set, "settings.clusterName=one")...).text(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: error %v, want %q", tc.set, err, tc.want)
		}
	}
}

// TestPrometheusRuleHasTheAlertsOfTheFile: expressions and templates arrive as they are, values change labels and leave alerts out.
func TestPrometheusRuleHasTheAlertsOfTheFile(t *testing.T) {
	text, err := os.ReadFile(controller + "/alerts/karpenter.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := yaml.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, monitoring(t, "PrometheusRule", "prometheusRule.enabled=true")); diff != "" {
		t.Errorf("(-file +rendered):\n%s", diff)
	}
	group := want["groups"].([]any)[0].(map[string]any)
	group["rules"] = group["rules"].([]any)[1:]
	for _, rule := range group["rules"].([]any) {
		labels := rule.(map[string]any)["labels"].(map[string]any)
		labels["severity"], labels["team"] = "page", "infra"
	}
	got := monitoring(t, "PrometheusRule", "prometheusRule.enabled=true", "prometheusRule.disabledAlerts={KarpenterPodsUnschedulable}",
		"prometheusRule.alertLabels.severity=page", "prometheusRule.alertLabels.team=infra")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("with other labels and without the first alert (-file +rendered):\n%s", diff)
	}
}

// TestDashboardsAreConfigMaps: the sidecar of Grafana finds them by label, and the JSON is that of the files.
func TestDashboardsAreConfigMaps(t *testing.T) {
	files, err := filepath.Glob(controller + "/dashboards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d dashboards, %v", len(files), err)
	}
	objects := named("settings.clusterName=one", "dashboards.enabled=true", "dashboards.namespace=monitoring", `dashboards.annotations.grafana_folder=Nodes`).objects(t)
	for _, file := range files {
		m := the[*corev1.ConfigMap](t, objects, "karpenter-dashboard-"+strings.TrimSuffix(filepath.Base(file), ".json"))
		if m.Namespace != "monitoring" || m.Labels["grafana_dashboard"] != "1" || m.Annotations["grafana_folder"] != "Nodes" {
			t.Errorf("%s: namespace %q, labels %v, annotations %v", m.Name, m.Namespace, m.Labels, m.Annotations)
		}
		var want, got any
		if err := json.Unmarshal([]byte(read(t, file)), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(m.Data["karpenter-"+filepath.Base(file)]), &got); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-file +rendered):\n%s", m.Name, diff)
		}
	}
	objects = named("settings.clusterName=one", "dashboards.enabled=true", "dashboards.labels.grafana_dashboard=null", "dashboards.labels.board=yes").objects(t)
	if m := the[*corev1.ConfigMap](t, objects, "karpenter-dashboard-cost"); m.Namespace != "kube-system" || m.Labels["board"] != "yes" || m.Labels["grafana_dashboard"] != "" {
		t.Errorf("with another label: namespace %q, labels %v", m.Namespace, m.Labels)
	}
}

// TestNetworkPolicyAllowsWhatTheControllerNeeds lists the rules as text.
func TestNetworkPolicyAllowsWhatTheControllerNeeds(t *testing.T) {
	const imds = " to 169.254.169.254/32 169.254.170.23/32 fd00:ec2::254/128 fd00:ec2::23/128"
	for _, tc := range []struct {
		set  []string
		want []string
	}{
		{[]string{"settings.clusterName=one"}, []string{"in http", "in http-metrics", "out 53/UDP 53", "out 443 6443", "out 80" + imds}},
		{[]string{"settings.cloudProvider=kwok"}, []string{"in http", "in http-metrics", "out 53/UDP 53", "out 443 6443"}},
		{
			[]string{
				"settings.cloudProvider=kwok", "networkPolicy.apiPorts={8443}", "networkPolicy.metricsFrom[0].ipBlock.cidr=10.0.0.0/8",
				"networkPolicy.extraEgress[0].ports[0].port=3128", "networkPolicy.extraIngress[0].ports[0].port=9",
			},
			[]string{"in http", "in http-metrics to 10.0.0.0/8", "in 9", "out 53/UDP 53", "out 8443", "out 3128"},
		},
	} {
		policy := the[*networkingv1.NetworkPolicy](t, named(append(tc.set, "networkPolicy.enabled=true")...).objects(t), "karpenter")
		var got []string
		for _, rule := range policy.Spec.Ingress {
			got = append(got, "in"+described(rule.Ports, rule.From))
		}
		for _, rule := range policy.Spec.Egress {
			got = append(got, "out"+described(rule.Ports, rule.To))
		}
		if !slices.Equal(got, tc.want) || len(policy.Spec.PolicyTypes) != 2 {
			t.Errorf("%v: %q, want %q", tc.set, got, tc.want)
		}
	}
}

func described(ports []networkingv1.NetworkPolicyPort, peers []networkingv1.NetworkPolicyPeer) string {
	var out strings.Builder
	for _, p := range ports {
		out.WriteString(" " + p.Port.String())
		if p.Protocol != nil && *p.Protocol == corev1.ProtocolUDP {
			out.WriteString("/UDP")
		}
	}
	for i, p := range peers {
		if i == 0 {
			out.WriteString(" to")
		}
		out.WriteString(" " + p.IPBlock.CIDR)
	}
	return out.String()
}

// TestExtraObjectsAreTemplates: they may be given as objects or as text.
func TestExtraObjectsAreTemplates(t *testing.T) {
	r := named("settings.clusterName=one")
	r.files = []string{filepath.Join(t.TempDir(), "values.yaml")}
	values := `
extraObjects:
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ .Release.Name }}-one"}
    data: {cluster: "{{ .Values.settings.clusterName }}"}
  - |
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: {{ include "karpenter.fullname" . }}-two
`
	if err := os.WriteFile(r.files[0], []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	objects := r.objects(t)
	if m := the[*corev1.ConfigMap](t, objects, "karpenter-one"); m.Data["cluster"] != "one" {
		t.Errorf("data is %v", m.Data)
	}
	the[*corev1.ConfigMap](t, objects, "karpenter-two")
}

// TestNothingIsAddedByDefault: a release without values has none of the new objects, but those of helm test.
func TestNothingIsAddedByDefault(t *testing.T) {
	isExtra := func(o runtime.Object) bool {
		kind := o.GetObjectKind().GroupVersionKind().Kind
		return slices.Contains([]string{"NetworkPolicy", "PodMonitor", "ServiceMonitor", "PrometheusRule"}, kind) || strings.Contains(fmt.Sprint(o), "grafana")
	}
	if objects := named("settings.clusterName=one").objects(t); slices.ContainsFunc(objects, isExtra) {
		t.Error("an object is rendered that no value enables")
	}
}
