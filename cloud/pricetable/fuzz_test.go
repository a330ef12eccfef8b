package pricetable_test

import (
	"testing"

	"github.com/karpenter-anew/karpenter/cloud/pricetable"
)

// FuzzRead holds whatever the table is: reading ends, and every price is one.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"", "regions,a,b\nx,1,2\n", "x,1\n", "regions,a\nx,NaN\n", "regions,a\nx,1e999\n", "regions,a\nx,-1\n", "# c\nsource,s\ndate,d\nregions,b\nx,,\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		table, err := pricetable.Read(text, "regions", "a", "b")
		if err != nil {
			return
		}
		for name, price := range table.Prices {
			if !pricetable.Valid(price) {
				t.Errorf("%s costs %v", name, price)
			}
		}
	})
}
