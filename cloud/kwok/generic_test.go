package kwok

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// byName are the instance types of a catalog.
func byName(t *testing.T, opts Options) map[string]*cloud.InstanceType {
	t.Helper()
	w := newWorld(t, opts)
	types, err := w.cloud.Provider.InstanceTypes(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*cloud.InstanceType{}
	for _, it := range types {
		out[it.Name] = it
	}
	if len(out) != len(types) {
		t.Fatalf("%d types have %d names", len(types), len(out))
	}
	return out
}

// amounts formats a resource list for comparisons.
func amounts(l corev1.ResourceList) map[string]string {
	out := map[string]string{}
	for name, q := range l {
		out[string(name)] = q.String()
	}
	return out
}

func TestGenericCatalogue(t *testing.T) {
	types := byName(t, Options{})
	if len(types) != 144 {
		t.Errorf("there are %d types", len(types))
	}
	cpus := []int{1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256}
	pods := []string{"16", "32", "64", "128", "256", "512", "768", "1024", "1024", "1024", "1024", "1024"}
	for i, cpu := range cpus {
		for family, perCPU := range map[string]int{"c": 2, "s": 4, "m": 8} {
			for _, system := range []string{"linux", "windows"} {
				for _, arch := range []string{"amd64", "arm64"} {
					name := fmt.Sprintf("%s-%dx-%s-%s", family, cpu, arch, system)
					it := types[name]
					if it == nil {
						t.Errorf("%s is missing", name)
						continue
					}
					memory := resource.MustParse(fmt.Sprintf("%dGi", cpu*perCPU))
					want := map[string]string{
						"cpu": fmt.Sprint(cpu), "memory": memory.String(), "pods": pods[i], "ephemeral-storage": "20Gi",
					}
					if diff := cmp.Diff(want, amounts(it.Capacity)); diff != "" {
						t.Errorf("%s: capacity (-want +got):\n%s", name, diff)
					}
					price := 0.025*float64(cpu) + 0.001*float64(memory.Value())/1e9
					checkGenericOfferings(t, it, price)
					checkLabels(t, it, map[string]string{
						corev1.LabelArchStable: arch, corev1.LabelOSStable: system, corev1.LabelInstanceTypeStable: name,
						LabelInstanceFamily: family, LabelInstanceSize: fmt.Sprint(cpu),
						LabelInstanceCPU: fmt.Sprint(cpu), LabelInstanceMemory: fmt.Sprint(1024 * cpu * perCPU),
						corev1.LabelTopologyRegion: "", corev1.LabelWindowsBuild: "",
					})
				}
			}
		}
	}
}

func checkGenericOfferings(t *testing.T, it *cloud.InstanceType, price float64) {
	t.Helper()
	got := map[string]float64{}
	for i := range it.Offerings {
		o := &it.Offerings[i]
		got[o.Zone()+" "+o.CapacityType()] = o.Price
		if !o.Available {
			t.Errorf("%s: offering %d is not available", it.Name, i)
		}
	}
	want := map[string]float64{}
	for _, zone := range []string{"test-zone-a", "test-zone-b", "test-zone-c", "test-zone-d"} {
		want[zone+" "+v1.CapacityTypeOnDemand], want[zone+" "+v1.CapacityTypeSpot] = price, 0.7*price
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	if diff := cmp.Diff(want, got, near); diff != "" || len(it.Offerings) != 8 {
		t.Errorf("%s: %d offerings (-want +got):\n%s", it.Name, len(it.Offerings), diff)
	}
}

// checkLabels compares the single values of the type's labels; "" stands for DoesNotExist.
func checkLabels(t *testing.T, it *cloud.InstanceType, want map[string]string) {
	t.Helper()
	set := cloud.Requirements(it.Requirements, v1.CoreLabelRules())
	for key, value := range want {
		expected := key + " In [" + value + "]"
		if value == "" {
			expected = key + " DoesNotExist"
		}
		if got := set.Get(key).String(); !set.Has(key) || got != expected {
			t.Errorf("%s: label is %s, want %s", it.Name, got, expected)
		}
	}
}

func TestOverhead(t *testing.T) {
	got := byName(t, Options{})["s-2x-amd64-linux"].Allocatable()
	want := map[string]string{"cpu": "1900m", "memory": "8182Mi", "pods": "32", "ephemeral-storage": "20Gi"}
	if diff := cmp.Diff(want, amounts(got)); diff != "" {
		t.Errorf("allocatable (-want +got):\n%s", diff)
	}
}

func TestSizeAndFamilyOfNames(t *testing.T) {
	for name, want := range map[string][2]string{
		"c-1x-amd64-linux":  {"7", "c"},
		"m5.large":          {"large", "m5"},
		"m7i.metal-24xl":    {"metal-24xl", "m7i"},
		"u-12tb1.112xlarge": {"112xlarge", "u"},
		"Standard_D4s_v5":   {"7", "S"},
		".odd":              {"7", "."},
	} {
		if got := [2]string{sizeOf(name, 7), familyOf(name)}; got != want {
			t.Errorf("%s: size and family are %q, want %q", name, got, want)
		}
	}
}
