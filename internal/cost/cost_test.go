package cost

import (
	"math"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// priced is an instance type with a price by zone and capacity type.
func priced(name string, prices map[[2]string]float64) *cloud.InstanceType {
	it := &cloud.InstanceType{Name: name}
	for place, price := range prices {
		it.Offerings = append(it.Offerings, cloud.Offering{
			Requirements: []v1.NodeSelectorRequirementWithMinValues{
				cloud.In(corev1.LabelTopologyZone, place[0]), cloud.In(v1.CapacityTypeLabelKey, place[1]),
			},
			Price: price,
		})
	}
	return it
}

func TestSum(t *testing.T) {
	t.Attr("covers", "C539 L397")
	free := priced("free", map[[2]string]float64{{"a", "spot"}: 0})
	free.Offerings[0].PriceOverlaid = true
	prices := PricesOf([]*cloud.InstanceType{
		free, priced("unpriced", map[[2]string]float64{{"a", "spot"}: 0}),
		priced("m", map[[2]string]float64{{"a", "spot"}: 1, {"a", "on-demand"}: 4, {"b", "on-demand"}: 5}),
		priced("odd", map[[2]string]float64{{"a", "spot"}: math.NaN(), {"b", "spot"}: -3}),
	})
	spot, onDemand := Offering{"m", "a", "spot"}, Offering{"m", "b", "on-demand"}
	for name, c := range map[string]struct {
		nodes   []Offering
		want    float64
		unknown []Offering
	}{
		"none":                            {nil, 0, nil},
		"one":                             {[]Offering{spot}, 1, nil},
		"two of one offering":             {[]Offering{spot, spot}, 2, nil},
		"several offerings":               {[]Offering{spot, onDemand}, 6, nil},
		"a type that is not listed":       {[]Offering{spot, {"gone", "a", "spot"}, {"gone", "a", "spot"}}, 1, []Offering{{"gone", "a", "spot"}}},
		"a type without prices":           {[]Offering{{"unpriced", "a", "spot"}, spot}, 1, []Offering{{"unpriced", "a", "spot"}}},
		"a free offering":                 {[]Offering{{"free", "a", "spot"}, spot}, 1, nil},
		"a zone that is not listed":       {[]Offering{{"m", "c", "spot"}, onDemand}, 5, []Offering{{"m", "c", "spot"}}},
		"a price that is no number":       {[]Offering{{"odd", "a", "spot"}}, 0, []Offering{{"odd", "a", "spot"}}},
		"a price below nothing":           {[]Offering{{"odd", "b", "spot"}, spot}, 1, nil},
		"a node that is not launched yet": {[]Offering{{InstanceType: "m"}, {}, spot}, 1, nil},
	} {
		got := prices.Sum(c.nodes)
		if got.Dollars != c.want || !slices.Equal(got.Unknown, c.unknown) {
			t.Errorf("%s: %v, unknown %v; want %v, %v", name, got.Dollars, got.Unknown, c.want, c.unknown)
		}
		complete := 0
		for _, o := range c.nodes {
			if o.Complete() {
				complete++
			}
		}
		if got.Priced+got.Unpriced != complete || got.Unpriced < len(got.Unknown) || (got.Unpriced > 0) != (len(got.Unknown) > 0) {
			t.Errorf("%s: %d with a price and %d without, of %d", name, got.Priced, got.Unpriced, complete)
		}
		if got.Known() != (got.Priced > 0 || complete == 0) {
			t.Errorf("%s: known: %v", name, got.Known())
		}
	}
	if got, known := (Prices{}).Of(spot); known || got != 0 {
		t.Errorf("without any types it costs %v", got)
	}
}
