package instancetype_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
)

// lines are offerings as texts: the values of their labels, the price, and - if they are not available.
func lines(it *cloud.InstanceType) []string {
	var out []string
	for _, o := range it.Offerings {
		var values []string
		for _, r := range o.Requirements {
			values = append(values, strings.Join(r.Values, "|"))
		}
		line := fmt.Sprintf("%s $%g", strings.Join(values, " "), o.Price)
		if !o.Available {
			line += " -"
		}
		out = append(out, line)
	}
	return out
}

func TestOfferings(t *testing.T) {
	t.Attr("covers", "Z051 Z058 Z060 Z061 Z062 Z182 Z202")
	prices := func(capacityType string) (float64, bool) {
		return map[string]float64{"on-demand": 0.22, "spot": 0.05}[capacityType], true
	}
	for _, test := range []struct {
		what   string
		change func(*instancetype.Input)
		want   []string
	}{
		{"two zones", func(in *instancetype.Input) {
			in.SKU.Zones = []sku.Zone{{Name: "southcentralus-1", UltraSSD: true}, {Name: "southcentralus-3"}}
			in.Market.Price = prices
		}, []string{
			"on-demand southcentralus-1 zonal regular regular false|true $0.22", "spot southcentralus-1 zonal spot spot false|true $0.05",
			"on-demand southcentralus-3 zonal regular regular false $0.22", "spot southcentralus-3 zonal spot spot false $0.05",
			"on-demand 0 regional regular regular false|true $0.22", "spot 0 regional spot spot false|true $0.05",
		}},
		{"no zones, no prices, no ultra disks", func(in *instancetype.Input) { in.SKU.Zones, in.SKU.UltraSSD = nil, false }, []string{
			"on-demand 0 regional regular regular false $999", "spot 0 regional spot spot false $999",
		}},
		{"no spot price", func(in *instancetype.Input) {
			in.SKU.Zones = nil
			in.Market.Price = func(capacityType string) (float64, bool) { return 0.22, capacityType == "on-demand" }
		}, []string{"on-demand 0 regional regular regular false|true $0.22", "spot 0 regional spot spot false|true $999"}},
		{"a price of zero is none", func(in *instancetype.Input) {
			in.SKU.Zones = nil
			in.Market.Price = func(string) (float64, bool) { return 0, true }
		}, []string{"on-demand 0 regional regular regular false|true $999", "spot 0 regional spot spot false|true $999"}},
		{"no spot capacity", func(in *instancetype.Input) { in.SKU.Zones, in.SKU.Spot = nil, false }, []string{
			"on-demand 0 regional regular regular false|true $999", "spot 0 regional spot spot false|true $999 -",
		}},
	} {
		in := input()
		test.change(&in)
		if diff := cmp.Diff(test.want, lines(resolve(t, in))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.what, diff)
		}
	}
}

func TestUnavailableOfferings(t *testing.T) {
	t.Attr("covers", "Z066 Z067")
	for _, test := range []struct {
		what   string
		market instancetype.Market
		want   []string // what is available
	}{
		{"everything", instancetype.Market{}, []string{"on-demand 0", "on-demand southcentralus-1", "spot 0", "spot southcentralus-1"}},
		{"no quota", instancetype.Market{QuotaExceeded: true}, []string{"spot 0", "spot southcentralus-1"}},
		{"a zone", instancetype.Market{Unavailable: func(_, zone string) bool { return zone == "southcentralus-1" }}, []string{"on-demand 0", "spot 0"}},
		{
			"a capacity type in a zone",
			instancetype.Market{Unavailable: func(capacityType, zone string) bool { return capacityType == "spot" && zone == "0" }},
			[]string{"on-demand 0", "on-demand southcentralus-1", "spot southcentralus-1"},
		},
	} {
		in := input()
		in.SKU.Zones, in.Market = in.SKU.Zones[:1], test.market
		it := resolve(t, in)
		var got []string
		for i := range it.Offerings {
			if o := &it.Offerings[i]; o.Available {
				got = append(got, o.CapacityType()+" "+o.Zone())
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, test.want) || len(it.Offerings) != 4 {
			t.Errorf("%s: of %d, %q are available, want %q", test.what, len(it.Offerings), got, test.want)
		}
	}
}
