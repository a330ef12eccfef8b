package instancetype_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/gpu"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/size"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
)

// description is Standard_D4s_v3 in three zones.
func description() sku.Description {
	return sku.Description{
		Name: "Standard_D4s_v3", Family: "standardDSv3Family", Size: size.Size{Family: "D", VCPUs: 4, Features: "s", Version: "3"}, VCPUs: 4, MemoryGiB: 16,
		Architecture: "amd64", HyperVGenerations: []string{"1", "2"}, AcceleratedNetworking: true, PremiumStorage: true, EncryptionAtHost: true, TrustedLaunch: true,
		Spot: true, UltraSSD: true, Zones: []sku.Zone{{Name: "southcentralus-1"}, {Name: "southcentralus-2"}, {Name: "southcentralus-3"}},
		Disk: sku.EphemeralDisk{SizeGB: 107, Placement: sku.PlacementCache},
	}
}

// input is Standard_D4s_v3 under a class with defaults.
func input() instancetype.Input {
	return instancetype.Input{
		SKU: description(), Class: instancetype.ClassOf(&v1beta1.AKSNodeClass{}, instancetype.Network{Plugin: "azure", Mode: "overlay"}),
		Settings: instancetype.Settings{Location: "southcentralus", NodeResourceGroup: "MC_rg_c_southcentralus", VMMemoryOverheadPercent: 0.075},
	}
}

func resolve(t *testing.T, in instancetype.Input) *cloud.InstanceType {
	t.Helper()
	got, ok := instancetype.Resolve(in)
	if !ok {
		t.Fatalf("%s is not compatible with the class", in.SKU.Name)
	}
	return got
}

// labels are the requirements of a type as texts: values in order, - for DoesNotExist.
func labels(it *cloud.InstanceType) map[string]string {
	out := map[string]string{}
	for _, r := range it.Requirements {
		if out[r.Key] = strings.Join(r.Values, " "); r.Operator == corev1.NodeSelectorOpDoesNotExist {
			out[r.Key] = "-"
		}
	}
	return out
}

// TestLabels holds a full set of labels against the conformance vectors.
func TestLabels(t *testing.T) {
	t.Attr("covers", "Z025 Z026")
	want := map[string]string{
		"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "node.kubernetes.io/instance-type": "Standard_D4s_v3",
		"topology.kubernetes.io/region": "southcentralus", "topology.kubernetes.io/zone": "0 southcentralus-1 southcentralus-2 southcentralus-3",
		"karpenter.sh/capacity-type": "on-demand spot", "karpenter.azure.com/placement-scope": "regional zonal",
		"karpenter.azure.com/sku-name": "Standard_D4s_v3", "karpenter.azure.com/sku-family": "D", "karpenter.azure.com/sku-series": "Ds_v3",
		"karpenter.azure.com/sku-version": "3", "karpenter.azure.com/sku-cpu": "4", "karpenter.azure.com/sku-memory": "16384",
		"kubernetes.azure.com/sku-cpu": "4", "kubernetes.azure.com/sku-memory": "16384",
		"karpenter.azure.com/sku-networking-accelerated": "true", "karpenter.azure.com/sku-storage-premium-capable": "true",
		"karpenter.azure.com/sku-storage-ultra-ssd": "false true", "karpenter.azure.com/sku-storage-ephemeralos-maxsize": "107",
		"karpenter.azure.com/sku-gpu-count": "0", "karpenter.azure.com/sku-gpu-name": "-", "karpenter.azure.com/sku-gpu-manufacturer": "-",
		"karpenter.azure.com/sku-hyperv-generation": "1 2", "kubernetes.azure.com/cluster": "MC_rg_c_southcentralus",
		"kubernetes.azure.com/mode": "system user", "kubernetes.azure.com/scalesetpriority": "regular spot", "kubernetes.azure.com/priority": "regular spot",
		"kubernetes.azure.com/os-sku": "Ubuntu", "kubernetes.azure.com/fips_enabled": "-",
	}
	it := resolve(t, input())
	got := labels(it)
	for key := range label.Rules().WellKnown {
		if _, listed := want[key]; !listed && key != v1.NodePoolLabelKey {
			want[key] = "-" // labels of the core that do not apply
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(got) != len(it.Requirements) || !slices.IsSortedFunc(it.Requirements, func(a, b v1.NodeSelectorRequirementWithMinValues) int { return strings.Compare(a.Key, b.Key) }) {
		t.Error("labels are defined twice or not sorted")
	}
}

func TestLabelsOfOtherTypes(t *testing.T) {
	t.Attr("covers", "Z026")
	for _, test := range []struct {
		what   string
		change func(*instancetype.Input)
		want   map[string]string
	}{
		{"a GPU", func(in *instancetype.Input) {
			in.SKU.GPU, _ = gpu.Of("Standard_NC16as_T4_v3")
			in.SKU.GPUs, in.SKU.Size = 1, size.Size{Family: "N", Subfamily: "C", Features: "as", Accelerator: "T4", Version: "3"}
		}, map[string]string{label.SKUGPUCount: "1", label.SKUGPUName: "T4", label.SKUGPUManufacturer: "nvidia", label.SKUSeries: "NCas_v3"}},
		{
			"no version and no local disk", func(in *instancetype.Input) { in.SKU.Size.Version, in.SKU.Disk = "", sku.EphemeralDisk{} },
			map[string]string{label.SKUVersion: "1", label.SKUEphemeralOSDiskMax: "-"},
		},
		{
			"no features", func(in *instancetype.Input) {
				in.SKU.PremiumStorage, in.SKU.AcceleratedNetworking, in.SKU.UltraSSD = false, false, false
			},
			map[string]string{label.SKUPremiumStorage: "false", label.SKUAcceleratedNetwork: "false", label.SKUUltraSSD: "false"},
		},
		{"FIPS", func(in *instancetype.Input) { in.Class.FIPS = true }, map[string]string{label.AKSFIPSEnabled: "true"}},
		{"Azure Linux", func(in *instancetype.Input) { in.Class.ImageFamily = "AzureLinux" }, map[string]string{label.AKSOSSKU: "AzureLinux"}},
		{"a release of Ubuntu", func(in *instancetype.Input) { in.Class.ImageFamily = "Ubuntu2404" }, map[string]string{label.AKSOSSKU: "Ubuntu"}},
		{"one generation", func(in *instancetype.Input) { in.SKU.HyperVGenerations = []string{"2"} }, map[string]string{label.SKUHyperVGeneration: "2"}},
		{"part of a GiB", func(in *instancetype.Input) { in.SKU.MemoryGiB = 15.25 }, map[string]string{label.SKUMemory: "15616", label.AKSSKUMemory: "15616"}},
		{"parentheses", func(in *instancetype.Input) { in.Settings.NodeResourceGroup = "rg(a)" }, map[string]string{label.AKSCluster: "rg-a-z"}},
	} {
		in := input()
		test.change(&in)
		got := labels(resolve(t, in))
		for key, want := range test.want {
			if got[key] != want {
				t.Errorf("%s: %s is %q, want %q", test.what, key, got[key], want)
			}
		}
	}
}

// TestNothingAvailable checks a type that cannot be launched at the moment.
func TestNothingAvailable(t *testing.T) {
	t.Attr("covers", "Z201")
	in := input()
	in.Market.Unavailable = func(string, string) bool { return true }
	it := resolve(t, in)
	set := cloud.Requirements(it.Requirements, label.Rules())
	for _, key := range []string{corev1.LabelTopologyZone, v1.CapacityTypeLabelKey, label.PlacementScope, label.SKUUltraSSD} {
		if got := set.Get(key); got.Complement() || len(got.Values()) != 0 || !set.Has(key) {
			t.Errorf("%s is %s", key, got)
		}
	}
	if len(it.Offerings) != 8 {
		t.Errorf("there are %d offerings", len(it.Offerings))
	}
}

// TestResultsShareNothing changes a result and looks at the next one.
func TestResultsShareNothing(t *testing.T) {
	in := input()
	first := resolve(t, in)
	for i := range first.Requirements {
		clear(first.Requirements[i].Values)
	}
	clear(first.Capacity)
	if got := labels(resolve(t, in)); got[label.SKUHyperVGeneration] != "1 2" {
		t.Errorf("the generations are %q", got[label.SKUHyperVGeneration])
	}
}

// TestRequirementsAreRegistered checks that scheduling knows all labels but the one for images.
func TestRequirementsAreRegistered(t *testing.T) {
	rules := label.Rules()
	for _, key := range slices.Sorted(maps.Keys(labels(resolve(t, input())))) {
		if !rules.WellKnown[key] && key != label.SKUHyperVGeneration {
			t.Errorf("%s is not well known", key)
		}
	}
}
