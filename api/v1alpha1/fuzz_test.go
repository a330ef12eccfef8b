package v1alpha1_test

import (
	"math"
	"testing"

	"github.com/karpenter-anew/karpenter/api/v1alpha1"
)

// FuzzPriceChange checks that the price of an overlay is refused, or makes of each price another that is not negative and not infinite.
func FuzzPriceChange(f *testing.F) {
	for _, seed := range []struct{ price, adjustment string }{
		{"1.5", ""},
		{"", "+10%"},
		{"", "-100%"},
		{"", "-0.5"},
		{"", "+.5"},
		{"99999999999999999999999999999999999999", ""},
		{"1", "+1"},
		{"NaN", ""},
		{"", "+Inf"},
		{"", "+1e400"},
		{"", "+999999999999999999999999999999999999%"},
		{"0x1p4", ""},
		{"1\n", ""},
	} {
		f.Add(seed.price, seed.adjustment, 0.096)
	}
	f.Fuzz(func(t *testing.T, price, adjustment string, base float64) {
		change, err := (&v1alpha1.NodeOverlaySpec{Price: &price, PriceAdjustment: &adjustment}).PriceChange()
		if err != nil || !(base >= 0) || math.IsInf(base, 0) {
			return
		}
		if got := change.Apply(base); !(got >= 0) || math.IsInf(got, 0) {
			t.Errorf("price %q, adjustment %q make %v of %v", price, adjustment, got, base)
		}
		if !change.Changes() && change.Apply(base) != base {
			t.Errorf("price %q, adjustment %q change nothing, and make %v of %v", price, adjustment, change.Apply(base), base)
		}
	})
}
