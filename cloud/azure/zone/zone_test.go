package zone_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenter-anew/karpenter/cloud/azure/zone"
)

// TestZones holds zones of Azure against labels, in both directions.
//
// Source: Azure provider specification, conformance vectors.
func TestZones(t *testing.T) {
	t.Attr("covers", "Z250")
	for _, test := range []struct {
		location     string
		numbers      []string
		label, scope string
	}{
		{"WestUS2", []string{"2"}, "westus2-2", "zonal"},
		{"westus2", []string{"3"}, "westus2-3", "zonal"},
		{"region", []string{"10"}, "region-10", "zonal"},
		{"westus2", []string{}, "0", "regional"},
	} {
		label, err := zone.Label(test.location, test.numbers)
		if err != nil || label != test.label {
			t.Errorf("Label(%q, %q) = %q, %v, want %q", test.location, test.numbers, label, err, test.label)
		}
		numbers, err := zone.Numbers(test.label)
		if err != nil || numbers == nil || !slices.Equal(numbers, test.numbers) {
			t.Errorf("Numbers(%q) = %#v, %v, want %q", test.label, numbers, err, test.numbers)
		}
		if scope := zone.PlacementScope(test.label); scope != test.scope {
			t.Errorf("PlacementScope(%q) = %q, want %q", test.label, scope, test.scope)
		}
	}
	if label, err := zone.Label("westus2", nil); err != nil || label != "0" {
		t.Errorf("without zones: %q, %v", label, err)
	}
	if label, err := zone.Label("westus2", []string{"1", "2"}); err == nil {
		t.Errorf("two zones: %q", label)
	}
	for _, value := range []string{"", "westus2", "westus2-", "-1", "1"} {
		if numbers, err := zone.Numbers(value); err == nil {
			t.Errorf("Numbers(%q) = %q", value, numbers)
		}
	}
}

// TestZonesRoundTrip checks that every zone of every location is found again.
func TestZonesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		location := rapid.StringMatching(`[a-z]{1,12}[0-9]?(-[a-z]{1,4})?`).Draw(t, "location")
		number := rapid.StringMatching(`[1-9][0-9]?`).Draw(t, "number")
		label, err := zone.Label(location, []string{number})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := zone.Numbers(label); err != nil || !slices.Equal(got, []string{number}) {
			t.Errorf("Numbers(%q) = %q, %v, want %s", label, got, err, number)
		}
	})
}
