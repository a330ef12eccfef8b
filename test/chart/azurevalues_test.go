package chart

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"
)

// onAKS is a release for a cluster of AKS.
func onAKS(set ...string) release {
	return named(append([]string{"settings.cloudProvider=azure", "settings.clusterName=one", "settings.clusterEndpoint=https://one.example.com:443"}, set...)...)
}

// Paths of what is rendered.
const (
	podPath       = "{.spec.template.spec"
	containerPath = podPath + ".containers[0]"
)

// variable is the path of an environment variable.
func variable(name string) string { return containerPath + `.env[?(@.name=="` + name + `")].value}` }

// azureValue is a value of upstream's chart for Azure: what the chart renders without it, and what with it.
type azureValue struct {
	value string
	// set are the arguments of --set, separated by spaces.
	set string
	// object is the kind of the object, and its name after a slash if there are several. path is where the value is in it.
	object, path string
	// byDefault and want are in JSON without quotes around them; empty if there is nothing.
	byDefault, want string
}

// azureValues are in the order of the specification.
//
// Source: Azure provider specification, chart values.
func azureValues() []azureValue {
	const deployment, monitor, core = "Deployment", "ServiceMonitor", "ClusterRole/karpenter-core"
	return []azureValue{
		{"nameOverride", "nameOverride=kp", deployment, `{.metadata.labels.app\.kubernetes\.io/name}`, "karpenter", "kp"},
		{"fullnameOverride", "fullnameOverride=kp-full", deployment, "{.metadata.name}", "karpenter", "kp-full"},
		{"additionalLabels", "additionalLabels.team=infra", "Service", "{.metadata.labels.team}", "", "infra"},
		{"additionalAnnotations", "additionalAnnotations.owner=infra", "ServiceAccount", "{.metadata.annotations}", "", `{"owner":"infra"}`},
		{"imagePullPolicy", "imagePullPolicy=Always", deployment, containerPath + ".imagePullPolicy}", "IfNotPresent", "Always"},
		{"imagePullSecrets", "imagePullSecrets[0].name=registry", deployment, podPath + ".imagePullSecrets}", "", `[{"name":"registry"}]`},
		{"service.annotations", "service.annotations.scrape=yes", "Service", "{.metadata.annotations}", "", `{"scrape":"yes"}`},
		{"serviceAccount.create", "serviceAccount.create=false", deployment, podPath + ".serviceAccountName}", "karpenter", "default"},
		{"serviceAccount.name", "serviceAccount.name=karpenter-sa", "ServiceAccount", "{.metadata.name}", "karpenter", "karpenter-sa"},
		{
			"serviceAccount.annotations", `serviceAccount.annotations.azure\.workload\.identity/client-id=1-2`, "ServiceAccount", "{.metadata.annotations}",
			"", `{"azure.workload.identity/client-id":"1-2"}`,
		},
		{
			"additionalClusterRoleRules",
			"additionalClusterRoleRules[0].apiGroups[0]=example.com additionalClusterRoleRules[0].resources[0]=things additionalClusterRoleRules[0].verbs[0]=get",
			core, `{.rules[?(@.apiGroups[0]=="example.com")].verbs}`, "", `["get"]`,
		},
		{"serviceMonitor.enabled", "serviceMonitor.enabled=true", monitor, "{.kind}", "", monitor},
		{"serviceMonitor.additionalLabels", "serviceMonitor.enabled=true serviceMonitor.additionalLabels.release=one", monitor, "{.metadata.labels.release}", "", "one"},
		{
			"serviceMonitor.relabelings", "serviceMonitor.enabled=true serviceMonitor.relabelings[0].action=labeldrop", monitor,
			"{.spec.endpoints[0].relabelings}", "", `[{"action":"labeldrop"}]`,
		},
		{
			"serviceMonitor.metricRelabelings", "serviceMonitor.enabled=true serviceMonitor.metricRelabelings[0].action=drop", monitor,
			"{.spec.endpoints[0].metricRelabelings}", "", `[{"action":"drop"}]`,
		},
		{"serviceMonitor.endpointConfig", "serviceMonitor.enabled=true serviceMonitor.endpointConfig.interval=30s", monitor, "{.spec.endpoints[0].interval}", "", "30s"},
		{"serviceMonitor.sampleLimit", "serviceMonitor.enabled=true serviceMonitor.sampleLimit=0", monitor, "{.spec.sampleLimit}", "", "0"},
		{"replicas", "replicas=3", deployment, "{.spec.replicas}", "2", "3"},
		{"revisionHistoryLimit", "revisionHistoryLimit=0", deployment, "{.spec.revisionHistoryLimit}", "10", "0"},
		{"strategy.rollingUpdate.maxUnavailable", "strategy.rollingUpdate.maxUnavailable=2", deployment, "{.spec.strategy.rollingUpdate.maxUnavailable}", "1", "2"},
		{
			"podLabels", `podLabels.azure\.workload\.identity/use=yes`, deployment, `{.spec.template.metadata.labels.azure\.workload\.identity/use}`, "", "yes",
		},
		{"podAnnotations", "podAnnotations.note=one", deployment, "{.spec.template.metadata.annotations}", "", `{"note":"one"}`},
		{"podDisruptionBudget.name", "podDisruptionBudget.name=budget", "PodDisruptionBudget", "{.metadata.name}", "karpenter", "budget"},
		{"podDisruptionBudget.maxUnavailable", "podDisruptionBudget.maxUnavailable=50%", "PodDisruptionBudget", "{.spec.maxUnavailable}", "1", "50%"},
		{
			"podSecurityContext", "podSecurityContext.fsGroup=1", deployment, podPath + ".securityContext}",
			`{"fsGroup":65532,"seccompProfile":{"type":"RuntimeDefault"}}`, `{"fsGroup":1,"seccompProfile":{"type":"RuntimeDefault"}}`,
		},
		{"priorityClassName", "priorityClassName=high", deployment, podPath + ".priorityClassName}", "system-cluster-critical", "high"},
		{"terminationGracePeriodSeconds", "terminationGracePeriodSeconds=null", deployment, podPath + ".terminationGracePeriodSeconds}", "45", ""},
		{"hostNetwork", "hostNetwork=true", deployment, podPath + ".hostNetwork}", "", "true"},
		{"schedulerName", "schedulerName=other", deployment, podPath + ".schedulerName}", "default-scheduler", "other"},
		{"dnsPolicy", "dnsPolicy=Default", deployment, podPath + ".dnsPolicy}", "ClusterFirst", "Default"},
		{"dnsConfig", "dnsConfig.nameservers[0]=10.0.0.10", deployment, podPath + ".dnsConfig}", "", `{"nameservers":["10.0.0.10"]}`},
		{
			"nodeSelector", "nodeSelector.tier=system", deployment, podPath + ".nodeSelector}",
			`{"kubernetes.io/os":"linux"}`, `{"kubernetes.io/os":"linux","tier":"system"}`,
		},
		{
			"affinity", "affinity.podAntiAffinity=null", deployment, podPath + ".affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution}",
			`[{"labelSelector":{"matchLabels":{"app.kubernetes.io/instance":"karpenter","app.kubernetes.io/name":"karpenter"}},"topologyKey":"kubernetes.io/hostname"}]`, "",
		},
		{
			"topologySpreadConstraints", "topologySpreadConstraints=null", deployment, podPath + ".topologySpreadConstraints}",
			`[{"labelSelector":{"matchLabels":{"app.kubernetes.io/instance":"karpenter","app.kubernetes.io/name":"karpenter"}},"maxSkew":1,` +
				`"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule"}]`, "",
		},
		{
			"tolerations", "tolerations[0].operator=Exists", deployment, podPath + ".tolerations}",
			`[{"key":"CriticalAddonsOnly","operator":"Exists"}]`, `[{"operator":"Exists"}]`,
		},
		{"extraVolumes", "extraVolumes[0].name=scratch", deployment, podPath + ".volumes}", "", `[{"name":"scratch"}]`},
		{"initContainers", "initContainers[0].name=first", deployment, podPath + ".initContainers[0].name}", "", "first"},
		{"controller.containerName", "controller.containerName=main", deployment, containerPath + ".name}", "controller", "main"},
		{
			"controller.image.repository", "controller.image.repository=example.com/karpenter", deployment, containerPath + ".image}",
			"ghcr.io/karpenter-anew/karpenter:0.1.0", "example.com/karpenter:0.1.0",
		},
		{
			"controller.image.tag", "controller.image.tag=0.2.0", deployment, containerPath + ".image}",
			"ghcr.io/karpenter-anew/karpenter:0.1.0", "ghcr.io/karpenter-anew/karpenter:0.2.0",
		},
		{
			"controller.image.digest", "controller.image.digest=" + digest, deployment, containerPath + ".image}",
			"ghcr.io/karpenter-anew/karpenter:0.1.0", "ghcr.io/karpenter-anew/karpenter:0.1.0@" + digest,
		},
		{"controller.env", "controller.env[0].name=LOCATION controller.env[0].value=eastus", deployment, variable("LOCATION"), "", "eastus"},
		{"controller.envFrom", "controller.envFrom[0].secretRef.name=bootstrap", deployment, containerPath + ".envFrom}", "", `[{"secretRef":{"name":"bootstrap"}}]`},
		{"controller.resources", "controller.resources.limits.memory=1Gi", deployment, containerPath + ".resources.limits}", "", `{"memory":"1Gi"}`},
		{
			"controller.extraVolumeMounts", "controller.extraVolumeMounts[0].name=scratch controller.extraVolumeMounts[0].mountPath=/tmp", deployment,
			containerPath + ".volumeMounts}", "", `[{"mountPath":"/tmp","name":"scratch"}]`,
		},
		{"controller.sidecarContainer", "controller.sidecarContainer[0].name=side", deployment, podPath + `.containers[?(@.name=="side")].name}`, "", "side"},
		{
			"controller.sidecarVolumeMounts",
			"controller.sidecarContainer[0].name=side controller.sidecarVolumeMounts[0].name=scratch controller.sidecarVolumeMounts[0].mountPath=/side", deployment,
			podPath + `.containers[?(@.name=="side")].volumeMounts}`, "", `[{"mountPath":"/side","name":"scratch"}]`,
		},
		{
			"controller.securityContext.appArmorProfile", "controller.securityContext.appArmorProfile.type=RuntimeDefault", deployment,
			containerPath + ".securityContext.appArmorProfile}", "", `{"type":"RuntimeDefault"}`,
		},
		{
			"controller.securityContext.seLinuxOptions", "controller.securityContext.seLinuxOptions.level=s0", deployment,
			containerPath + ".securityContext.seLinuxOptions}", "", `{"level":"s0"}`,
		},
		{
			"controller.securityContext.seccompProfile", "controller.securityContext.seccompProfile.type=Unconfined", deployment,
			containerPath + ".securityContext.seccompProfile}", "", `{"type":"Unconfined"}`,
		},
		{"controller.metrics.port", "controller.metrics.port=9080", deployment, variable("METRICS_PORT"), "8080", "9080"},
		{"controller.healthProbe.port", "controller.healthProbe.port=9081", deployment, variable("HEALTH_PROBE_PORT"), "8081", "9081"},
		{"logLevel", "logLevel=debug", deployment, variable("LOG_LEVEL"), "info", "debug"},
		{"logOutputPaths", "logOutputPaths[0]=stdout logOutputPaths[1]=/tmp/log", deployment, variable("LOG_OUTPUT_PATHS"), "stdout", "stdout,/tmp/log"},
		{"logErrorOutputPaths", "logErrorOutputPaths[0]=stdout", deployment, variable("LOG_ERROR_OUTPUT_PATHS"), "stderr", "stdout"},
		{"settings.batchMaxDuration", "settings.batchMaxDuration=20s", deployment, variable("BATCH_MAX_DURATION"), "10s", "20s"},
		{"settings.batchIdleDuration", "settings.batchIdleDuration=2s", deployment, variable("BATCH_IDLE_DURATION"), "1s", "2s"},
		{"settings.clusterName", "settings.clusterName=two", deployment, variable("CLUSTER_NAME"), "one", "two"},
		{"settings.clusterEndpoint", "settings.clusterEndpoint=https://two:443", deployment, variable("CLUSTER_ENDPOINT"), "https://one.example.com:443", "https://two:443"},
		{"settings.vmMemoryOverheadPercent", "settings.vmMemoryOverheadPercent=0", deployment, variable("VM_MEMORY_OVERHEAD_PERCENT"), "0.075", "0"},
		{"settings.tags", "settings.tags.team=infra settings.tags.cost=12", deployment, variable("ADDITIONAL_TAGS"), "", "cost=12,team=infra"},
		{"settings.preferencePolicy", "settings.preferencePolicy=Ignore", deployment, variable("PREFERENCE_POLICY"), "Respect", "Ignore"},
		{"settings.minValuesPolicy", "settings.minValuesPolicy=BestEffort", deployment, variable("MIN_VALUES_POLICY"), "Strict", "BestEffort"},
		{"settings.ignoreDRARequests", "settings.ignoreDRARequests=false", deployment, variable("IGNORE_DRA_REQUESTS"), "true", "false"},
		{
			"settings.disableClusterStateObservability", "settings.disableClusterStateObservability=true", deployment,
			variable("DISABLE_CLUSTER_STATE_OBSERVABILITY"), "false", "true",
		},
	}
}

func TestEachValueOfAzureIsRendered(t *testing.T) {
	t.Attr("covers", "Z243")
	byDefault := onAKS().objects(t)
	for _, v := range azureValues() {
		t.Run(v.value, func(t *testing.T) {
			if got := rendered(t, byDefault, v.object, v.path); got != v.byDefault {
				t.Errorf("without the value: %s, want %s", got, v.byDefault)
			}
			if got := rendered(t, onAKS(strings.Fields(v.set)...).objects(t), v.object, v.path); got != v.want {
				t.Errorf("with %s: %s, want %s", v.set, got, v.want)
			}
		})
	}
}

// TestEachGateOfAzureIsRendered checks each feature gate alone: the others keep their defaults.
func TestEachGateOfAzureIsRendered(t *testing.T) {
	for value, gate := range map[string]string{
		"spotToSpotConsolidation": "SpotToSpotConsolidation", "nodeRepair": "NodeRepair", "nodeOverlay": "NodeOverlay", "staticCapacity": "StaticCapacity",
	} {
		if got := variables(onAKS().objects(t), t)["FEATURE_GATES"]; !strings.Contains(got, gate+"=false") {
			t.Errorf("by default, FEATURE_GATES is %s", got)
		}
		if got := variables(onAKS("settings.featureGates."+value+"=true").objects(t), t)["FEATURE_GATES"]; !strings.Contains(got, gate+"=true") {
			t.Errorf("with %s, FEATURE_GATES is %s", value, got)
		}
	}
	if got := variables(onAKS("settings.featureGates.reservedCapacity=false").objects(t), t)["FEATURE_GATES"]; !strings.Contains(got, "ReservedCapacity=false") {
		t.Errorf("without reserved capacity, FEATURE_GATES is %s", got)
	}
}

// TestValuesWithoutEffectOnAzure checks that values which the documentation calls ignored change nothing.
func TestValuesWithoutEffectOnAzure(t *testing.T) {
	want := onAKS().manifest(t)
	for _, set := range []string{
		"webhook.enabled=true", "webhook.enabled=false", "webhook.port=8443", "webhook.metrics.port=8001", "settings.clusterCABundle=QUJD",
		"settings.interruptionQueue=one", "settings.isolatedVPC=true", "settings.eksControlPlane=true", "settings.enableZonalShift=true",
		"settings.disableDryRun=true", "settings.reservedENIs=1", "settings.amiRefreshInterval=2m", "settings.awsFeatureGates.draEFA=true", "settings.kwok.catalog=x",
	} {
		if diff := diffLines(want, onAKS(set).manifest(t)); diff != "" {
			t.Errorf("%s changes what is rendered:\n%s", set, diff)
		}
	}
}

// rendered reads a path of an object: text as it is, anything else as JSON; empty if there is none.
func rendered(t *testing.T, objects []runtime.Object, object, path string) string {
	t.Helper()
	kind, name, _ := strings.Cut(object, "/")
	parser := jsonpath.New(path).AllowMissingKeys(true)
	if err := parser.Parse(path); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, o := range objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			t.Fatal(err)
		}
		metadata := content["metadata"].(map[string]any)
		if content["kind"] != kind || name != "" && metadata["name"] != name || strings.Contains(fmt.Sprint(metadata["annotations"]), hook) {
			continue
		}
		found, err := parser.FindResults(content)
		if err != nil {
			t.Fatal(err)
		}
		for _, values := range found {
			for _, value := range values {
				text, err := json.Marshal(value.Interface())
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, strings.Trim(string(text), `"`))
			}
		}
	}
	return strings.Join(out, " ")
}
