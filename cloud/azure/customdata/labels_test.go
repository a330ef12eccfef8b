package customdata_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/customdata"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
)

const aks = "kubernetes.azure.com/"

// TestNodeLabels pins all labels of a node, as the function returns them and as the kubelet gets them.
func TestNodeLabels(t *testing.T) {
	t.Attr("covers", "Z030 Z032 Z036")
	want := map[string]string{
		aks + "role": "agent", aks + "cluster": "MC_rg-test-_cluster_southcentralus", aks + "kubelet-identity-client-id": "identity-id", aks + "mode": "user",
		aks + "scalesetpriority": "regular", aks + "priority": "regular", aks + "os-sku": "Ubuntu", aks + "os-sku-requested": "Ubuntu",
		aks + "os-sku-effective": "Ubuntu2204", aks + "network-subnet": "aks-subnet", aks + "nodenetwork-vnetguid": "vnet-guid",
		aks + "azure-cni-overlay": "true", aks + "podnetwork-type": "overlay", aks + "network-stateless-cni": "false", aks + "ebpf-dataplane": "cilium",
		aks + "localdns-state": "disabled", "karpenter.sh/do-not-sync-taints": "true", "karpenter.sh/capacity-type": "on-demand",
		"karpenter.azure.com/placement-scope": "zonal", "karpenter.azure.com/sku-storage-ultra-ssd": "false",
	}
	got, err := customdata.NodeLabels(input())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(want, labels(t, evaluate(t, script(t, input())))); diff != "" {
		t.Errorf("in custom data (-want +got)\n%s", diff)
	}
}

// TestLabelsOfClass checks the labels that depend on the class, the version and the network.
func TestLabelsOfClass(t *testing.T) {
	t.Attr("covers", "Z030 Z031 Z032 Z033 Z034 Z035")
	system := func(f family.Family) func(*customdata.Input) { return func(in *customdata.Input) { in.Family = f } }
	type changes = []func(*customdata.Input)
	type entries = map[string]string
	for name, test := range map[string]struct {
		changes changes
		want    entries
	}{
		"Ubuntu 20.04 with FIPS": {
			changes{spec(t, `{"fipsMode": "FIPS"}`), system(family.Ubuntu2004)},
			entries{aks + "os-sku": "Ubuntu", aks + "os-sku-requested": "Ubuntu", aks + "os-sku-effective": "Ubuntu", aks + "fips_enabled": "true"},
		},
		"Ubuntu 22.04 by name": {
			changes{spec(t, `{"imageFamily": "Ubuntu2204"}`)},
			entries{aks + "os-sku": "Ubuntu", aks + "os-sku-requested": "Ubuntu2204", aks + "os-sku-effective": "Ubuntu2204", aks + "fips_enabled": absent},
		},
		"Ubuntu 24.04": {
			changes{system(family.Ubuntu2404)},
			entries{aks + "os-sku": "Ubuntu", aks + "os-sku-requested": "Ubuntu", aks + "os-sku-effective": "Ubuntu2404"},
		},
		"Azure Linux 2": {
			changes{spec(t, `{"imageFamily": "AzureLinux"}`), system(family.AzureLinux2)},
			entries{aks + "os-sku": "AzureLinux", aks + "os-sku-requested": "AzureLinux", aks + "os-sku-effective": "AzureLinux2"},
		},
		"Azure Linux 3 with FIPS": {
			changes{spec(t, `{"imageFamily": "AzureLinux", "fipsMode": "FIPS"}`), system(family.AzureLinux3)},
			entries{aks + "os-sku": "AzureLinux", aks + "os-sku-requested": "AzureLinux", aks + "os-sku-effective": "AzureLinux3", aks + "fips_enabled": "true"},
		},
		"1.33": {changes{kubernetes("1.33.9")}, entries{aks + "network-stateless-cni": "false"}},
		"1.34": {changes{kubernetes("1.34.0")}, entries{aks + "network-stateless-cni": "true"}},
		"no overlay": {
			changes{func(in *customdata.Input) { in.Cluster.Network.Mode = "" }},
			entries{
				aks + "network-subnet": absent, aks + "nodenetwork-vnetguid": absent, aks + "azure-cni-overlay": absent, aks + "podnetwork-type": absent,
				aks + "network-stateless-cni": absent, aks + "ebpf-dataplane": "cilium",
			},
		},
		"no plugin":         {changes{func(in *customdata.Input) { in.Cluster.Network.Plugin = "none" }}, entries{aks + "azure-cni-overlay": absent}},
		"another dataplane": {changes{func(in *customdata.Input) { in.Cluster.Dataplane = "azure" }}, entries{aks + "ebpf-dataplane": absent, aks + "azure-cni-overlay": "true"}},
		"LocalDNS on":       {changes{func(in *customdata.Input) { in.Class.Status.LocalDNSState = "Enabled" }}, entries{aks + "localdns-state": "enabled"}},
		"LocalDNS off":      {changes{func(in *customdata.Input) { in.Class.Status.LocalDNSState = "Disabled" }}, entries{aks + "localdns-state": "disabled"}},
		"LocalDNS unknown":  {nil, entries{aks + "localdns-state": "disabled"}},
		"streaming":         {changes{spec(t, `{"artifactStreaming": {"enabled": true}}`)}, entries{aks + "artifactstreaming-enabled": "true"}},
		"streaming off":     {changes{spec(t, `{"artifactStreaming": {"enabled": false}}`)}, entries{aks + "artifactstreaming-enabled": absent}},
		"streaming, arm64": {
			changes{spec(t, `{"artifactStreaming": {"enabled": true}}`), size("Standard_D16plds_v5", "arm64")},
			entries{aks + "artifactstreaming-enabled": absent},
		},
	} {
		got, err := customdata.NodeLabels(input(test.changes...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		expect(t, name+": label", got, test.want)
	}
}

// launch is a NodeClaim whose labels, requirements and instance type disagree.
func launch() customdata.Launch {
	claim := &v1.NodeClaim{}
	claim.Labels = map[string]string{
		"example.com/all": "label", "example.com/label": "label", aks + "os-sku-effective": "label", "node-restriction.kubernetes.io/x": "label",
		"kubernetes.io/other": "label", "agentpool": "label", "karpenter.sh/capacity-type": "label",
	}
	claim.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{
		cloud.In("example.com/all", "requirement"), cloud.In("example.com/requirement", "requirement"), cloud.In(aks+"mode", "system"),
		cloud.In(aks+"priority", "spot"), cloud.In("karpenter.sh/capacity-type", "on-demand", "spot"), cloud.In("example.com/many", "a", "b"),
		cloud.In("example.com/twice", "a", "b"), cloud.In("example.com/twice", "b", "c"),
		{Key: "example.com/not", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"a"}},
		{Key: "example.com/exists", Operator: corev1.NodeSelectorOpExists},
		cloud.DoesNotExist("example.com/absent"),
	}
	return customdata.Launch{
		Claim: claim, CapacityType: "spot", PlacementScope: "regional", UltraSSD: true,
		InstanceType: []v1.NodeSelectorRequirementWithMinValues{
			cloud.In("example.com/all", "type"), cloud.In("node.kubernetes.io/instance-type", "Standard_D2s_v3"), cloud.In("kubernetes.io/arch", "amd64"),
			cloud.In("topology.kubernetes.io/zone", "southcentralus-1", "southcentralus-2"), cloud.In("karpenter.azure.com/sku-storage-ultra-ssd", "false"),
		},
	}
}

// TestMergedLabels checks what wins, and what the kubelet gets.
func TestMergedLabels(t *testing.T) {
	t.Attr("covers", "Z029 Z152")
	want := map[string]string{
		"example.com/all": "type", "example.com/label": "label", "example.com/requirement": "requirement", "example.com/twice": "b",
		"example.com/many": absent, "example.com/not": absent, "example.com/exists": absent, "example.com/absent": absent,
		"karpenter.sh/capacity-type": "spot", "karpenter.azure.com/placement-scope": "regional", "karpenter.azure.com/sku-storage-ultra-ssd": "true",
		"topology.kubernetes.io/zone": absent, "node-restriction.kubernetes.io/x": absent, "kubernetes.io/other": absent,
	}
	in := input(func(in *customdata.Input) { in.Launch = launch() })
	before := maps.Clone(in.Launch.Claim.Labels)
	got, err := customdata.NodeLabels(in)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "label", got, want)
	expect(t, "label", got, map[string]string{
		aks + "mode": "system", aks + "priority": "spot", aks + "scalesetpriority": "regular", aks + "os-sku-effective": "label", "agentpool": "label",
		"node.kubernetes.io/instance-type": "Standard_D2s_v3", "kubernetes.io/arch": "amd64",
	})
	machine, mode := customdata.AKSMachineLabels(launch())
	if mode != "system" {
		t.Errorf("the mode is %s", mode)
	}
	expect(t, "label of an AKSMachine:", machine, want)
	for _, key := range []string{aks + "mode", aks + "priority", aks + "os-sku-effective", aks + "role", "agentpool", "node.kubernetes.io/instance-type", "kubernetes.io/arch"} {
		if value, ok := machine[key]; ok {
			t.Errorf("an AKSMachine has the label %s=%s", key, value)
		}
	}
	if diff := cmp.Diff(before, in.Launch.Claim.Labels); diff != "" {
		t.Errorf("the NodeClaim has changed (-before +after)\n%s", diff)
	}
}

// TestLabelsThatAKSSets checks that an AKSMachine gets no label that AKS or the kubelet sets, and all others.
func TestLabelsThatAKSSets(t *testing.T) {
	t.Attr("covers", "Z152")
	claim := &v1.NodeClaim{}
	claim.Labels = map[string]string{"example.com/team": "a", "team": "b", "karpenter.sh/nodepool": "general", "node.kubernetes.io/mine": "c"}
	want := maps.Clone(claim.Labels)
	for _, key := range []string{
		"agentpool", "storageprofile", "storagetier", "accelerator", aks + "mode", aks + "priority", aks + "scalesetpriority", aks + "cluster",
		aks + "os-sku", aks + "anything", "kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
		"failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region", "beta.kubernetes.io/instance-type",
		"node.kubernetes.io/instance-type", "kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
		"node-restriction.kubernetes.io/x", "kubernetes.io/other",
	} {
		claim.Labels[key] = "x"
	}
	got, _ := customdata.AKSMachineLabels(customdata.Launch{Claim: claim, CapacityType: "spot", PlacementScope: "zonal"})
	want["karpenter.sh/capacity-type"], want["karpenter.azure.com/placement-scope"], want["karpenter.azure.com/sku-storage-ultra-ssd"] = "spot", "zonal", "false"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestHyperVGeneration checks that a node tells the generation of its size if there is only one.
func TestHyperVGeneration(t *testing.T) {
	t.Attr("covers", "Z200")
	const key = "karpenter.azure.com/sku-hyperv-generation"
	for want, generations := range map[string][]string{"1": {"1"}, "2": {"2"}, absent: {"1", "2"}} {
		in := input(func(in *customdata.Input) {
			in.Launch.InstanceType = []v1.NodeSelectorRequirementWithMinValues{cloud.In(key, generations...)}
		})
		got, err := customdata.NodeLabels(in)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, "label", got, map[string]string{key: want})
		machine, _ := customdata.AKSMachineLabels(in.Launch)
		expect(t, "label of an AKSMachine:", machine, map[string]string{key: want})
	}
}

// TestMode checks that only one value makes an AKSMachine one for the system.
func TestMode(t *testing.T) {
	t.Attr("covers", "Z153")
	for value, want := range map[string]string{"system": "system", "System": "user", "user": "user", "": "user"} {
		claim := &v1.NodeClaim{}
		claim.Labels = map[string]string{aks + "mode": value}
		if _, got := customdata.AKSMachineLabels(customdata.Launch{Claim: claim}); got != want {
			t.Errorf("%q: the mode is %s, want %s", value, got, want)
		}
	}
}
