package choice_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/azureerrors"
	"github.com/karpenter-anew/karpenter/cloud/azure/choice"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/price"
	"github.com/karpenter-anew/karpenter/cloud/azure/quota"
	"github.com/karpenter-anew/karpenter/cloud/azure/size"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
	"github.com/karpenter-anew/karpenter/cloud/azure/unavailableofferings"
)

const location = "southcentralus"

// described is a SKU with zones, by their numbers.
func described(name, family string, numbers ...string) sku.Description {
	parsed, err := size.Parse(strings.TrimPrefix(name, "Standard_"))
	if err != nil {
		panic(err)
	}
	d := sku.Description{
		Name: name, Family: family, Size: parsed, VCPUs: int64(parsed.VCPUs), MemoryGiB: 4 * float64(parsed.VCPUs), Architecture: "amd64",
		HyperVGenerations: []string{"1", "2"}, Spot: true, UltraSSD: true,
	}
	for _, n := range numbers {
		d.Zones = append(d.Zones, sku.Zone{Name: location + "-" + n})
	}
	return d
}

// vectors are the candidates of the conformance vectors.
func vectors() []sku.Description {
	return []sku.Description{
		described("Standard_D2as_v6", "standardDasv6Family", "2", "3"), described("Standard_D2s_v3", "standardDSv3Family", "1", "2", "3"),
		described("Standard_D2_v3", "standardDv3Family", "1", "2", "3"),
	}
}

// market is what a subscription can launch in the location.
type market struct {
	skus        []sku.Description
	prices      *price.List
	quota       *quota.Quota
	unavailable *unavailableofferings.Cache
	random      func(int) int
}

// newMarket has the embedded prices; everything is available.
func newMarket(skus []sku.Description) *market {
	return &market{
		skus: skus, prices: price.New(price.TableFor(location).Prices), quota: quota.New(clock.RealClock{}),
		unavailable: unavailableofferings.New(clock.RealClock{}), random: rand.New(rand.NewPCG(1, 2)).IntN,
	}
}

// offerings lists the instance types as of now.
func (m *market) offerings(t *testing.T) *cloud.OfferingList {
	t.Helper()
	var types []*cloud.InstanceType
	for _, d := range m.skus {
		it, ok := instancetype.Resolve(instancetype.Input{
			SKU: d, Class: instancetype.ClassOf(&v1beta1.AKSNodeClass{}, instancetype.Network{Plugin: "azure", Mode: "overlay"}),
			Settings: instancetype.Settings{Location: location, VMMemoryOverheadPercent: 0.075},
			Market: instancetype.Market{
				Price: func(capacityType string) (float64, bool) {
					if capacityType == v1.CapacityTypeSpot {
						return m.prices.Spot(d.Name)
					}
					return m.prices.OnDemand(d.Name)
				},
				Unavailable: func(capacityType, zone string) bool {
					return m.unavailable.IsUnavailable(choice.Identity(&d), capacityType, zone)
				},
				QuotaExceeded: m.quota.Exceeded(d.Family, d.VCPUs),
			},
		})
		if !ok {
			t.Fatalf("%s is not compatible with the class", d.Name)
		}
		types = append(types, it)
	}
	return cloud.NewOfferingList(types, label.Rules())
}

func (m *market) describe(name string) (sku.Description, bool) {
	i := slices.IndexFunc(m.skus, func(d sku.Description) bool { return d.Name == name })
	if i < 0 {
		return sku.Description{}, false
	}
	return m.skus[i], true
}

// input is a choice among the offerings as of now.
func (m *market) input(t *testing.T, requirements ...v1.NodeSelectorRequirementWithMinValues) choice.Input {
	t.Helper()
	claim := &v1.NodeClaim{Spec: v1.NodeClaimSpec{Requirements: requirements}}
	claim.Name = "pool-abc12"
	return choice.Input{Claim: claim, Offerings: m.offerings(t), SKU: m.describe, Unavailable: m.unavailable, Random: m.random}
}

// block marks a type of the vectors in zones, which are numbers, or 0 for regional placement.
func (m *market) block(name string, capacityTypes []string, numbers ...string) {
	d, _ := m.describe(name)
	mark := unavailableofferings.Mark{InstanceType: choice.Identity(&d), CapacityTypes: capacityTypes, Duration: time.Hour}
	for _, n := range numbers {
		if n != label.ZoneRegional {
			n = location + "-" + n
		}
		mark.Zones = append(mark.Zones, n)
	}
	m.unavailable.Mark(mark)
}

// shown is a choice as text: type, capacity type, placement scope and zone.
func shown(c choice.Choice) string {
	return fmt.Sprintf("%s %s %s %s", strings.TrimPrefix(c.InstanceType.Name, "Standard_"), c.Attempt.CapacityType, c.PlacementScope, c.Attempt.Zone)
}

// chosen are the different choices of an input in order, over many draws.
func chosen(t *testing.T, in choice.Input) []string {
	t.Helper()
	var out []string
	for range 100 {
		c, err := choice.Choose(in)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, shown(c))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func not(key string, values ...string) v1.NodeSelectorRequirementWithMinValues {
	return v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpNotIn, Values: values}
}

// spots are offerings of spot capacity, onDemands of on-demand capacity, both of both.
func spots() []string     { return []string{v1.CapacityTypeSpot} }
func onDemands() []string { return []string{v1.CapacityTypeOnDemand} }
func both() []string      { return []string{v1.CapacityTypeSpot, v1.CapacityTypeOnDemand} }

// TestOrder holds choices against the conformance vectors, with static prices, which are the same for spot and on-demand.
//
// Source: Azure provider specification, conformance vectors.
func TestOrder(t *testing.T) {
	t.Attr("covers", "Z075 Z076 Z077 Z080 Z081")
	for _, test := range []struct {
		what         string
		change       func(*market)
		requirements []v1.NodeSelectorRequirementWithMinValues
		want         []string
	}{
		{"no requirement", func(*market) {}, nil, []string{"D2as_v6 spot zonal southcentralus-2", "D2as_v6 spot zonal southcentralus-3"}},
		{"a zone is blocked", func(m *market) { m.block("Standard_D2as_v6", spots(), "2") }, nil, []string{"D2as_v6 spot zonal southcentralus-3"}},
		{"spot is blocked in zones", func(m *market) { m.block("Standard_D2as_v6", spots(), "2", "3") }, nil, []string{"D2as_v6 spot regional 0"}},
		{
			"all spot is blocked", func(m *market) { m.unavailable.Mark(unavailableofferings.Mark{Spot: true}) }, nil,
			[]string{"D2as_v6 on-demand zonal southcentralus-2", "D2as_v6 on-demand zonal southcentralus-3"},
		},
		{
			"all spot, and on-demand in zones", func(m *market) {
				m.unavailable.Mark(unavailableofferings.Mark{Spot: true})
				m.block("Standard_D2as_v6", onDemands(), "2", "3")
			}, nil,
			[]string{"D2as_v6 on-demand regional 0"},
		},
		{
			"a type is blocked", func(m *market) { m.block("Standard_D2as_v6", both(), "2", "3", "0") }, nil,
			[]string{"D2_v3 spot zonal southcentralus-1", "D2_v3 spot zonal southcentralus-2", "D2_v3 spot zonal southcentralus-3"},
		},
		{
			"two types at one price, the first by name without spot in zones", func(m *market) {
				m.block("Standard_D2as_v6", both(), "2", "3", "0")
				m.block("Standard_D2_v3", spots(), "1", "2", "3")
				m.block("Standard_D2s_v3", spots(), "1", "2")
			}, nil, []string{"D2s_v3 spot zonal southcentralus-3"},
		},
		{
			"two types at one price, spot with regional placement only", func(m *market) {
				m.block("Standard_D2as_v6", both(), "2", "3", "0")
				m.block("Standard_D2_v3", spots(), "1", "2", "3", "0")
				m.block("Standard_D2s_v3", spots(), "1", "2", "3")
			}, nil, []string{"D2s_v3 spot regional 0"},
		},
		{
			"a live spot price", func(m *market) { spotPrice(m, 0.02) }, nil,
			[]string{"D2s_v3 spot zonal southcentralus-1", "D2s_v3 spot zonal southcentralus-2", "D2s_v3 spot zonal southcentralus-3"},
		},
		{"a live spot price, on-demand only", func(m *market) { spotPrice(m, 0.02) }, []v1.NodeSelectorRequirementWithMinValues{
			cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand), cloud.In(corev1.LabelTopologyZone, "southcentralus-3"),
		}, []string{"D2as_v6 on-demand zonal southcentralus-3"}},
		{"no quota for on-demand", func(m *market) {
			m.quota.Refresh([]quota.Usage{{Name: "StandardDASv6Family", Limit: 10, Current: 9}})
		}, []v1.NodeSelectorRequirementWithMinValues{
			cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand), cloud.In(corev1.LabelTopologyZone, "southcentralus-3"),
		}, []string{"D2_v3 on-demand zonal southcentralus-3"}},
		{
			"regional placement", func(*market) {},
			[]v1.NodeSelectorRequirementWithMinValues{cloud.In(label.PlacementScope, label.PlacementScopeRegional)},
			[]string{"D2as_v6 spot regional 0"},
		},
		{
			"the priority of AKS", func(*market) {},
			[]v1.NodeSelectorRequirementWithMinValues{
				cloud.In(label.AKSPriority, label.PriorityRegular), cloud.In(corev1.LabelTopologyZone, label.ZoneRegional),
			},
			[]string{"D2as_v6 on-demand regional 0"},
		},
	} {
		m := newMarket(vectors())
		test.change(m)
		if got := chosen(t, m.input(t, test.requirements...)); !slices.Equal(got, test.want) {
			t.Errorf("%s: chosen is %q, want %q", test.what, got, test.want)
		}
	}
}

// spotPrice refreshes the prices with a spot price of Standard_D2s_v3; on-demand prices stay.
func spotPrice(m *market, amount float64) {
	meter := func(name, suffix string, amount float64) price.Item {
		short := strings.ReplaceAll(strings.TrimPrefix(name, "Standard_"), "_", " ") + suffix
		return price.Item{ARMSKUName: name, SKUName: short, MeterName: short, ProductName: "Virtual Machines Series", Type: "Consumption", Primary: true, RetailPrice: amount}
	}
	items := []price.Item{
		meter("Standard_D2as_v6", "", 0.109), meter("Standard_D2_v3", "", 0.11), meter("Standard_D2s_v3", "", 0.11), meter("Standard_D2s_v3", " Spot", amount),
	}
	if err := m.prices.Refresh(items); err != nil {
		panic(err)
	}
}

// TestPlacementsUntilNothingIsLeft launches until nothing is left, and looks at every zone on the way.
func TestPlacementsUntilNothingIsLeft(t *testing.T) {
	t.Attr("covers", "Z075 Z079 Z080 Z081")
	for _, test := range []struct {
		what        string
		requirement v1.NodeSelectorRequirementWithMinValues
		want        []string // zones, in order
	}{
		{"not regional", not(corev1.LabelTopologyZone, label.ZoneRegional), []string{"southcentralus-1", "southcentralus-2", "southcentralus-3"}},
		{
			"every zone", cloud.In(corev1.LabelTopologyZone, "southcentralus-1", "southcentralus-2", "southcentralus-3"),
			[]string{"southcentralus-1", "southcentralus-2", "southcentralus-3"},
		},
		{"one zone", cloud.In(corev1.LabelTopologyZone, "southcentralus-1"), []string{"southcentralus-1"}},
		{"the scope zonal", cloud.In(label.PlacementScope, label.PlacementScopeZonal), []string{"southcentralus-1", "southcentralus-2", "southcentralus-3"}},
		{"the scope regional", cloud.In(label.PlacementScope, label.PlacementScopeRegional), []string{"0"}},
		{"any type", cloud.In(label.SKUFamily, "D"), []string{"0", "southcentralus-1", "southcentralus-2", "southcentralus-3"}},
		{"another family", cloud.In(label.SKUFamily, "E"), nil},
	} {
		m := newMarket(vectors())
		var zones []string
		last := 0.0
		for {
			c, err := choice.Choose(m.input(t, test.requirement))
			if err != nil {
				if !cloud.IsInsufficientCapacity(err) || !strings.Contains(err.Error(), "no instance types available") {
					t.Errorf("%s: the error is %v", test.what, err)
				}
				break
			}
			if c.Offering.Price < last {
				t.Errorf("%s: %s is cheaper than what was chosen before", test.what, shown(c))
			}
			last, zones = c.Offering.Price, append(zones, c.Attempt.Zone)
			m.unavailable.Mark(unavailableofferings.Mark{
				InstanceType: c.Attempt.InstanceType, CapacityTypes: []string{c.Attempt.CapacityType}, Zones: []string{c.Attempt.Zone}, Duration: time.Hour,
			})
		}
		slices.Sort(zones)
		if got := slices.Compact(zones); !slices.Equal(got, test.want) {
			t.Errorf("%s: the zones are %q, want %q", test.what, got, test.want)
		}
	}
}

// TestSpread holds the spread over equal zones against the conformance vectors.
func TestSpread(t *testing.T) {
	t.Attr("covers", "Z078")
	m := newMarket([]sku.Description{described("Standard_D2s_v3", "standardDSv3Family", "1", "2", "3"), described("Standard_D4s_v3", "standardDSv3Family", "1", "2", "3")})
	in := m.input(t)
	count := map[string]int{}
	for range 300 {
		c, err := choice.Choose(in)
		if err != nil {
			t.Fatal(err)
		}
		count[shown(c)]++
	}
	if len(count) != 3 {
		t.Errorf("chosen is %v, want three zones", count)
	}
	for _, n := range []string{"1", "2", "3"} {
		if got := count["D2s_v3 spot zonal southcentralus-"+n]; got < 60 {
			t.Errorf("zone %s is chosen %d times of 300, want at least 60", n, got)
		}
	}
}

func TestUltraSSD(t *testing.T) {
	t.Attr("covers", "Z215")
	m := newMarket(vectors())
	exists := v1.NodeSelectorRequirementWithMinValues{Key: label.SKUUltraSSD, Operator: corev1.NodeSelectorOpExists}
	for _, test := range []struct {
		what         string
		requirements []v1.NodeSelectorRequirementWithMinValues
		want         bool
	}{
		{"no requirement", nil, false},
		{"true", []v1.NodeSelectorRequirementWithMinValues{cloud.In(label.SKUUltraSSD, "true")}, true},
		{"true or false", []v1.NodeSelectorRequirementWithMinValues{cloud.In(label.SKUUltraSSD, "true", "false")}, false},
		{"false", []v1.NodeSelectorRequirementWithMinValues{cloud.In(label.SKUUltraSSD, "false")}, false},
		{"not false", []v1.NodeSelectorRequirementWithMinValues{not(label.SKUUltraSSD, "false")}, true},
		{"not true", []v1.NodeSelectorRequirementWithMinValues{not(label.SKUUltraSSD, "true")}, false},
		{"any", []v1.NodeSelectorRequirementWithMinValues{exists}, false},
		{"any, and not false", []v1.NodeSelectorRequirementWithMinValues{exists, not(label.SKUUltraSSD, "false")}, true},
	} {
		c, err := choice.Choose(m.input(t, test.requirements...))
		if err != nil {
			t.Errorf("%s: %v", test.what, err)
			continue
		}
		if c.UltraSSD != test.want {
			t.Errorf("%s: ultra disks enabled is %v", test.what, c.UltraSSD)
		}
		// The vectors have ultra disks with regional placement only.
		if test.want && c.Attempt.Zone != label.ZoneRegional {
			t.Errorf("%s: %s has no ultra disks", test.what, shown(c))
		}
	}
}

// TestMarksSinceTheListing checks that a launch does not repeat what has failed since the instance types were listed.
func TestMarksSinceTheListing(t *testing.T) {
	t.Attr("covers", "Z075 Z079")
	m := newMarket([]sku.Description{described("Standard_D2s_v3", "standardDSv3Family", "1"), described("Standard_D4s_v3", "standardDSv3Family", "1")})
	in := m.input(t, cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeSpot), cloud.In(label.PlacementScope, label.PlacementScopeZonal))
	expect := func(step, want string) {
		t.Helper()
		c, err := choice.Choose(in)
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		if got := shown(c); got != want {
			t.Errorf("%s: chosen is %s, want %s", step, got, want)
		}
	}
	in.Unavailable = nil
	m.block("Standard_D2s_v3", spots(), "1")
	expect("without the marks", "D2s_v3 spot zonal southcentralus-1")
	in.Unavailable = unavailableofferings.New(clock.RealClock{})
	expect("with other marks", "D2s_v3 spot zonal southcentralus-1")
	in.Unavailable = m.unavailable
	if _, err := choice.Choose(in); !cloud.IsInsufficientCapacity(err) || !strings.Contains(err.Error(), "2 remaining offerings") {
		t.Errorf("after a mark of the smallest size of the family, the error is %v", err)
	}
	in.SKU = func(string) (sku.Description, bool) { return sku.Description{}, false }
	expect("without SKUs, the family is not known", "D4s_v3 spot zonal southcentralus-1")
}

// TestFallback follows a launch through errors: its marks make the next choice a smaller size, then another family.
func TestFallback(t *testing.T) {
	t.Attr("covers", "Z079")
	m := newMarket([]sku.Description{
		described("Standard_D2s_v3", "standardDSv3Family", "1", "2"), described("Standard_D4s_v3", "standardDSv3Family", "1", "2"),
		described("Standard_D8s_v3", "standardDSv3Family"), described("Standard_D4as_v6", "standardDasv6Family"),
	})
	m.random = func(int) int { return 0 }
	fail := func(code, message, want string, requirements ...v1.NodeSelectorRequirementWithMinValues) {
		t.Helper()
		in := m.input(t, append(requirements, cloud.In(label.AKSScaleSetPriority, label.PriorityRegular))...)
		in.Claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		c, err := choice.Choose(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(c); got != want {
			t.Errorf("before %s, chosen is %s, want %s", code, got, want)
		}
		m.unavailable.Mark(azureerrors.Classify(code, message, c.Attempt).Unavailable)
	}
	fail("ZonalAllocationFailed", "", "D2s_v3 on-demand zonal southcentralus-1")
	fail("SkuNotAvailable", "", "D2s_v3 on-demand zonal southcentralus-2")
	// All zones are marked for the family, regional placement is not.
	fail("OperationNotAllowed", "Family Cores quota", "D4s_v3 on-demand regional 0", cloud.In(corev1.LabelInstanceTypeStable, "Standard_D4s_v3"))
	fail("OverconstrainedAllocationRequest", "", "D2s_v3 on-demand regional 0")
	fail("SkuNotAvailable", "", "D4as_v6 on-demand regional 0")
	if _, err := choice.Choose(m.input(t, cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand))); !cloud.IsInsufficientCapacity(err) {
		t.Errorf("after all errors, the error is %v", err)
	}
	if _, err := choice.Choose(m.input(t)); err != nil {
		t.Errorf("spot: %v", err)
	}
}

// TestBothPlacementsRunOut takes the capacity of a family in all zones and without one, whose nodes are then of another family, and gives it back.
func TestBothPlacementsRunOut(t *testing.T) {
	t.Attr("covers", "Z086 Z087 Z093")
	synctest.Test(t, func(t *testing.T) {
		m := newMarket([]sku.Description{
			described("Standard_D2s_v3", "standardDSv3Family", "1", "2"), described("Standard_D4s_v3", "standardDSv3Family", "1", "2"),
			described("Standard_D8as_v6", "standardDasv6Family", "1"),
		})
		m.random = func(int) int { return 0 }
		choose := func(want string) choice.Choice {
			t.Helper()
			c, err := choice.Choose(m.input(t, cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand)))
			if err != nil {
				t.Fatal(err)
			}
			if got := shown(c); got != want {
				t.Errorf("chosen is %s, want %s", got, want)
			}
			return c
		}
		fail := func(want string) {
			t.Helper()
			m.unavailable.Mark(azureerrors.Classify("AllocationFailed", "", choose(want).Attempt).Unavailable)
		}
		fail("D2s_v3 on-demand zonal southcentralus-1")
		time.Sleep(time.Minute) // of the bubble's clock: no real time passes
		fail("D2s_v3 on-demand regional 0")
		choose("D8as_v6 on-demand zonal southcentralus-1")
		time.Sleep(59 * time.Minute)
		choose("D2s_v3 on-demand zonal southcentralus-1")
		m.block("Standard_D2s_v3", both(), "1", "2")
		choose("D8as_v6 on-demand zonal southcentralus-1")
		time.Sleep(time.Minute)
		choose("D2s_v3 on-demand regional 0")
	})
}

// TestRequestsThatDoNotFit checks that the requests of a claim count.
func TestRequestsThatDoNotFit(t *testing.T) {
	t.Attr("covers", "Z079")
	in := newMarket(vectors()).input(t)
	in.Claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64")}
	_, err := choice.Choose(in)
	var capacity *cloud.InsufficientCapacityError
	if !errors.As(err, &capacity) || !strings.Contains(err.Error(), "smaller than its requests") {
		t.Errorf("the error is %v", err)
	}
}
