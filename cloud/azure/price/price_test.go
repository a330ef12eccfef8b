package price_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenter-anew/karpenter/cloud/azure/price"
)

// list has one SKU in its table.
func list() *price.List { return price.New(map[string]float64{"D2s_v3": 0.096}) }

// meter is an on-demand meter of a SKU.
func meter(amount float64) price.Item {
	return price.Item{
		ARMSKUName: "Standard_D2s_v3", SKUName: "D2s v3", MeterName: "D2s v3", ProductName: "Virtual Machines DSv3 Series", Type: "Consumption", Primary: true, RetailPrice: amount,
	}
}

// with is a meter with a change.
func with(amount float64, change func(*price.Item)) price.Item {
	out := meter(amount)
	change(&out)
	return out
}

func spot(i *price.Item) { i.SKUName, i.MeterName = "D2s v3 Spot", "D2s v3 Spot" }
func lowPriority(i *price.Item) {
	i.SKUName, i.MeterName = "D2s v3 Low Priority", "D2s v3 Low Priority"
}
func windows(i *price.Item)   { i.ProductName = "Virtual Machines DSv3 Series Windows" }
func secondary(i *price.Item) { i.Primary = false }

// expect compares the prices of the SKU; 0 stands for an unknown one.
func expect(t *testing.T, what string, l *price.List, onDemand, spot float64) {
	t.Helper()
	if got, known := l.OnDemand("Standard_D2s_v3"); got != onDemand || known != (onDemand > 0) {
		t.Errorf("%s: %g, %v on demand, want %g", what, got, known, onDemand)
	}
	if got, known := l.Spot("Standard_D2s_v3"); got != spot || known != (spot > 0) {
		t.Errorf("%s: %g, %v as spot, want %g", what, got, known, spot)
	}
}

func TestRefresh(t *testing.T) {
	t.Attr("covers", "Z073")
	other := func(i *price.Item) { i.ARMSKUName, i.SKUName = "Standard_D4s_v3", "D4s v3" }
	for _, test := range []struct {
		what           string
		items          []price.Item
		onDemand, spot float64
	}{
		{"on-demand only", []price.Item{meter(1)}, 1, 0.096},
		{"spot only", []price.Item{with(0.2, spot)}, 0.096, 0.2},
		{"both", []price.Item{meter(1), with(0.2, spot)}, 1, 0.2},
		{"Windows", []price.Item{with(0.9, windows), meter(1), with(0.2, spot), with(0.1, func(i *price.Item) { spot(i); windows(i) })}, 1, 0.2},
		{"low priority", []price.Item{meter(1), with(0.3, lowPriority), with(0.2, spot)}, 1, 0.2},
		{"the same item twice", []price.Item{meter(1), meter(1)}, 1, 0.096},
		{"another SKU only", []price.Item{with(1, other)}, 0, 0.096},
		{"the cheapest primary meter", []price.Item{meter(3), meter(1), meter(2), with(0.5, secondary)}, 1, 0.096},
		{"no primary meter", []price.Item{with(3, secondary), with(1, secondary)}, 1, 0.096},
		{"a reservation", []price.Item{meter(1), with(0.5, func(i *price.Item) { i.Type = "Reservation" })}, 1, 0.096},
		{"development and test", []price.Item{meter(1), with(0.5, func(i *price.Item) { i.Type = "DevTestConsumption" })}, 1, 0.096},
		{"DevOps", []price.Item{meter(1), with(0.5, func(i *price.Item) { i.ProductName = "Virtual Machines DSv3 Series DevOps" })}, 1, 0.096},
		{"no price", []price.Item{meter(1), meter(0), meter(-1), meter(math.NaN()), meter(math.Inf(1))}, 1, 0.096},
		{"no name", []price.Item{meter(1), with(0.5, func(i *price.Item) { i.ARMSKUName = "" })}, 1, 0.096},
	} {
		l := list()
		if err := l.Refresh(test.items); err != nil {
			t.Errorf("%s: %v", test.what, err)
		}
		expect(t, test.what, l, test.onDemand, test.spot)
	}
}

// TestAListWithoutPrices checks that a list that says nothing changes nothing.
func TestAListWithoutPrices(t *testing.T) {
	t.Attr("covers", "Z073")
	for what, items := range map[string][]price.Item{"empty": nil, "Windows only": {with(1, windows)}, "zero": {meter(0)}} {
		l := list()
		if err := l.Refresh([]price.Item{meter(1), with(0.2, spot)}); err != nil {
			t.Fatal(err)
		}
		before := l.Sequence()
		if err := l.Refresh(items); err == nil {
			t.Errorf("%s: no error", what)
		}
		expect(t, what, l, 1, 0.2)
		if l.Sequence() != before {
			t.Errorf("%s: the sequence changed", what)
		}
	}
}

func TestSequence(t *testing.T) {
	l := list()
	for _, step := range []struct {
		items []price.Item
		want  uint64
	}{
		{[]price.Item{meter(1)}, 1},
		{[]price.Item{meter(1)}, 1},
		{[]price.Item{with(0.2, spot)}, 2},
		{[]price.Item{meter(1), with(0.2, spot)}, 2},
		{[]price.Item{meter(2), with(0.3, spot)}, 3},
	} {
		if err := l.Refresh(step.items); err != nil {
			t.Fatal(err)
		}
		if got := l.Sequence(); got != step.want {
			t.Errorf("the sequence is %d, want %d", got, step.want)
		}
	}
}

// TestTheOrderOfItemsDoesNotMatter shuffles meters of one SKU.
func TestTheOrderOfItemsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) price.Item {
			changes := []func(*price.Item){func(*price.Item) {}, spot, secondary, windows, lowPriority}
			return with(rapid.Float64Range(0, 3).Draw(t, "price"), changes[rapid.IntRange(0, len(changes)-1).Draw(t, "kind")])
		}), 1, 8).Draw(t, "items")
		first, second := list(), list()
		reversed := slices.Clone(items)
		slices.Reverse(reversed)
		if errA, errB := first.Refresh(items), second.Refresh(reversed); (errA == nil) != (errB == nil) {
			t.Fatalf("%v, reversed %v", errA, errB)
		}
		for _, read := range []func(*price.List) (float64, bool){
			func(l *price.List) (float64, bool) { return l.OnDemand("Standard_D2s_v3") }, func(l *price.List) (float64, bool) { return l.Spot("Standard_D2s_v3") },
		} {
			a, knownA := read(first)
			b, knownB := read(second)
			if a != b || knownA != knownB || knownA && a <= 0 {
				t.Errorf("%g, %v, reversed %g, %v", a, knownA, b, knownB)
			}
		}
	})
}
