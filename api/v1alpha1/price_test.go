package v1alpha1_test

import (
	"math"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
)

func TestPriceArithmetic(t *testing.T) {
	t.Attr("covers", "L367")
	for _, test := range []struct {
		price, adjustment string
		base, want        float64
		unchanged         bool
	}{
		{base: 2, want: 2, unchanged: true},
		{price: "0", base: 2, want: 0},
		{price: "1.50", base: 2, want: 1.5},
		{price: "3", base: math.NaN(), want: 3},
		{adjustment: "+0", base: 2, want: 2},
		{adjustment: "+0.5", base: 2, want: 2.5},
		{adjustment: "+.5", base: 2, want: 2.5},
		{adjustment: "-0.5", base: 2, want: 1.5},
		{adjustment: "-2", base: 2, want: 0},
		{adjustment: "-5", base: 2, want: 0},
		{adjustment: "+10%", base: 2, want: 2.2},
		{adjustment: "+150%", base: 2, want: 5},
		{adjustment: "+0.5%", base: 2, want: 2.01},
		{adjustment: "-10%", base: 2, want: 1.8},
		{adjustment: "-99.9%", base: 2, want: 0.002},
		{adjustment: "-100%", base: 2, want: 0},
		{adjustment: "+1", base: 0, want: 1},
		{adjustment: "+10%", base: 0, want: 0},
		{adjustment: "+1" + strings.Repeat("0", 307) + "%", base: 1e9, want: math.MaxFloat64},
	} {
		t.Run(test.price+test.adjustment, func(t *testing.T) {
			spec := v1alpha1.NodeOverlaySpec{Price: ptr.To(test.price), PriceAdjustment: ptr.To(test.adjustment)}
			change, err := spec.PriceChange()
			if err != nil {
				t.Fatal(err)
			}
			if got := change.Apply(test.base); math.Abs(got-test.want) > 1e-12 || math.IsNaN(got) {
				t.Errorf("%v becomes %v, want %v", test.base, got, test.want)
			}
			if change.Changes() == test.unchanged {
				t.Errorf("counts as a change: %t", change.Changes())
			}
		})
	}
}

func TestPricesOfOtherFormsAreInvalid(t *testing.T) {
	huge := strings.Repeat("9", 400)
	for _, test := range []struct{ price, adjustment, want string }{
		{"-1", "", "spec.price"},
		{"+42", "", "spec.price"},
		{".5", "", "spec.price"},
		{"42%", "", "spec.price"},
		{"1e3", "", "spec.price"},
		{huge, "", "too large"},
		{"", "42", "spec.priceAdjustment"},
		{"", "-101%", "spec.priceAdjustment"},
		{"", "+Inf", "spec.priceAdjustment"},
		{"", "+0x10", "spec.priceAdjustment"},
		{"", "+" + huge, "too large"},
		{"1", "+1", "exclude each other"},
	} {
		t.Run(test.price+test.adjustment, func(t *testing.T) {
			overlay := &v1alpha1.NodeOverlay{Spec: v1alpha1.NodeOverlaySpec{Price: ptr.To(test.price), PriceAdjustment: ptr.To(test.adjustment)}}
			err := overlay.RuntimeValidate(v1.CoreLabelRules())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one about %q", err, test.want)
			}
		})
	}
}
