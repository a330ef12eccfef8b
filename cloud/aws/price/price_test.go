package price_test

import (
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/cloud/aws/price"
)

// book has two types in its table.
func book() *price.List { return price.New(map[string]float64{"m5.large": 0.1, "c5.large": 0.2}) }

// at is a record of one minute of an hour.
func at(minute int, name, zone, text string) price.SpotRecord {
	return price.SpotRecord{Pool: price.Pool{InstanceType: name, Zone: zone}, Time: time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC), Price: text}
}

// expect compares a spot price.
func expect(t *testing.T, b *price.List, name, zone string, want float64) {
	t.Helper()
	if got := b.Spot(name, zone); got != want {
		t.Errorf("%s in %s costs %g, want %g", name, zone, got, want)
	}
}

func TestTheTableCountsAtFirst(t *testing.T) {
	b := book()
	if b.OnDemand("m5.large") != 0.1 || b.OnDemand("unknown") != 0 {
		t.Error("on-demand prices are not those of the table")
	}
	expect(t, b, "m5.large", "a", 0.1)
	expect(t, b, "unknown", "a", 0)
}

func TestOnDemand(t *testing.T) {
	t.Attr("covers", "A258")
	b := book()
	if err := b.RefreshOnDemand(map[string]float64{"m5.large": 0.3, "c5.large": 0}, map[string]float64{"m5.metal": 4}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"m5.large": 0.3, "c5.large": 0.2, "m5.metal": 4} {
		if got := b.OnDemand(name); got != want {
			t.Errorf("%s costs %g, want %g", name, got, want)
		}
	}
	for _, lists := range [][2]map[string]float64{{nil, {"m5.metal": 5}}, {{"m5.large": 5}, nil}, {}} {
		if err := b.RefreshOnDemand(lists[0], lists[1]); err == nil || b.OnDemand("m5.large") != 0.3 || b.OnDemand("m5.metal") != 4 {
			t.Errorf("half an answer is taken: %v", err)
		}
	}
	if err := price.New(nil).RefreshOnDemand(map[string]float64{"a": 1}, map[string]float64{"b": 1}); err != nil {
		t.Error(err)
	}
}

func TestSpot(t *testing.T) {
	t.Attr("covers", "A261")
	b := book()
	err := b.RefreshSpot([]price.SpotRecord{
		at(1, "m5.large", "a", "0.01"), at(3, "m5.large", "a", "0.03"), at(2, "m5.large", "a", "0.02"), at(1, "m5.large", "b", "0.05"),
		at(1, "c5.large", "a", "cheap"),
		{Pool: price.Pool{InstanceType: "c5.large", Zone: "b"}, Price: "0.01"},
		at(1, "c5.large", "c", "0"),
	})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, b, "m5.large", "a", 0.03)
	expect(t, b, "m5.large", "b", 0.05)
	for _, zone := range []string{"a", "b", "c"} {
		expect(t, b, "c5.large", zone, 0)
	}
	expect(t, b, "m5.large", "c", 0)
}

func TestSpotThatFails(t *testing.T) {
	t.Attr("covers", "A262")
	b := book()
	for _, records := range [][]price.SpotRecord{nil, {at(1, "m5.large", "a", "NaN")}, {at(1, "m5.large", "a", "-1")}} {
		if err := b.RefreshSpot(records); err == nil {
			t.Errorf("%v is taken for prices", records)
		}
	}
	expect(t, b, "m5.large", "a", 0.1)
}

// TestOldSpotPricesExpire checks that a pool without new prices from EC2 loses its price, but not after the first answer without one.
func TestOldSpotPricesExpire(t *testing.T) {
	b := book()
	for i, want := range []float64{0.01, 0.01, 0} {
		records := []price.SpotRecord{at(i, "c5.large", "a", "0.02")}
		if i == 0 {
			records = append(records, at(i, "m5.large", "a", "0.01"))
		}
		if err := b.RefreshSpot(records); err != nil {
			t.Fatal(err)
		}
		expect(t, b, "m5.large", "a", want)
		expect(t, b, "c5.large", "a", 0.02)
	}
}

// TestSequence checks that the sequence number changes exactly when a price does.
func TestSequence(t *testing.T) {
	b := book()
	metal := map[string]float64{"m5.metal": 4}
	steps := []struct {
		name    string
		refresh func() error
		changes bool
	}{
		{"on-demand", func() error { return b.RefreshOnDemand(map[string]float64{"m5.large": 0.3}, metal) }, true},
		{"on-demand again", func() error { return b.RefreshOnDemand(map[string]float64{"m5.large": 0.3}, metal) }, false},
		{"spot", func() error {
			return b.RefreshSpot([]price.SpotRecord{at(0, "m5.large", "a", "0.01"), at(0, "c5.large", "a", "0.02")})
		}, true},
		{"spot again", func() error { return b.RefreshSpot([]price.SpotRecord{at(1, "m5.large", "a", "0.01")}) }, false},
		{"a spot price that expires", func() error { return b.RefreshSpot([]price.SpotRecord{at(2, "m5.large", "a", "0.01")}) }, true},
		{"another spot price", func() error { return b.RefreshSpot([]price.SpotRecord{at(3, "m5.large", "a", "0.03")}) }, true},
	}
	for _, step := range steps {
		before := b.Sequence()
		if err := step.refresh(); err != nil {
			t.Fatal(err)
		}
		if changed := b.Sequence() != before; changed != step.changes {
			t.Errorf("%s: the sequence number changes: %v", step.name, changed)
		}
	}
}
