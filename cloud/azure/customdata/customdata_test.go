package customdata_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/customdata"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
)

// input is that of a node with the defaults of a class, in a cluster with an overlay network and Cilium, changed by the caller.
func input(changes ...func(*customdata.Input)) customdata.Input {
	in := customdata.Input{
		Cluster: customdata.Cluster{
			TenantID: "tenant-id", SubscriptionID: "subscription-id", NodeResourceGroup: "MC_rg(test)_cluster_southcentralus", Location: "southcentralus",
			Environment: "AzurePublicCloud", Endpoint: "https://cluster.hcp.southcentralus.azmk8s.io:443", CABundle: "Y2E=",
			BootstrapToken: "abcdef.0123456789abcdef", KubeletIdentityClientID: "identity-id", AdminUser: "azureuser", DNSServiceIP: "10.0.0.10",
			NetworkSecurityGroup: "aks-agentpool-12345678-nsg", NetworkPolicy: "cilium",
			Network:   instancetype.Network{Plugin: instancetype.PluginAzure, Mode: instancetype.ModeOverlay},
			Dataplane: customdata.DataplaneCilium, VNetGUID: "vnet-guid",
		},
		Class:             &v1beta1.AKSNodeClass{},
		Family:            family.Ubuntu2204,
		KubernetesVersion: "1.33.4",
		Subnet:            customdata.Subnet{ResourceGroup: "rg(test)", VirtualNetwork: "vnet", Name: "aks-subnet"},
		SKU:               sku.Description{Name: "Standard_D2s_v3", VCPUs: 2, MemoryGiB: 8, Architecture: "amd64"},
		Launch: customdata.Launch{
			Claim: &v1.NodeClaim{}, CapacityType: v1.CapacityTypeOnDemand, PlacementScope: "zonal",
		},
	}
	for _, change := range changes {
		change(&in)
	}
	return in
}

func kubernetes(version string) func(*customdata.Input) {
	return func(in *customdata.Input) { in.KubernetesVersion = version }
}

// size changes the SKU; its hardware is made up.
func size(name, architecture string) func(*customdata.Input) {
	return func(in *customdata.Input) { in.SKU.Name, in.SKU.Architecture = name, architecture }
}

// spec sets the spec of the class, in JSON.
func spec(t *testing.T, text string) func(*customdata.Input) {
	t.Helper()
	class := &v1beta1.AKSNodeClass{}
	if err := json.Unmarshal([]byte(text), &class.Spec); err != nil {
		t.Fatal(err)
	}
	return func(in *customdata.Input) { in.Class = class }
}

// script renders custom data and decodes it.
func script(t *testing.T, in customdata.Input) string {
	t.Helper()
	text, err := customdata.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, text)
}

func decoded(t *testing.T, text string) string {
	t.Helper()
	out, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// assignments are the lines of a script that set variables.
func assignments(t *testing.T, script string) string {
	t.Helper()
	_, rest, found := strings.Cut(script, "set -o allexport\n")
	at := strings.LastIndex(strings.TrimSuffix(rest, "\n"), "\n")
	if !found || at < 0 {
		t.Fatalf("no assignments in %s", script)
	}
	return rest[:at+1]
}

// names are the variables that a script sets, in order.
func names(assignments string) []string {
	var out []string
	for line := range strings.Lines(assignments) {
		name, _, _ := strings.Cut(line, "=")
		out = append(out, name)
	}
	return out
}

// evaluate runs the assignments of a script in a shell that finds no commands, and returns the variables. The shell has nothing to say unless
// a value became a command.
func evaluate(t *testing.T, script string) map[string]string {
	t.Helper()
	text := assignments(t, script)
	all := names(text)
	program := "set -u\n" + text
	for _, name := range all {
		if !regexp.MustCompile(`^[A-Z0-9_]+$`).MatchString(name) {
			t.Fatalf("%q is not the name of a variable in %s", name, text)
		}
		program += `printf '%s\0' "$` + name + "\"\n"
	}
	command := exec.Command("bash", "--noprofile", "--norc")
	command.Env, command.Stdin = []string{"PATH=/nonexistent"}, strings.NewReader(program)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, text)
	}
	values := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(values) != len(all) {
		t.Fatalf("%d variables have %d values: %q\n%s", len(all), len(values), values, text)
	}
	result := map[string]string{}
	for i, name := range all {
		result[name] = values[i]
	}
	return result
}

// flags are the flags of the kubelet, by name.
func flags(t *testing.T, values map[string]string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for field := range strings.FieldsSeq(values["KUBELET_FLAGS"]) {
		name, value, ok := strings.Cut(strings.TrimPrefix(field, "--"), "=")
		if _, twice := out[name]; !ok || twice {
			t.Errorf("flag %q is set twice or has no value", field)
		}
		out[name] = value
	}
	return out
}

// labels are the labels of the node.
func labels(t *testing.T, values map[string]string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for field := range strings.SplitSeq(values["KUBELET_NODE_LABELS"], ",") {
		key, value, ok := strings.Cut(field, "=")
		if _, twice := out[key]; !ok || twice {
			t.Errorf("label %q is set twice or has no value", field)
		}
		out[key] = value
	}
	return out
}

const absent = "(absent)"

// expect compares some entries with what they should be.
func expect(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		value, ok := got[key]
		if !ok {
			value = absent
		}
		if value != want[key] {
			t.Errorf("%s %s is %q, want %q", what, key, value, want[key])
		}
	}
}

// TestVectors holds custom data against the conformance vectors.
//
// Source: Azure provider specification, conformance vectors, custom data.
func TestVectors(t *testing.T) {
	t.Attr("covers", "Z163 Z165")
	const mirror = "https://acs-mirror.azureedge.net"
	type entries = map[string]string
	binary := func(version, arch string) string {
		return mirror + "/kubernetes/v" + version + "/binaries/kubernetes-node-linux-" + arch + ".tar.gz"
	}
	provider := func(version, arch string) string {
		return mirror + "/cloud-provider-azure/v" + version + "/binaries/azure-acr-credential-provider-linux-" + arch + "-v" + version + ".tar.gz"
	}
	const pause = "mcr.microsoft.com/oss/kubernetes/pause:3.6"
	noGPU := entries{"GPU_NODE": "false", "CONFIG_GPU_DRIVER_IF_NEEDED": "false", "GPU_DRIVER_TYPE": "", "GPU_DRIVER_VERSION": "", "GPU_IMAGE_SHA": ""}
	withGPU := func(kind, version, suffix string) entries {
		return entries{"GPU_NODE": "true", "CONFIG_GPU_DRIVER_IF_NEEDED": "true", "GPU_DRIVER_TYPE": kind, "GPU_DRIVER_VERSION": version, "GPU_IMAGE_SHA": suffix}
	}
	for _, test := range []struct {
		name                     string
		change                   []func(*customdata.Input)
		variables, flags, labels entries
		// runtime is the default runtime of containerd.
		runtime string
	}{
		{"D2s_v3, 1.33.4", nil, entries{
			"KUBE_BINARY_URL": binary("1.33.4", "amd64"), "CREDENTIAL_PROVIDER_DOWNLOAD_URL": provider("1.33.0", "amd64"), "NETWORK_PLUGIN": "none",
			"KUBERNETES_VERSION": "1.33.4",
		}, entries{
			"kube-reserved": "cpu=100m,memory=1843Mi", "system-reserved": "cpu=0,memory=0", "eviction-hard": "memory.available<750Mi", "max-pods": "250",
			"cloud-config": "/etc/kubernetes/azure.json", "pod-infra-container-image": pause, "keep-terminated-pod-volumes": absent, "feature-gates": absent,
		}, entries{"kubernetes.azure.com/network-stateless-cni": "false"}, "runc"},
		{
			"1.34.1",
			[]func(*customdata.Input){kubernetes("1.34.1")},
			entries{"KUBE_BINARY_URL": "", "CREDENTIAL_PROVIDER_DOWNLOAD_URL": provider("1.33.0", "amd64")},
			entries{"cloud-config": absent, "pod-infra-container-image": pause},
			entries{"kubernetes.azure.com/network-stateless-cni": "true"},
			"runc",
		},
		{"1.35.0", []func(*customdata.Input){kubernetes("1.35.0")}, entries{"KUBE_BINARY_URL": ""}, entries{"pod-infra-container-image": absent}, nil, "runc"},
		{"1.30.0", []func(*customdata.Input){kubernetes("1.30.0")}, entries{"CREDENTIAL_PROVIDER_DOWNLOAD_URL": provider("1.30.12", "amd64")}, entries{
			"image-credential-provider-config":  "/var/lib/kubelet/credential-provider-config.yaml",
			"image-credential-provider-bin-dir": "/var/lib/kubelet/credential-provider", "keep-terminated-pod-volumes": "false", "feature-gates": absent,
		}, nil, "runc"},
		{
			"1.31.9",
			[]func(*customdata.Input){kubernetes("1.31.9")},
			entries{"CREDENTIAL_PROVIDER_DOWNLOAD_URL": provider("1.31.6", "amd64")},
			entries{"keep-terminated-pod-volumes": absent},
			nil, "runc",
		},
		{"1.32.0", []func(*customdata.Input){kubernetes("1.32.0")}, entries{"CREDENTIAL_PROVIDER_DOWNLOAD_URL": provider("1.32.5", "amd64")}, nil, nil, "runc"},
		{"1.29.7", []func(*customdata.Input){kubernetes("1.29.7")}, entries{"CREDENTIAL_PROVIDER_DOWNLOAD_URL": ""}, entries{
			"image-credential-provider-config": absent, "image-credential-provider-bin-dir": absent,
			"feature-gates": "DisableKubeletCloudCredentialProviders=false", "azure-container-registry-config": "/etc/kubernetes/azure.json",
		}, nil, "runc"},
		{"D16plds_v5", []func(*customdata.Input){size("Standard_D16plds_v5", "arm64"), spec(t, `{"artifactStreaming": {"enabled": true}}`)}, entries{
			"KUBE_BINARY_URL": binary("1.33.4", "arm64"), "CREDENTIAL_PROVIDER_DOWNLOAD_URL": provider("1.33.0", "arm64"),
			"VNET_CNI_PLUGINS_URL": mirror + "/azure-cni/v1.4.32/binaries/azure-vnet-cni-linux-arm64-v1.4.32.tgz",
			"CNI_PLUGINS_URL":      mirror + "/cni-plugins/v1.1.1/binaries/cni-plugins-linux-arm64-v1.1.1.tgz",
		}, nil, entries{"kubernetes.azure.com/artifactstreaming-enabled": absent}, "runc"},
		{
			"NC24ads_A100_v4",
			[]func(*customdata.Input){size("Standard_NC24ads_A100_v4", "amd64")},
			withGPU("cuda-lts", "580.159.04", "20260629214430"), nil, nil, "nvidia-container-runtime",
		},
		{"NC24ads_A100_v4, None", []func(*customdata.Input){size("Standard_NC24ads_A100_v4", "amd64"), spec(t, `{"gpu": {"mode": "None"}}`)}, noGPU, nil, nil, "runc"},
		{
			"NV36ads_A10_v5",
			[]func(*customdata.Input){size("Standard_NV36ads_A10_v5", "amd64")},
			withGPU("grid", "570.211.01", "20260522192315"), nil, nil, "nvidia-container-runtime",
		},
		{
			"NC24lds_xl_RTXPRO6000BSE_v6",
			[]func(*customdata.Input){size("Standard_NC24lds_xl_RTXPRO6000BSE_v6", "amd64")},
			withGPU("grid-v20", "595.58.03", "20260609172331"), nil, nil, "nvidia-container-runtime",
		},
		{"a GPU of AMD", []func(*customdata.Input){size("Standard_NV4ads_V710_v5", "amd64")}, noGPU, nil, nil, "runc"},
		{"no GPU", nil, noGPU, nil, nil, "runc"},
		{"plugin azure, no mode, dataplane azure", []func(*customdata.Input){func(in *customdata.Input) {
			in.Cluster.Network.Mode, in.Cluster.Dataplane = "", "azure"
		}}, entries{"NETWORK_PLUGIN": "azure"}, entries{"max-pods": "30"}, entries{
			"kubernetes.azure.com/network-subnet": absent, "kubernetes.azure.com/nodenetwork-vnetguid": absent, "kubernetes.azure.com/azure-cni-overlay": absent,
			"kubernetes.azure.com/podnetwork-type": absent, "kubernetes.azure.com/network-stateless-cni": absent, "kubernetes.azure.com/ebpf-dataplane": absent,
		}, "runc"},
		{
			"plugin azure, no mode, dataplane cilium",
			[]func(*customdata.Input){func(in *customdata.Input) { in.Cluster.Network.Mode = "" }},
			entries{"NETWORK_PLUGIN": "none"},
			nil, nil, "runc",
		},
		{"plugin none", []func(*customdata.Input){func(in *customdata.Input) {
			in.Cluster.Network, in.Cluster.Dataplane = instancetype.Network{Plugin: "none"}, ""
		}}, entries{"NETWORK_PLUGIN": "none"}, nil, nil, "runc"},
		{
			"another plugin",
			[]func(*customdata.Input){func(in *customdata.Input) { in.Cluster.Network = instancetype.Network{Plugin: "kubenet"} }},
			entries{"NETWORK_PLUGIN": "azure"},
			entries{"max-pods": "110"},
			nil, "runc",
		},
		{"taints", []func(*customdata.Input){func(in *customdata.Input) {
			in.Launch.Claim.Spec.Taints = []corev1.Taint{{Key: "a", Value: "b", Effect: corev1.TaintEffectNoSchedule}}
			in.Launch.Claim.Spec.StartupTaints = []corev1.Taint{{Key: "node.cilium.io/agent-not-ready", Value: "true", Effect: corev1.TaintEffectNoExecute}}
		}}, nil, entries{
			"register-with-taints": "a=b:NoSchedule,node.cilium.io/agent-not-ready=true:NoExecute,karpenter.sh/unregistered:NoExecute",
		}, nil, "runc"},
	} {
		t.Run(test.name, func(t *testing.T) {
			values := evaluate(t, script(t, input(test.change...)))
			expect(t, "variable", values, test.variables)
			expect(t, "flag", flags(t, values), test.flags)
			expect(t, "label", labels(t, values), test.labels)
			if got := runtimeOf(t, values); got != test.runtime {
				t.Errorf("the runtime is %s, want %s", got, test.runtime)
			}
		})
	}
}
