package translate_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// ladder returns n instance types of growing size with five offerings each, as a provider lists them.
func ladder(n int) []*cloud.InstanceType {
	var out []*cloud.InstanceType
	for i := range int64(n) {
		cpus, name := i+1, fmt.Sprintf("rung-%d", i+1)
		it := &cloud.InstanceType{
			Name: name,
			Requirements: []v1.NodeSelectorRequirementWithMinValues{
				cloud.In(corev1.LabelInstanceTypeStable, name),
				cloud.In(corev1.LabelArchStable, "amd64"),
				cloud.In(corev1.LabelOSStable, "linux"),
				cloud.In(corev1.LabelTopologyZone, "zone-1", "zone-2", "zone-3"),
				cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand, v1.CapacityTypeSpot),
				cloud.DoesNotExist(corev1.LabelTopologyRegion),
			},
			Capacity: corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewQuantity(cpus, resource.DecimalSI),
				corev1.ResourceMemory: *resource.NewQuantity(2*cpus<<30, resource.BinarySI),
				corev1.ResourcePods:   *resource.NewQuantity(10*cpus, resource.DecimalSI),
			},
			Overhead: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("10Mi"),
			},
		}
		for _, o := range [][2]string{{"zone-1", "on-demand"}, {"zone-2", "on-demand"}, {"zone-3", "on-demand"}, {"zone-1", "spot"}, {"zone-2", "spot"}} {
			it.Offerings = append(it.Offerings, cloud.Offering{
				Price: float64(cpus), Available: true,
				Requirements: []v1.NodeSelectorRequirementWithMinValues{
					cloud.In(v1.CapacityTypeLabelKey, o[1]), cloud.In(corev1.LabelTopologyZone, o[0]),
				},
			})
		}
		out = append(out, it)
	}
	return out
}

// TestAllocatableIsThatOfTheProvider compares the allocatable of translated types with the quantities that package cloud
// computes, for integer and fractional, huge and negative amounts, with and without huge pages.
func TestAllocatableIsThatOfTheProvider(t *testing.T) {
	names := []corev1.ResourceName{
		corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage,
		"hugepages-2Mi", "hugepages-1Gi", "example.com/gpu",
	}
	amounts := []string{"0", "1", "4", "100m", "1500m", "100u", "0.0015", "2Gi", "10Mi", "512Ki", "1.5Gi", "-3", "9E", "9000000000000000000000"}
	draw := func(t *rapid.T, name string) corev1.ResourceList {
		out := corev1.ResourceList{}
		for _, n := range rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID[corev1.ResourceName]).Draw(t, name) {
			out[n] = resource.MustParse(rapid.SampledFrom(amounts).Draw(t, string(n)))
		}
		return out
	}
	rapid.Check(t, func(t *rapid.T) {
		it := &cloud.InstanceType{Name: "m", Capacity: draw(t, "capacity"), Overhead: draw(t, "overhead")}
		translator := translate.New(v1.CoreLabelRules())
		got := translator.Catalog([]*cloud.InstanceType{it})[0].Groups[0].Allocatable
		want := translator.Vector(it.Allocatable())
		for i := range max(len(got), len(want)) {
			if got.At(i) != want.At(i) {
				t.Errorf("capacity %v less %v leaves %v; want %v", it.Capacity, it.Overhead, got, want)
			}
		}
	})
}

func TestEqualOfferingsShareTheirRequirements(t *testing.T) {
	types := ladder(2)
	least := 1
	types[1].Offerings[1].Requirements = append(types[1].Offerings[1].Requirements, cloud.In("example.com/rack", "a"))
	types[1].Offerings[2].Requirements[0].MinValues = &least
	types[1].Offerings[3].CapacityOverride = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("7")}
	types[1].Offerings[4].Available = false
	got := translate.New(v1.CoreLabelRules()).Catalog(types)
	var texts []string
	for i := range types[1].Offerings {
		a, b := got[0].Offerings[i], got[1].Offerings[i]
		texts = append(texts, fmt.Sprintf("%s %v group %d", b.Requirements, &a.Requirements[0] == &b.Requirements[0], b.Group))
	}
	want := []string{
		"karpenter.sh/capacity-type In [on-demand], topology.kubernetes.io/zone In [zone-1] true group 0",
		"example.com/rack In [a], karpenter.sh/capacity-type In [on-demand], topology.kubernetes.io/zone In [zone-2] false group 0",
		"karpenter.sh/capacity-type In [on-demand] minValues 1, topology.kubernetes.io/zone In [zone-3] false group 0",
		"karpenter.sh/capacity-type In [spot], topology.kubernetes.io/zone In [zone-1] true group 1",
		"karpenter.sh/capacity-type In [spot], topology.kubernetes.io/zone In [zone-2] true group -1",
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("offerings of the second type, and whether they share with the first (-want +got):\n%s", diff)
	}
	if len(got[0].Groups) != 1 || len(got[1].Groups) != 2 || got[1].Groups[1].Allocatable[0] != 6900 {
		t.Errorf("the types have the groups %v and %v", got[0].Groups, got[1].Groups)
	}
}

// TestFullReservationsAreAvailable: health and free capacity are separate.
func TestFullReservationsAreAvailable(t *testing.T) {
	t.Attr("covers", "N230 N233")
	for _, test := range []struct {
		healthy, reserved     bool
		left                  int
		available, launchable bool
	}{
		{true, true, 1, true, true},
		{true, true, 0, true, false},
		{false, true, 1, false, false},
		{false, true, 0, false, false},
		{true, false, 0, true, true},
		{false, false, 0, false, false},
	} {
		types := ladder(1)
		o := &types[0].Offerings[0]
		o.Available, o.ReservationCapacity = test.healthy, test.left
		if test.reserved {
			o.Requirements[0] = cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeReserved)
		}
		got := translate.New(v1.CoreLabelRules()).Catalog(types)[0].Offerings[0]
		if got.Available() != test.available || got.Launchable() != test.launchable {
			t.Errorf("%+v: available %t, launchable %t", test, got.Available(), got.Launchable())
		}
	}
}

// TestTypesMatchThoseOfTheProvider translates lists of types whose requirements resemble each other more or less, and compares
// each with its translation on its own.
func TestTypesMatchThoseOfTheProvider(t *testing.T) {
	keys := []string{corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone, corev1.LabelArchStable, "example.com/a", "example.com/b"}
	operators := []corev1.NodeSelectorOperator{corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists}
	rules := v1.CoreLabelRules()
	rules.ValueAliases = map[string]map[string]string{"example.com/a": {"1": "one"}}
	draw := func(t *rapid.T) []v1.NodeSelectorRequirementWithMinValues {
		var out []v1.NodeSelectorRequirementWithMinValues
		for _, key := range rapid.SliceOfN(rapid.SampledFrom(keys), 0, 3).Draw(t, "keys") {
			e := v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: rapid.SampledFrom(operators).Draw(t, "operator")}
			if e.Operator != corev1.NodeSelectorOpExists {
				e.Values = rapid.SliceOfN(rapid.SampledFrom([]string{"1", "2", "3"}), 1, 2).Draw(t, "values")
			}
			if least := rapid.IntRange(0, 2).Draw(t, "minValues"); least > 0 {
				e.MinValues = &least
			}
			out = append(out, e)
		}
		return out
	}
	rapid.Check(t, func(t *rapid.T) {
		var types []*cloud.InstanceType
		for range rapid.IntRange(1, 5).Draw(t, "types") {
			it := &cloud.InstanceType{Requirements: draw(t)}
			if n := len(types); n > 0 && rapid.Bool().Draw(t, "alike") {
				it.Requirements = slices.Clone(types[n-1].Requirements)
				for i := range it.Requirements {
					if rapid.Bool().Draw(t, "changed") {
						it.Requirements[i].Operator, it.Requirements[i].Values = corev1.NodeSelectorOpIn, []string{"3"}
					}
				}
			}
			for range rapid.IntRange(0, 2).Draw(t, "offerings") {
				it.Offerings = append(it.Offerings, cloud.Offering{Requirements: draw(t)})
			}
			types = append(types, it)
		}
		for i, got := range translate.New(rules).Catalog(types) {
			if want := cloud.Requirements(types[i].Requirements, rules); !got.Requirements.Equal(want) {
				t.Errorf("type %d says %s, want %s", i, got.Requirements, want)
			}
			for j, o := range got.Offerings {
				if want := cloud.Requirements(types[i].Offerings[j].Requirements, rules); !o.Requirements.Equal(want) {
					t.Errorf("offering %d of type %d says %s, want %s", j, i, o.Requirements, want)
				}
			}
		}
	})
}

func BenchmarkCatalog(b *testing.B) {
	types, translator := ladder(400), translate.New(v1.CoreLabelRules())
	b.ReportAllocs()
	for b.Loop() {
		translator.Catalog(types)
	}
}
