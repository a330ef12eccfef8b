package chart

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/karpenter-anew/karpenter/cloud/azure/environment"
	azure "github.com/karpenter-anew/karpenter/cloud/azure/settings"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// azureFile is a release with one of the values files for Azure.
func azureFile(name string, set ...string) release {
	r := named(set...)
	r.files = []string{"testdata/azure/" + name}
	return r
}

// TestDefaultsOfUpstreamsChartForAzure checks the environment that a values file with every default of upstream's chart gives.
//
// Source: Azure provider specification, rendered objects.
func TestDefaultsOfUpstreamsChartForAzure(t *testing.T) {
	got := variables(azureFile("defaults.yaml").objects(t), t)
	want := map[string]string{
		"KUBERNETES_MIN_VERSION": "1.19.0-0", "KARPENTER_SERVICE": "karpenter", "LOG_LEVEL": "info", "METRICS_PORT": "8080", "HEALTH_PROBE_PORT": "8081",
		"LOG_OUTPUT_PATHS": "stdout", "LOG_ERROR_OUTPUT_PATHS": "stderr", "BATCH_MAX_DURATION": "10s", "BATCH_IDLE_DURATION": "1s",
		"CLUSTER_NAME": "one", "CLUSTER_ENDPOINT": "https://one.example.com:443", "VM_MEMORY_OVERHEAD_PERCENT": "0.075", "IGNORE_DRA_REQUESTS": "true",
		"DISABLE_CLUSTER_STATE_OBSERVABILITY": "false",
	}
	for _, gate := range []string{"ReservedCapacity", "SpotToSpotConsolidation", "NodeRepair", "NodeOverlay", "StaticCapacity"} {
		if !strings.Contains(got["FEATURE_GATES"], gate+"=false") {
			t.Errorf("FEATURE_GATES is %s, want %s=false", got["FEATURE_GATES"], gate)
		}
	}
	// What only this chart has.
	for _, name := range []string{"FEATURE_GATES", "CLOUD_PROVIDER", "CONSOLIDATE_AFTER_SCOPE", "POD_GROUPS", "LEGACY_NODE_REPAIR"} {
		delete(got, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	if diff := diffLines(onAKS("terminationGracePeriodSeconds=null", "settings.featureGates.reservedCapacity=false", "settings.preferencePolicy=",
		"settings.minValuesPolicy=").manifest(t), azureFile("defaults.yaml").manifest(t)); diff != "" {
		t.Errorf("the file (+) gives other objects than the defaults of the chart (-):\n%s", diff)
	}
}

// TestQuickStartOfAzure checks that the binary accepts what the values file of upstream's quick start gives its container.
func TestQuickStartOfAzure(t *testing.T) {
	r := azureFile("quickstart.yaml")
	objects := r.objects(t)
	vars := variables(objects, t)
	lookup := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	all, err := options.Parse(nil, lookup, &azure.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	got := options.SettingsOf[azure.Settings](all)
	if all.Cluster.Name != "one" || !all.LeaderElection.Disable || !all.FeatureGates.StaticCapacity || got.NetworkDataplane != "cilium" || len(got.NodeIdentities) != 1 {
		t.Errorf("the settings are %+v, %+v", all, got)
	}
	at, err := environment.Read(environment.Sources{Getenv: func(name string) string { return vars[name] }})
	if err != nil || at.Location != "eastus" {
		t.Errorf("the environment is %+v, %v", at, err)
	}
	pod := the[*appsv1.Deployment](t, objects, "").Spec.Template
	if pod.Labels["azure.workload.identity/use"] != "true" || pod.Spec.ServiceAccountName != "karpenter-sa" {
		t.Errorf("the pod has the service account %s and the labels %v", pod.Spec.ServiceAccountName, pod.Labels)
	}
	const client = "azure.workload.identity/client-id"
	if role := roleOf(objects, client); role != "11111111-1111-1111-1111-111111111111" {
		t.Errorf("the service account has %s %q", client, role)
	}
	env := the[*appsv1.Deployment](t, objects, "").Spec.Template.Spec.Containers[0].Env
	index := func(name string) int {
		return slices.IndexFunc(env, func(v corev1.EnvVar) bool { return v.Name == name })
	}
	if index("CLUSTER_NAME") > index("LOCATION") {
		t.Error("variables of the user are before those of the chart, which then count")
	}
	// The network plugin none needs the empty mode, which is a value.
	vars["NETWORK_PLUGIN"], vars["NETWORK_PLUGIN_MODE"] = "none", ""
	if _, err := options.Parse(nil, lookup, &azure.Settings{}); err != nil {
		t.Errorf("without a network plugin: %v", err)
	}
}

// TestValuesOfTheScriptForAzure checks that the binary accepts the values that deploy/azure/values.sh prints, with the token from its Secret.
func TestValuesOfTheScriptForAzure(t *testing.T) {
	r := named()
	r.files = []string{"../../deploy/azure/testdata/values.yaml"}
	env := the[*appsv1.Deployment](t, r.objects(t), "").Spec.Template.Spec.Containers[0].Env
	secret := map[string]string{"token-id": "abcdef", "token-secret": "0123456789abcdef"}
	vars := map[string]string{}
	for _, v := range env {
		value := v.Value
		if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil {
			if v.ValueFrom.SecretKeyRef.Name != "bootstrap-token-abcdef" {
				t.Errorf("%s is in the Secret %s", v.Name, v.ValueFrom.SecretKeyRef.Name)
			}
			value = secret[v.ValueFrom.SecretKeyRef.Key]
		}
		// As the kubelet does: only variables before this one can be referred to.
		vars[v.Name] = regexp.MustCompile(`\$\(([A-Z_]+)\)`).ReplaceAllStringFunc(value, func(reference string) string { return vars[reference[2:len(reference)-1]] })
	}
	all, err := options.Parse(nil, func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, &azure.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if got := options.SettingsOf[azure.Settings](all); got.KubeletBootstrapToken != "abcdef.0123456789abcdef" || got.SSHPublicKey != "ssh-rsa AAAA it's@example.com" || all.LeaderElection.Disable {
		t.Errorf("the settings are %+v", got)
	}
	if at, err := environment.Read(environment.Sources{Getenv: func(name string) string { return vars[name] }}); err != nil || at.ResourceGroup != "rg" {
		t.Errorf("the environment is %+v, %v", at, err)
	}
}

// TestVariablesOfAzureAreSettings checks that the binary reads every variable that the chart sets on Azure.
func TestVariablesOfAzureAreSettings(t *testing.T) {
	known := append(variablesOf(reflect.TypeFor[options.Options](), reflect.TypeFor[azure.Settings]()), unread...)
	vars := variables(onAKS("settings.tags.a=b").objects(t), t)
	for name := range vars {
		if !slices.Contains(known, name) {
			t.Errorf("the chart passes %s, which the binary does not know", name)
		}
	}
	for _, name := range []string{"INTERRUPTION_QUEUE", "CLUSTER_CA_BUNDLE", "DISABLE_WEBHOOK", "WEBHOOK_PORT", "WEBHOOK_METRICS_PORT", "AWS_FEATURE_GATES"} {
		if _, there := vars[name]; there {
			t.Errorf("the chart passes %s", name)
		}
	}
}

// TestDefaultsOnAzureAreThoseOfTheBinary: a chart with the required values only changes no default.
func TestDefaultsOnAzureAreThoseOfTheBinary(t *testing.T) {
	vars := variables(onAKS("settings.tags.Team=infra", "settings.vmMemoryOverheadPercent=0.075").objects(t), t)
	delete(vars, "CLOUD_PROVIDER") // which requires more settings
	got, err := options.Parse(nil, func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, &azure.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	want := options.Default(&azure.Settings{})
	options.SettingsOf[azure.Settings](want).AdditionalTags = azure.Tags{"Team": "infra"}
	got.KarpenterService, got.Cluster = "", want.Cluster
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-binary +chart):\n%s", diff)
	}
}

// TestContradictionsOfAzureAreRefused: the message names every value that has to change.
func TestContradictionsOfAzureAreRefused(t *testing.T) {
	env := func(name, value string) string {
		return "controller.env[0].name=" + name + ",controller.env[0].value=" + value
	}
	machines := func(more ...string) string { // the mode, and variables with their values
		all := append([]string{"PROVISION_MODE", "aksmachineapi"}, more...)
		var out []string
		for i := 0; i < len(all); i += 2 {
			out = append(out, fmt.Sprintf("controller.env[%d].name=%s,controller.env[%d].value=%s", i/2, all[i], i/2, all[i+1]))
		}
		return strings.Join(out, ",")
	}
	const from = "controller.env[0].name=CLUSTER_NAME,controller.env[0].valueFrom.secretKeyRef.name=a"
	for name, tc := range map[string]struct {
		set  []string
		want []string
	}{
		"no name":          {[]string{"settings.clusterName="}, []string{"without a valid settings.clusterName!"}},
		"no endpoint":      {[]string{"settings.clusterEndpoint="}, []string{"without a valid settings.clusterEndpoint!"}},
		"two names":        {[]string{env("CLUSTER_NAME", "two")}, []string{"settings.clusterName is one and controller.env sets CLUSTER_NAME to two. Remove one of them"}},
		"a name elsewhere": {[]string{from}, []string{"settings.clusterName is one and controller.env sets CLUSTER_NAME to (a reference)"}},
		"two endpoints":    {[]string{env("CLUSTER_ENDPOINT", "https://two")}, []string{"settings.clusterEndpoint is https://one.example.com:443", "CLUSTER_ENDPOINT to https://two"}},
		"two lists of tags": {
			[]string{"settings.tags.a=b", env("ADDITIONAL_TAGS", "c=d")}, []string{"settings.tags is a=b and controller.env sets ADDITIONAL_TAGS to c=d"},
		},
		"a tag twice":                        {[]string{"settings.tags.Team=a", "settings.tags.team=b"}, []string{"settings.tags has the keys Team and team, which are the same"}},
		"a tag in two spellings":             {[]string{"settings.tags.TEAM=a", "settings.tags.Team=b"}, []string{"settings.tags has the keys TEAM and Team"}},
		"replicas without a lease, in short": {[]string{env("DISABLE_LEADER_ELECTION", "T")}, []string{"replicas is 2 and controller.env sets DISABLE_LEADER_ELECTION"}},
		"a comma in a tag":                   {[]string{`settings.tags.a=b\,c`}, []string{"/settings/tags/a", "at most 256 characters without commas"}},
		"a slash in a key":                   {[]string{"settings.tags.a/b=c"}, []string{"settings.tags has the key a/b: a key has 1 to 512 characters, and none of < > % & ? \\ / , ="}},
		"a long key":                         {[]string{"settings.tags." + strings.Repeat("a", 513) + "=c"}, []string{"settings.tags has the key aaa", "1 to 512 characters"}},
		"a long value":                       {[]string{"settings.tags.a=" + strings.Repeat("c", 257)}, []string{"/settings/tags/a", "at most 256 characters"}},
		"tags that are a list":               {[]string{"settings.tags[0]=a"}, []string{"/settings/tags", "object"}},
		"earlier APIs":                       {[]string{"settings.featureGates.legacyProvisioner=true"}, []string{"settings.featureGates.legacyProvisioner is true and settings.cloudProvider is azure"}},
		"replicas without a lease":           {[]string{env("DISABLE_LEADER_ELECTION", "True")}, []string{"replicas is 2 and controller.env sets DISABLE_LEADER_ELECTION=true", "Set replicas to 1"}},
		"upstream's image": {
			[]string{"controller.image.repository=mcr.microsoft.com/aks/karpenter/controller", "controller.image.tag=1.10.2"},
			[]string{"mcr.microsoft.com/aks/karpenter/controller:1.10.2, an image of upstream Karpenter"},
		},
		"a mirror of upstream's image": {
			[]string{"controller.image.repository=one.azurecr.io/aks/karpenter/controller", "controller.image.tag=1.10.2-aks"}, []string{"an image of upstream Karpenter"},
		},
		"no policy": {[]string{"settings.preferencePolicy=None"}, []string{"/settings/preferencePolicy", "'Respect', 'Economical', 'Ignore'"}},
		"tags on AWS": {
			[]string{"settings.cloudProvider=aws", "settings.tags.a=b"}, []string{"settings.cloudProvider is aws, and these values are for Azure: settings.tags. Set settings.cloudProvider=azure"},
		},
		"variables of Azure on AWS": {
			[]string{"settings.cloudProvider=aws", env("AZURE_NODE_RESOURCE_GROUP", "MC_a")}, []string{"AZURE_NODE_RESOURCE_GROUP in controller.env. Set settings.cloudProvider=azure"},
		},
		"AKSMachines without anything": {
			[]string{machines()},
			[]string{"controller.env sets PROVISION_MODE to aksmachineapi, which needs more variables. Add to controller.env: USE_SIG=true, SIG_SUBSCRIPTION_ID, AKS_MACHINES_POOL_NAME, ARM_RESOURCE_GROUP"},
		},
		"AKSMachines without galleries": {
			[]string{machines("USE_SIG", "false", "SIG_SUBSCRIPTION_ID", "s", "AKS_MACHINES_POOL_NAME", "p", "ARM_RESOURCE_GROUP", "g")}, []string{"Add to controller.env: USE_SIG=true"},
		},
		"batches of AKSMachines without a pool": {
			[]string{machines("PROVISION_MODE", "aksmachineapiheaderbatch", "USE_SIG", "true", "SIG_SUBSCRIPTION_ID", "s", "ARM_RESOURCE_GROUP", "g")},
			[]string{"PROVISION_MODE to aksmachineapiheaderbatch, which needs more variables. Add to controller.env: AKS_MACHINES_POOL_NAME"},
		},
		"two problems": {
			[]string{"settings.tags.Team=a", "settings.tags.team=b", env("CLUSTER_NAME", "two")}, []string{"settings.tags has the keys", "\n", "settings.clusterName is one"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := onAKS(tc.set...).text()
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
}

// TestNamesOfTheClusterMayComeFromElsewhere checks values that look incomplete and are not.
func TestNamesOfTheClusterMayComeFromElsewhere(t *testing.T) {
	for name, set := range map[string][]string{
		"the same twice":      {"controller.env[0].name=CLUSTER_NAME", "controller.env[0].value=one"},
		"the last one counts": {"controller.env[0].name=CLUSTER_NAME", "controller.env[0].value=two", "controller.env[1].name=CLUSTER_NAME", "controller.env[1].value=one"},
		"variables": {
			"settings.clusterName=", "controller.env[0].name=CLUSTER_NAME", "controller.env[0].value=two",
			"settings.clusterEndpoint=", "controller.env[1].name=CLUSTER_ENDPOINT", "controller.env[1].valueFrom.configMapKeyRef.name=a",
		},
		"another object":             {"settings.clusterName=", "settings.clusterEndpoint=", "controller.envFrom[0].configMapRef.name=a"},
		"tags on kwok":               {"settings.cloudProvider=kwok", "settings.tags.a=b"},
		"one replica":                {"replicas=1", "controller.env[0].name=DISABLE_LEADER_ELECTION", "controller.env[0].value=true"},
		"with leader":                {"controller.env[0].name=DISABLE_LEADER_ELECTION", "controller.env[0].value=false"},
		"earlier name":               {"settings.clusterName=", "controller.clusterName=two"},
		"the longest tag":            {"settings.tags." + strings.Repeat("a", 512) + "=" + strings.Repeat("ä", 256)},
		"a tag without value":        {"settings.tags.a="},
		"a mode without AKSMachines": {"controller.env[0].name=PROVISION_MODE", "controller.env[0].value=aksscriptless"},
		"AKSMachines": {
			"controller.env[0].name=PROVISION_MODE", "controller.env[0].value=aksmachineapi", "controller.env[1].name=USE_SIG", "controller.env[1].value=True",
			"controller.env[2].name=SIG_SUBSCRIPTION_ID", "controller.env[2].valueFrom.secretKeyRef.name=a", "controller.env[3].name=AKS_MACHINES_POOL_NAME",
			"controller.env[3].value=p", "controller.env[4].name=ARM_RESOURCE_GROUP", "controller.env[4].value=g",
		},
		"AKSMachines, the rest elsewhere": {
			"controller.env[0].name=PROVISION_MODE", "controller.env[0].value=aksmachineapi", "controller.envFrom[0].configMapRef.name=a",
		},
	} {
		if _, err := onAKS(set...).text(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCharactersOfTags checks each character that keys of tags must not have.
func TestCharactersOfTags(t *testing.T) {
	for _, c := range `<>%&?/,=\` {
		r := onAKS()
		r.files = []string{filepath.Join(t.TempDir(), "values.yaml")}
		if err := os.WriteFile(r.files[0], fmt.Appendf(nil, `settings: {tags: {'a%cb': c}}`, c), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := r.text(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("settings.tags has the key a%cb: ", c)) {
			t.Errorf("%c in a key: %v", c, err)
		}
	}
}

// TestNumbersAsTags: a values file gives numbers and truth values, which are written as they stand there.
func TestNumbersAsTags(t *testing.T) {
	r := onAKS()
	r.files = []string{"testdata/azure/tags.yaml"}
	if got, want := variables(r.objects(t), t)["ADDITIONAL_TAGS"], "a.b=1.5,cost-center=12345678,enabled=true,text=a b=c"; got != want {
		t.Errorf("tags are %s, want %s", got, want)
	}
}

// TestPermissionsOfAzure compares the permissions that only Azure needs with those of simulated nodes.
//
// Source: Azure provider specification, rendered objects. Unlike there, only used permissions are granted, and reading the maintenance
// window needs no webhook.
func TestPermissionsOfAzure(t *testing.T) {
	got := map[string]bool{}
	for _, g := range grants(onAKS().objects(t)) {
		got[strings.Join(append([]string{g.String(), g.namespace}, g.names...), " ")] = true
	}
	for _, g := range grants(named("settings.cloudProvider=kwok").objects(t)) {
		delete(got, strings.Join(append([]string{g.String(), g.namespace}, g.names...), " "))
	}
	want := []string{
		"get aksnodeclasses.karpenter.azure.com ", "get configmaps kube-system upcoming-maintenance-window", "get services kube-system kube-dns",
		"list aksnodeclasses.karpenter.azure.com ", "list ciliumclusterwidenetworkpolicies.cilium.io ", "list ciliumnetworkpolicies.cilium.io ",
		"list globalnetworkpolicies.crd.projectcalico.org ", "list networkpolicies.crd.projectcalico.org ", "list networkpolicies.networking.k8s.io ",
		"patch aksnodeclasses.karpenter.azure.com ", "patch aksnodeclasses/status.karpenter.azure.com ", "watch aksnodeclasses.karpenter.azure.com ",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
}

// TestNetworkPolicyOfAzure: the controller may read tokens of managed identities, and nothing of AWS.
func TestNetworkPolicyOfAzure(t *testing.T) {
	policy := the[*networkingv1.NetworkPolicy](t, onAKS("networkPolicy.enabled=true").objects(t), "")
	var blocks []string
	for _, rule := range policy.Spec.Egress {
		for _, to := range rule.To {
			blocks = append(blocks, to.IPBlock.CIDR)
		}
	}
	if !slices.Equal(blocks, []string{"169.254.169.254/32"}) {
		t.Errorf("egress to %v", blocks)
	}
}
