package kwok

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// TestEncodedTypesAreReadBack writes a catalog as a file, and reads it.
func TestEncodedTypesAreReadBack(t *testing.T) {
	from, err := New(nil, Options{Catalog: "aws/us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	types, err := from.Provider.InstanceTypes(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	types[0].Offerings = slices.Clone(types[0].Offerings)
	reserved := types[0].Offerings[0]
	reserved.Requirements = []v1.NodeSelectorRequirementWithMinValues{
		cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeReserved), cloud.In(corev1.LabelTopologyZone, reserved.Zone()),
	}
	types[0].Offerings = append(types[0].Offerings, reserved)
	text, left, err := EncodeTypes(types)
	if err != nil {
		t.Fatal(err)
	}
	if left.Reserved != 1 || left.Unpriced != 0 {
		t.Errorf("left out: %+v", left)
	}
	cat, err := parseFile(text)
	if err != nil {
		t.Fatal(err)
	}
	back := instanceTypes(cat, labelRules(cat.offeringKeys))
	if len(back) != len(types) {
		t.Fatalf("%d types of %d", len(back), len(types))
	}
	types[0].Offerings = types[0].Offerings[:len(types[0].Offerings)-1]
	for i, want := range types {
		got := back[i]
		if got.Name != want.Name || len(got.Offerings) != len(want.Offerings) {
			t.Fatalf("type %d is %s with %d offerings, want %s with %d", i, got.Name, len(got.Offerings), want.Name, len(want.Offerings))
		}
		for key, value := range singleValues(want) {
			if singleValues(got)[key] != value {
				t.Errorf("%s: label %s is %q, want %q", want.Name, key, singleValues(got)[key], value)
			}
		}
		for j := range want.Offerings {
			w, g := &want.Offerings[j], &got.Offerings[j]
			if w.Price != g.Price || w.Zone() != g.Zone() || w.CapacityType() != g.CapacityType() {
				t.Errorf("%s: offering %d is %+v, want %+v", want.Name, j, g, w)
			}
			have, wanted := got.AllocatableOf(g), want.AllocatableOf(w)
			for name, amount := range wanted {
				if q := have[name]; q.Cmp(amount) != 0 {
					t.Errorf("%s: allocatable %s is %s, want %s", want.Name, name, q.String(), amount.String())
				}
			}
		}
	}
}
