package kwok

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

func TestCatalogNames(t *testing.T) {
	want := []string{"aws/eu-central-1", "aws/eu-west-1", "aws/us-east-1", "aws/us-west-2", "azure/eastus", "azure/northeurope", "azure/westeurope", "azure/westus2", "devices", "generic"}
	if diff := cmp.Diff(want, CatalogNames()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestKnownSizesOfEastUS(t *testing.T) {
	types := byName(t, Options{Catalog: "azure/eastus"})
	for name, want := range map[string]map[string]string{
		"Standard_D4s_v3":          {"cpu": "4", "memory": "16Gi", "pods": "250", "ephemeral-storage": "20Gi"},
		"Standard_D2ps_v5":         {"cpu": "2", "memory": "8Gi", "pods": "250", "ephemeral-storage": "20Gi"},
		"Standard_NC24ads_A100_v4": {"cpu": "24", "memory": "220Gi", "pods": "250", "ephemeral-storage": "20Gi", "nvidia.com/gpu": "1"},
		"Standard_NV4ads_V710_v5":  {"cpu": "4", "memory": "16Gi", "pods": "250", "ephemeral-storage": "20Gi", "amd.com/gpu": "1"},
	} {
		it := types[name]
		if it == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		if diff := cmp.Diff(want, amounts(it.Capacity)); diff != "" {
			t.Errorf("%s: capacity (-want +got):\n%s", name, diff)
		}
	}
	checkLabels(t, types["Standard_D2ps_v5"], map[string]string{
		corev1.LabelArchStable: "arm64", corev1.LabelTopologyRegion: "eastus", LabelInstanceFamily: "D", LabelInstanceSize: "2", LabelInstanceCPU: "2",
	})
	zones := map[string]string{}
	for i := range types["Standard_D4s_v3"].Offerings {
		o := &types["Standard_D4s_v3"].Offerings[i]
		zones[o.CapacityType()] += o.Zone() + " "
	}
	for _, capacityType := range []string{v1.CapacityTypeOnDemand, v1.CapacityTypeSpot} {
		if zones[capacityType] != "eastus-1 eastus-2 eastus-3 " {
			t.Errorf("%s is offered in %s", capacityType, zones[capacityType])
		}
	}
	for _, name := range []string{"Standard_B1s", "Standard_DC2as_v5", "Standard_E16-4ads_v5", "Standard_NC6"} {
		if types[name] != nil {
			t.Errorf("%s is not for nodes", name)
		}
	}
	if !types["Standard_NC24ads_A100_v4"].Exotic || types["Standard_D4s_v3"].Exotic {
		t.Error("types with GPUs are not those to launch last")
	}
}

func TestKnownTypesOfUSEast1(t *testing.T) {
	types := byName(t, Options{Catalog: "aws/us-east-1"})
	tests := []struct {
		name     string
		capacity map[string]string
		onDemand float64
		spot     float64
		zones    string
		labels   map[string]string
	}{
		{
			"m5.large",
			map[string]string{"cpu": "2", "memory": "8Gi", "pods": "29", "ephemeral-storage": "20Gi"},
			0.096, 0.03168, "abdef",
			map[string]string{
				corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux", corev1.LabelTopologyRegion: "us-east-1",
				LabelInstanceFamily: "m5", LabelInstanceSize: "large", LabelInstanceCPU: "2", LabelInstanceMemory: "8192",
			},
		},
		{
			"c7g.xlarge",
			map[string]string{"cpu": "4", "memory": "8Gi", "pods": "58", "ephemeral-storage": "20Gi"},
			0.145, 0, "",
			map[string]string{corev1.LabelArchStable: "arm64"},
		},
		{
			"p4d.24xlarge",
			map[string]string{"cpu": "96", "memory": "1152Gi", "pods": "737", "ephemeral-storage": "20Gi", "nvidia.com/gpu": "8"},
			32.7726, 9.83178, "abf", nil,
		},
		{
			"inf2.48xlarge",
			map[string]string{"cpu": "192", "memory": "768Gi", "pods": "737", "ephemeral-storage": "20Gi", "aws.amazon.com/neuron": "12"},
			12.98127, 0, "", nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			it := types[tt.name]
			if it == nil {
				t.Fatal("missing")
			}
			if diff := cmp.Diff(tt.capacity, amounts(it.Capacity)); diff != "" {
				t.Errorf("capacity (-want +got):\n%s", diff)
			}
			checkLabels(t, it, tt.labels)
			zones := map[string]string{}
			for i := range it.Offerings {
				o := &it.Offerings[i]
				zones[o.CapacityType()] += strings.TrimPrefix(o.Zone(), "us-east-1")
				want := tt.onDemand
				if o.CapacityType() == v1.CapacityTypeSpot {
					want = tt.spot
				}
				if want != 0 && o.Price != want {
					t.Errorf("%s costs %v, want %v", o.CapacityType(), o.Price, want)
				}
			}
			if tt.zones != "" && (zones[v1.CapacityTypeSpot] != tt.zones || zones[v1.CapacityTypeOnDemand] != tt.zones) {
				t.Errorf("zones are %q, want %q", zones, tt.zones)
			}
		})
	}
}

func TestRegionsAreSane(t *testing.T) {
	for _, name := range regionCatalogNames() {
		t.Run(name, func(t *testing.T) {
			_, region, _ := strings.Cut(name, "/")
			cat, err := readRegion(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(cat.types) < 700 {
				t.Errorf("only %d types", len(cat.types))
			}
			if !slices.IsSortedFunc(cat.types, func(a, b catalogType) int { return strings.Compare(a.name, b.name) }) {
				t.Error("types are not sorted by name")
			}
			for _, m := range cat.types {
				if problems := validation.IsValidLabelValue(m.name); len(problems) > 0 {
					t.Errorf("%s: %s", m.name, problems)
				}
				if m.region != region || len(m.offerings) == 0 || (m.arch != "amd64" && m.arch != "arm64") {
					t.Errorf("%s: region %q, arch %q, %d offerings", m.name, m.region, m.arch, len(m.offerings))
				}
				if pods := m.capacity.Pods().Value(); pods < 4 || pods > 737 {
					t.Errorf("%s: %d pods", m.name, pods)
				}
				for _, o := range m.offerings {
					if o.Price <= 0 || o.Price > 1000 || !strings.HasPrefix(o.Zone(), region) {
						t.Errorf("%s: %s in %q for %v", m.name, o.CapacityType(), o.Zone(), o.Price)
					}
				}
			}
		})
	}
}

func TestSpotIsNeverMoreExpensiveInARegion(t *testing.T) {
	for name, it := range byName(t, Options{Catalog: "aws/us-east-1"}) {
		prices := map[string]float64{}
		for i := range it.Offerings {
			prices[it.Offerings[i].CapacityType()] = it.Offerings[i].Price
		}
		if prices[v1.CapacityTypeSpot] > prices[v1.CapacityTypeOnDemand] {
			t.Errorf("%s: spot costs %v, on demand %v", name, prices[v1.CapacityTypeSpot], prices[v1.CapacityTypeOnDemand])
		}
	}
}

func TestUnknownCatalogs(t *testing.T) {
	for _, name := range []string{"aws/nowhere-1", "aws-us-east-1", "../catalog", "Generic"} {
		_, err := New(newWorld(t, Options{}).client, Options{Catalog: name})
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "aws/us-east-1, ") {
			t.Errorf("%q: the error does not say what is known: %v", name, err)
		}
	}
}

func TestCatalogAndFileExcludeEachOther(t *testing.T) {
	_, err := New(newWorld(t, Options{}).client, Options{Catalog: "aws/us-east-1", InstanceTypesFile: "types.json"})
	if err == nil || !strings.Contains(err.Error(), "choose one") {
		t.Errorf("got %v", err)
	}
}
