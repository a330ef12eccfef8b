package inventory

import (
	"testing"

	"github.com/karpenter-anew/karpenter/cloud/pricetable"
)

// FuzzProductPrice checks that an entry of the price list of AWS has a price, or none, which is 0, and that one entry that is not a price does not
// hide another.
func FuzzProductPrice(f *testing.F) {
	const head = `{"product":{"attributes":{"instanceType":"m5.large"}},"terms":{"OnDemand":{"x":{"priceDimensions":{`
	for _, dimensions := range []string{
		`"a":{"pricePerUnit":{"USD":"0.096"}}`, `"a":{"pricePerUnit":{"USD":"NaN"}},"b":{"pricePerUnit":{"USD":"0.096"}}`, `"a":{"pricePerUnit":{"USD":"Inf"}}`,
		`"a":{"pricePerUnit":{"USD":"-1"}}`, `"a":{"pricePerUnit":{"CNY":"1"}}`, `"a":{"pricePerUnit":{"USD":"1e999"}}`, `"a":{"pricePerUnit":{"USD":"0x1p-2"}}`, `"a":null`,
	} {
		f.Add(head + dimensions + `}}}}}`)
	}
	f.Add(`null`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		_, amount, err := productPrice(text, "USD")
		if amount != 0 && !pricetable.Valid(amount) || err != nil && amount != 0 {
			t.Errorf("%s costs %v, error %v", text, amount, err)
		}
	})
}

// TestAnEntryWithoutAPriceHidesNoOther: a number that is not a price is no reason to lose the one that is.
func TestAnEntryWithoutAPriceHidesNoOther(t *testing.T) {
	for _, other := range []string{"NaN", "Inf", "-1", "x"} {
		text := `{"product":{"attributes":{"instanceType":"a"}},"terms":{"OnDemand":{"x":{"priceDimensions":{
			"a":{"pricePerUnit":{"USD":"` + other + `"}},"b":{"pricePerUnit":{"USD":"0.5"}}}}}}}`
		for range 20 { // the dimensions are in a map
			if name, amount, err := productPrice(text, "USD"); name != "a" || amount != 0.5 || err != nil {
				t.Fatalf("%s beside 0.5: %s costs %v, %v", other, name, amount, err)
			}
		}
	}
}
