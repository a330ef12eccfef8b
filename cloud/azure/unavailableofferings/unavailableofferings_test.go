package unavailableofferings_test

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	"pgregory.net/rapid"

	"github.com/karpenter-anew/karpenter/cloud/azure/unavailableofferings"
)

// Tests that sleep run in a bubble of testing/synctest, where sleeping takes no time.

// sized is the type of a family with so many vCPUs.
func sized(name string, vcpus int) unavailableofferings.InstanceType {
	return unavailableofferings.InstanceType{Name: name, Family: "standardDSv3Family", VCPUs: vcpus}
}

var d2s, d4s, d64s = sized("Standard_D2s_v3", 2), sized("Standard_D4s_v3", 4), sized("Standard_D64s_v3", 64)

// marked marks a type with a capacity type in a zone.
func marked(t unavailableofferings.InstanceType, capacityType, zone string, d time.Duration) unavailableofferings.Mark {
	return unavailableofferings.Mark{InstanceType: t, CapacityTypes: []string{capacityType}, Zones: []string{zone}, Duration: d}
}

// TestSequence holds the sequence number against the steps of the specification.
//
// Source: Azure provider specification, conformance vectors.
func TestSequence(t *testing.T) {
	t.Attr("covers", "Z094")
	synctest.Test(t, func(t *testing.T) {
		c := unavailableofferings.New(clock.RealClock{})
		expect := func(step string, want uint64) {
			t.Helper()
			if got := c.Sequence(); got != want {
				t.Errorf("%s: the sequence number is %d, want %d", step, got, want)
			}
		}
		expect("at the start", 0)
		c.Mark(marked(d2s, "on-demand", "southcentralus-2", time.Hour))
		expect("after a mark", 1)
		c.Mark(marked(d2s, "on-demand", "southcentralus-2", time.Hour))
		expect("after the same mark", 1)
		c.Mark(marked(d4s, "on-demand", "southcentralus-2", time.Hour))
		expect("after a mark of a larger type of the family", 1)
		c.Mark(unavailableofferings.Mark{Spot: true, Duration: 2 * time.Hour})
		expect("after a mark of all spot capacity", 2)
		c.Mark(unavailableofferings.Mark{Spot: true, Duration: 2 * time.Hour})
		expect("after the same mark", 2)
		c.Mark(unavailableofferings.Mark{})
		expect("after a mark of nothing", 2)
		time.Sleep(time.Hour - time.Nanosecond)
		expect("before the marks end", 2)
		time.Sleep(time.Nanosecond)
		expect("after two marks of types and two of the family ended", 6)
		if c.IsUnavailable(d2s, "on-demand", "southcentralus-2") || !c.IsUnavailable(d2s, "spot", "southcentralus-2") {
			t.Error("the marks did not end, or that of spot capacity did")
		}
		c.Flush()
		expect("after a flush", 7)
		if c.IsUnavailable(d2s, "spot", "southcentralus-2") {
			t.Error("a flush left a mark")
		}
		time.Sleep(24 * time.Hour)
		expect("a day after a flush", 7)
	})
}

// TestScope checks what a mark makes unavailable.
func TestScope(t *testing.T) {
	t.Attr("covers", "Z091")
	c := unavailableofferings.New(clock.RealClock{})
	c.Mark(marked(d4s, "spot", "z1", time.Hour))
	other := unavailableofferings.InstanceType{Name: "Standard_E4s_v3", Family: "standardESv3Family", VCPUs: 4}
	spelled := unavailableofferings.InstanceType{Name: "Standard_D8s_v3", Family: "StandardDSv3FAMILY", VCPUs: 8}
	alone := unavailableofferings.InstanceType{Name: "Standard_X4", VCPUs: 4}
	for _, test := range []struct {
		what               string
		instanceType       unavailableofferings.InstanceType
		capacityType, zone string
		want               bool
	}{
		{"the type", d4s, "spot", "z1", true},
		{"a larger type", d64s, "spot", "z1", true},
		{"a larger type with another spelling of the family", spelled, "spot", "z1", true},
		{"a smaller type", d2s, "spot", "z1", false},
		{"another zone", d4s, "spot", "z2", false},
		{"regional placement", d4s, "spot", "0", false},
		{"another capacity type", d4s, "on-demand", "z1", false},
		{"another family", other, "spot", "z1", false},
		{"no family", alone, "spot", "z1", false},
	} {
		if got := c.IsUnavailable(test.instanceType, test.capacityType, test.zone); got != test.want {
			t.Errorf("%s: unavailable is %v", test.what, got)
		}
	}
	c.Mark(marked(alone, "spot", "z1", time.Hour))
	if !c.IsUnavailable(alone, "spot", "z1") || c.IsUnavailable(unavailableofferings.InstanceType{Name: "Standard_Y8", VCPUs: 8}, "spot", "z1") {
		t.Error("a type without a family is not marked, or other types without one are")
	}
	c.Mark(unavailableofferings.Mark{Spot: true})
	if !c.IsUnavailable(other, "spot", "z9") || c.IsUnavailable(other, "on-demand", "z9") {
		t.Error("a mark of all spot capacity does not hold for all spot capacity, or holds for other capacity")
	}
}

// TestMarksAreNeverWeakened checks that later marks neither shorten earlier ones nor prolong those of other sizes.
func TestMarksAreNeverWeakened(t *testing.T) {
	t.Attr("covers", "Z092 Z203")
	synctest.Test(t, func(t *testing.T) {
		c := unavailableofferings.New(clock.RealClock{})
		c.Mark(marked(d2s, "on-demand", "z1", 23*time.Hour))
		time.Sleep(time.Hour)
		c.Mark(marked(d2s, "on-demand", "z1", 10*time.Minute))
		time.Sleep(22*time.Hour - time.Nanosecond)
		if !c.IsUnavailable(d2s, "on-demand", "z1") || !c.IsUnavailable(d4s, "on-demand", "z1") {
			t.Error("a mark of 10 minutes shortened one of 23 hours")
		}
		time.Sleep(time.Nanosecond)
		if c.IsUnavailable(d2s, "on-demand", "z1") || c.IsUnavailable(d4s, "on-demand", "z1") {
			t.Error("the mark of 23 hours did not end")
		}
	})
	for _, order := range [][]unavailableofferings.Mark{
		{marked(d4s, "spot", "z1", 10*time.Minute), marked(d64s, "spot", "z1", time.Hour)},
		{marked(d64s, "spot", "z1", time.Hour), marked(d4s, "spot", "z1", 10*time.Minute)},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := unavailableofferings.New(clock.RealClock{})
			for _, m := range order {
				c.Mark(m)
			}
			d8s := sized("Standard_D8s_v3", 8)
			if c.IsUnavailable(d2s, "spot", "z1") || !c.IsUnavailable(d8s, "spot", "z1") {
				t.Error("not all types from 4 vCPUs on are unavailable at first")
			}
			time.Sleep(10 * time.Minute)
			if c.IsUnavailable(d4s, "spot", "z1") || c.IsUnavailable(d8s, "spot", "z1") || !c.IsUnavailable(d64s, "spot", "z1") {
				t.Error("not only types from 64 vCPUs on are unavailable after 10 minutes")
			}
			time.Sleep(50 * time.Minute)
			if c.IsUnavailable(d64s, "spot", "z1") {
				t.Error("a type is unavailable after an hour")
			}
		})
	}
}

// TestAgainstAllMarks compares the cache with a list of all marks that were made.
func TestAgainstAllMarks(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		synctest.Test(t, func(*testing.T) {
			c := unavailableofferings.New(clock.RealClock{})
			types := []unavailableofferings.InstanceType{d2s, d4s, d64s}
			type made struct {
				unavailableofferings.Mark
				end time.Time
			}
			var all []made
			before := map[string]bool{}
			sequence := uint64(0)
			for range rapid.IntRange(1, 20).Draw(r, "steps") {
				if rapid.Bool().Draw(r, "sleep") {
					time.Sleep(time.Duration(rapid.IntRange(1, 40).Draw(r, "minutes")) * time.Minute)
				} else {
					m := marked(types[rapid.IntRange(0, 2).Draw(r, "type")], rapid.SampledFrom([]string{"spot", "on-demand"}).Draw(r, "capacity type"),
						rapid.SampledFrom([]string{"z1", "0"}).Draw(r, "zone"), time.Duration(rapid.IntRange(1, 60).Draw(r, "duration"))*time.Minute)
					m.Spot = rapid.IntRange(0, 9).Draw(r, "spot") == 0
					c.Mark(m)
					all = append(all, made{m, time.Now().Add(m.Duration)})
				}
				now, moved := map[string]bool{}, c.Sequence() > sequence
				sequence = c.Sequence()
				for _, it := range types {
					for _, capacityType := range []string{"spot", "on-demand"} {
						for _, zone := range []string{"z1", "0"} {
							want := false
							for _, m := range all {
								covers := m.Spot && capacityType == "spot" || !m.Spot && m.InstanceType.VCPUs <= it.VCPUs && m.CapacityTypes[0] == capacityType && m.Zones[0] == zone
								want = want || covers && m.end.After(time.Now())
							}
							key := it.Name + capacityType + zone
							if now[key] = c.IsUnavailable(it, capacityType, zone); now[key] != want {
								r.Fatalf("%s: unavailable is %v, want %v", key, now[key], want)
							}
							if now[key] != before[key] && !moved {
								r.Fatalf("%s: the sequence number did not move", key)
							}
						}
					}
				}
				before = now
			}
		})
	})
}

// TestUntil checks that the end is that of the mark which lasts longest: of the type, of smaller types of its family, or of all spot capacity.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := unavailableofferings.New(clock.RealClock{})
		left := func(of unavailableofferings.InstanceType, capacityType string) time.Duration {
			until := c.Until(of, capacityType, "eastus-1")
			if c.IsUnavailable(of, capacityType, "eastus-1") == until.IsZero() {
				t.Errorf("%s %s: until %s", of.Name, capacityType, until)
			}
			if until.IsZero() {
				return 0
			}
			return time.Until(until)
		}
		c.Mark(unavailableofferings.Mark{InstanceType: d4s, CapacityTypes: []string{"spot", "on-demand"}, Zones: []string{"eastus-1"}, Duration: time.Hour})
		c.Mark(unavailableofferings.Mark{InstanceType: d64s, CapacityTypes: []string{"on-demand"}, Zones: []string{"eastus-1"}, Duration: 2 * time.Hour})
		if a, b, e := left(d2s, "on-demand"), left(d4s, "on-demand"), left(d64s, "on-demand"); a != 0 || b != time.Hour || e != 2*time.Hour {
			t.Errorf("ends in %s, %s, %s", a, b, e)
		}
		c.Mark(unavailableofferings.Mark{Spot: true, Duration: 3 * time.Hour})
		if a, b := left(d2s, "spot"), left(d64s, "spot"); a != 3*time.Hour || b != 3*time.Hour {
			t.Errorf("spot ends in %s, %s", a, b)
		}
		time.Sleep(2 * time.Hour)
		if a, b := left(d4s, "on-demand"), left(d4s, "spot"); a != 0 || b != time.Hour {
			t.Errorf("after two hours: ends in %s, %s", a, b)
		}
	})
}
