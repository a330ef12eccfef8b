package label_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/karpenter-anew/karpenter/api/azure/label"
)

// TestNames pins every name that users and other programs see.
func TestNames(t *testing.T) {
	for _, test := range []struct {
		what      string
		got, want []string
	}{
		{"labels of Karpenter's domain that users may name", within(label.Domain, label.SKULabels()), strings.Fields(`aksnodeclass placement-scope sku-cpu sku-family
			sku-gpu-count sku-gpu-manufacturer sku-gpu-name sku-memory sku-name sku-networking-accelerated sku-series sku-storage-ephemeralos-maxsize
			sku-storage-premium-capable sku-storage-ultra-ssd sku-version`)},
		{"labels of the domain of AKS that users may name", within(label.AKSDomain, label.AKSLabels()), strings.Fields(`cluster ebpf-dataplane ebpf-host-routing fips_enabled
			hostedvm mode network-policy os-sku priority scalesetpriority sku-cpu sku-memory`)},
		{"labels that nodes register with", within(label.AKSDomain, []string{
			label.AKSRole, label.AKSKubeletIdentityClientID, label.AKSOSSKURequested, label.AKSOSSKUEffective, label.AKSNetworkSubnet, label.AKSNodeNetworkVNetGUID,
			label.AKSAzureCNIOverlay, label.AKSPodNetworkType, label.AKSNetworkStatelessCNI, label.AKSLocalDNSState, label.AKSArtifactStreaming,
		}), strings.Fields(`artifactstreaming-enabled azure-cni-overlay kubelet-identity-client-id localdns-state network-stateless-cni network-subnet
			nodenetwork-vnetguid os-sku-effective os-sku-requested podnetwork-type role`)},
		{"labels without a domain", label.LegacyLabels(), []string{"agentpool", "storageprofile", "storagetier", "accelerator"}},
		{"annotations and the finalizer", within(label.Domain, []string{
			label.AnnotationHash, label.AnnotationHashVersion, label.AnnotationInPlaceUpdateHash, label.AnnotationAKSMachineResourceID, label.TerminationFinalizer,
		}), []string{"aks-machine-resource-id", "aksnodeclass-hash", "aksnodeclass-hash-version", "in-place-update-hash", "termination"}},
		{"tags", []string{label.TagCluster, label.TagNodePool, label.TagBilling, label.BillingLinux, label.TagAKSMachineNodeClaim}, []string{
			"karpenter.azure.com_cluster", "karpenter.sh_nodepool", "compute.aks.billing", "linux", "karpenter.azure.com_aksmachine_nodeclaim",
		}},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.what, diff)
		}
	}
}

// within cuts a domain off keys and sorts them.
func within(domain string, keys []string) []string {
	var out []string
	for _, key := range keys {
		out = append(out, strings.TrimPrefix(key, domain+"/"))
	}
	slices.Sort(out)
	return out
}

// TestRules checks which labels users may require, and which values they can have.
func TestRules(t *testing.T) {
	t.Attr("covers", "Z024 Z027 Z037")
	rules := label.Rules()
	for _, key := range append(label.SKULabels(), label.AKSLabels()[:8]...) {
		if key != label.NodeClass && !rules.WellKnown[key] {
			t.Errorf("%s is not well known", key)
		}
		if restricted := rules.Restricted(key); restricted != (key == label.NodeClass) {
			t.Errorf("%s: restricted is %v", key, restricted)
		}
	}
	for key, want := range map[string]bool{
		label.SKUHyperVGeneration: true, "karpenter.azure.com/other": true, "sub.karpenter.azure.com/x": true,
		label.AKSEBPFDataplane: false, label.AKSRole: false, "example.com/x": false,
	} {
		if rules.WellKnown[key] || rules.Restricted(key) != want || rules.AllowsUndefined(key) != (key == label.SKUHyperVGeneration) {
			t.Errorf("%s: well known is %v, restricted is %v, a NodeClaim need not name it is %v", key, rules.WellKnown[key], rules.Restricted(key), rules.AllowsUndefined(key))
		}
	}
	for key, want := range map[string]string{
		"karpenter.sh/capacity-type": "on-demand spot", label.PlacementScope: "zonal regional", label.SKUGPUManufacturer: "nvidia amd", label.AKSMode: "system user",
		label.AKSScaleSetPriority: "regular spot", label.AKSPriority: "regular spot", label.AKSOSSKU: "Ubuntu AzureLinux", label.AKSFIPSEnabled: "true",
		label.SKUAcceleratedNetwork: "true false", label.SKUPremiumStorage: "true false", label.SKUUltraSSD: "true false",
	} {
		if got := strings.Join(rules.KnownValues[key], " "); got != want {
			t.Errorf("%s has the values %q, want %q", key, got, want)
		}
	}
	zone := rules.Normalize("topology.disk.csi.azure.com/zone")
	if zone != "topology.kubernetes.io/zone" || rules.NormalizeValue(zone, "") != "0" || rules.NormalizeValue(zone, "westus2-1") != "westus2-1" {
		t.Errorf("the zone of volumes is %s, with the values %q and %q", zone, rules.NormalizeValue(zone, ""), rules.NormalizeValue(zone, "westus2-1"))
	}
}

// TestRulesAreACopy checks that the rules of the core stay as they are.
func TestRulesAreACopy(t *testing.T) {
	label.Rules().KnownValues[label.AKSMode][0] = "changed"
	if got := label.Rules().KnownValues[label.AKSMode][0]; got != label.ModeSystem {
		t.Errorf("rules share values: %s", got)
	}
}

func TestClusterValue(t *testing.T) {
	t.Attr("covers", "Z036")
	for name, want := range map[string]string{
		"MC_rg_c_southcentralus":         "MC_rg_c_southcentralus",
		"MC_rg(test)_cluster_westus2":    "MC_rg-test-_cluster_westus2",
		"rg(a)":                          "rg-a-z",
		"group.":                         "group.z",
		"group_":                         "group_z",
		strings.Repeat("a", 62) + "-":    strings.Repeat("a", 62) + "z",
		strings.Repeat("a", 61) + "_":    strings.Repeat("a", 61) + "_z",
		strings.Repeat("b", 80):          strings.Repeat("b", 63),
		strings.Repeat("c", 62) + ")x":   strings.Repeat("c", 62) + "z",
		strings.Repeat("d", 63) + "-end": strings.Repeat("d", 63),
		"":                               "",
	} {
		got := label.ClusterValue(name)
		if got != want {
			t.Errorf("ClusterValue(%q) = %q, want %q", name, got, want)
		}
		if problems := validation.IsValidLabelValue(got); len(problems) > 0 {
			t.Errorf("%q is not the value of a label: %v", got, problems)
		}
	}
}

func TestKubeletMaySet(t *testing.T) {
	t.Attr("covers", "Z028")
	for _, key := range strings.Fields(`agentpool example.com/x karpenter.sh/nodepool kubernetes.azure.com/mode notkubernetes.io/x k8s.io.example.com/x
		node.kubernetes.io/instance-type node.kubernetes.io/x sub.node.kubernetes.io/x kubelet.kubernetes.io/x sub.kubelet.kubernetes.io/x
		kubernetes.io/hostname topology.kubernetes.io/zone topology.kubernetes.io/region failure-domain.beta.kubernetes.io/zone
		failure-domain.beta.kubernetes.io/region beta.kubernetes.io/instance-type kubernetes.io/os kubernetes.io/arch beta.kubernetes.io/os
		beta.kubernetes.io/arch`) {
		if !label.KubeletMaySet(key) {
			t.Errorf("the kubelet may not set %s", key)
		}
	}
	for _, key := range strings.Fields(`kubernetes.io/x k8s.io/x sub.k8s.io/x node-restriction.kubernetes.io/x sub.node-restriction.kubernetes.io/x
		node-role.kubernetes.io/x topology.kubernetes.io/x xnode.kubernetes.io/x node.k8s.io/x beta.kubernetes.io/x`) {
		if label.KubeletMaySet(key) {
			t.Errorf("the kubelet may set %s", key)
		}
	}
	for key, want := range map[string]bool{"kubernetes.io/hostname": true, "node.kubernetes.io/instance-type": true, "node.kubernetes.io/x": false, "example.com/x": false} {
		if label.KubeletManaged(key) != want {
			t.Errorf("%s: managed by the kubelet is %v", key, !want)
		}
	}
}
