package firstboot

import (
	"encoding/base64"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/customdata"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
)

// rendered is custom data for a node with a version of Kubernetes, as the provider renders it.
func rendered(t *testing.T, kubernetes string) string {
	t.Helper()
	claim := &v1.NodeClaim{}
	claim.Spec.Taints = []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
	claim.Labels = map[string]string{"example.com/team": "a"}
	text, err := customdata.Render(customdata.Input{
		Cluster: customdata.Cluster{
			TenantID: "tenant-id", SubscriptionID: "subscription-id", NodeResourceGroup: "MC_rg(test)_cluster_eastus", Location: "eastus",
			Environment: "AzurePublicCloud", Endpoint: "https://cluster.example.com:443", CABundle: "Y2E=", BootstrapToken: "abcdef.0123456789abcdef",
			KubeletIdentityClientID: "identity-id", AdminUser: "azureuser", DNSServiceIP: "10.0.0.10", NetworkSecurityGroup: "aks-agentpool-12345678-nsg",
			NetworkPolicy: "cilium", Network: instancetype.Network{Plugin: instancetype.PluginAzure, Mode: instancetype.ModeOverlay},
			Dataplane: customdata.DataplaneCilium, VNetGUID: "vnet-guid",
		},
		Class: &v1beta1.AKSNodeClass{}, Family: family.Ubuntu2204, KubernetesVersion: kubernetes,
		Subnet: customdata.Subnet{ResourceGroup: "rg", VirtualNetwork: "vnet", Name: "aks-subnet"},
		SKU:    sku.Description{Name: "Standard_D2s_v3", VCPUs: 2, MemoryGiB: 8, Architecture: "amd64"},
		Launch: customdata.Launch{Claim: claim, CapacityType: v1.CapacityTypeSpot, PlacementScope: "zonal"},
	})
	if err != nil {
		t.Fatal(err)
	}
	script, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// TestWhatIsRenderedIsRead: nodes join with the custom data that the provider renders for each version.
func TestWhatIsRenderedIsRead(t *testing.T) {
	for _, version := range []string{"1.29.4", "1.30.1", "1.33.4", "1.34.1", "1.35.0", "1.37.1"} {
		s, err := Read(rendered(t, version))
		if err != nil {
			t.Errorf("%s: %v", version, err)
			continue
		}
		labels := maps.Clone(s.Labels)
		s.Labels = nil
		want := Settings{
			APIServer: "cluster.example.com", Authority: "Y2E=", Token: "abcdef.0123456789abcdef", Subscription: "subscription-id",
			ResourceGroup: "MC_rg(test)_cluster_eastus", Location: "eastus", Version: version, DNS: "10.0.0.10", MaxPods: 250,
			Taints: []corev1.Taint{
				{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}, {Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute},
			},
			KubeReserved: map[string]string{"cpu": "100m", "memory": "1843Mi"}, SystemReserved: map[string]string{"cpu": "0", "memory": "0"},
			EvictionHard: map[string]string{"memory.available": "750Mi"},
		}
		if diff := cmp.Diff(want, s); diff != "" {
			t.Errorf("%s: settings (-want +got)\n%s", version, diff)
		}
		for key, want := range map[string]string{"example.com/team": "a", "kubernetes.azure.com/mode": "user", v1.CapacityTypeLabelKey: v1.CapacityTypeSpot} {
			if labels[key] != want {
				t.Errorf("%s: label %s is %q, want %q", version, key, labels[key], want)
			}
		}
	}
}

// TestVariablesAreThoseOfBash compares the reader with bash, for what the provider renders and for quotations.
func TestVariablesAreThoseOfBash(t *testing.T) {
	quoted := "#!/bin/bash\n" + exports + "\n" + `A=plain
B='it'\''s'
C="a \"b\" \\ \$c \` + "`" + `d\e 'f'"
D=
E=a"b"'c'\ d
F="(x)"'$y;z'
` + "nohup /bin/bash " + provisions + "\n"
	for _, script := range []string{quoted, rendered(t, "1.33.4")} {
		got, err := variables(script)
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(script, "\n"+exports+"\n")
		body = body[:strings.LastIndex(strings.TrimSuffix(body, "\n"), "\n")+1]
		program := "set -u\n" + body
		names := slices.Sorted(maps.Keys(got))
		for _, name := range names {
			program += `printf '%s\0' "$` + name + "\"\n"
		}
		command := exec.Command("bash", "--noprofile", "--norc")
		command.Env, command.Stdin = []string{"PATH=/nonexistent"}, strings.NewReader(program)
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		want := map[string]string{}
		for i, value := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			want[names[i]] = value
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("variables (-bash +got)\n%s", diff)
		}
	}
}

func TestCustomDataThatDoesNotJoin(t *testing.T) {
	good := rendered(t, "1.33.4")
	replace := func(from, to string) string {
		t.Helper()
		if !strings.Contains(good, from) {
			t.Fatalf("%q is not in the custom data", from)
		}
		return strings.ReplaceAll(good, from, to)
	}
	for _, c := range []struct{ name, text, because string }{
		{"nothing", "", "there is none"},
		{"no script", "hello", "no interpreter"},
		{"a script that does something else", "#!/bin/bash\necho hello\n", "exports no variables"},
		{"no provisioning", replace(provisions, "/opt/other.sh"), "sets no variable"},
		{"the end is cut off", good[:strings.Index(good, "nohup")], "nothing in the script makes"},
		{"a command between variables", replace("\nVM_TYPE=", "\nreboot\nVM_TYPE="), `"reboot" sets no variable`},
		{"a value that is expanded", replace("\nVM_TYPE=standard", "\nVM_TYPE=$(id)"), "meaning to the shell"},
		{"an expansion in quotes", replace("\nVM_TYPE=standard", "\nVM_TYPE=\"$x\""), "meaning to the shell"},
		{"a quotation that does not end", replace("\nVM_TYPE=standard", "\nVM_TYPE='x"), "does not end"},
		{"no token", replace("abcdef.0123456789abcdef", ""), "TLS_BOOTSTRAP_TOKEN"},
		{"no API server", replace("API_SERVER_NAME=cluster.example.com", "API_SERVER_NAME="), "API_SERVER_NAME"},
		{"an authority that is not encoded", replace("Y2E=", "***"), "KUBE_CA_CRT"},
		{"no credential", replace(`ENABLE_TLS_BOOTSTRAPPING="true"`, `ENABLE_TLS_BOOTSTRAPPING="false"`), "no credential"},
		{"a flag that does not exist", replace("--max-pods=", "--most-pods="), "--most-pods"},
		{"a flag that newer kubelets do not have", replace("KUBERNETES_VERSION=1.33.4", "KUBERNETES_VERSION=1.34.0"), "--cloud-config is gone from 1.34"},
		{"no number", replace("--max-pods=250", "--max-pods=many"), "--max-pods"},
		{"no max pods", replace("--max-pods=250 ", ""), "--max-pods is 0"},
		{"a taint that names no effect", replace("team=a:NoSchedule", "team=a"), "no taint"},
		{"a taint with an unknown effect", replace("team=a:NoSchedule", "team=a:Sometimes"), "invalid taint effect"},
		{"a label that kubelets may not set", replace("example.com/team=a", "team.kubernetes.io/x=a"), "team.kubernetes.io/x"},
		{"a label without value", replace("example.com/team=a", "example.com/team"), "--node-labels"},
		{"no address of a DNS service", replace("--cluster-dns=10.0.0.10", "--cluster-dns=dns"), "--cluster-dns"},
		{"no version", replace("KUBERNETES_VERSION=1.33.4", "KUBERNETES_VERSION=newest"), "version of the kubelet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Read(c.text)
			if err == nil || !strings.Contains(err.Error(), c.because) {
				t.Errorf("settings %+v, error %v, want one about %q", s, err, c.because)
			}
		})
	}
}
