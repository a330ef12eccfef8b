package translate

import (
	"testing"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// TestOverlaysMarkTheClaim checks the path from the types of the cloud to the annotations that the cloud reads.
func TestOverlaysMarkTheClaim(t *testing.T) {
	t.Attr("covers", "L220")
	translator := New(v1.CoreLabelRules())
	for name, test := range map[string]struct {
		it          cloud.InstanceType
		price, size string
	}{
		"nothing corrected":  {cloud.InstanceType{Offerings: make([]cloud.Offering, 2)}, "", ""},
		"the price":          {cloud.InstanceType{Offerings: []cloud.Offering{{}, {PriceOverlaid: true}}}, "true", ""},
		"the capacity":       {cloud.InstanceType{CapacityOverlaid: true}, "", "true"},
		"price and capacity": {cloud.InstanceType{CapacityOverlaid: true, Offerings: []cloud.Offering{{PriceOverlaid: true}}}, "true", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			it := translator.Catalog([]*cloud.InstanceType{&test.it})[0]
			claim := translator.NodeClaim(&v1.NodePool{}, solve.NodeClaim{PriceOverlaid: it.PriceOverlaid, CapacityOverlaid: it.CapacityOverlaid}, nil)
			for key, want := range map[string]string{v1.PriceOverlayAppliedAnnotationKey: test.price, v1.CapacityOverlayAppliedAnnotationKey: test.size} {
				if got, ok := claim.Annotations[key]; got != want || ok != (want != "") {
					t.Errorf("annotation %s is %q (present: %t), want %q", key, got, ok, want)
				}
			}
		})
	}
}
