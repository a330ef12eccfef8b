package quota_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	"pgregory.net/rapid"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/quota"
	"github.com/karpenter-anew/karpenter/cloud/azure/size"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
)

// Tests that sleep run in a bubble of testing/synctest, where sleeping takes no time.

const dsv3 = "standardDSv3Family"

// dsv3Usage is a usage of the family of the sizes in the tests.
func dsv3Usage(limit, current int64) []quota.Usage {
	return []quota.Usage{{Name: "cores", Limit: 0, Current: 0}, {Name: dsv3, Limit: limit, Current: current}}
}

// available are the capacity types of a size of the family that can be launched, given a quota.
func available(t *testing.T, q *quota.Quota, name string, vcpus int64) []string {
	t.Helper()
	it, ok := instancetype.Resolve(instancetype.Input{
		SKU: sku.Description{
			Name: name, Family: dsv3, Size: size.Size{Family: "D", VCPUs: int(vcpus), Features: "s", Version: "3"}, VCPUs: vcpus, MemoryGiB: float64(4 * vcpus),
			Architecture: "amd64", HyperVGenerations: []string{"2"}, Spot: true,
		},
		Class:    instancetype.ClassOf(&v1beta1.AKSNodeClass{}, instancetype.Network{Plugin: "azure", Mode: "overlay"}),
		Settings: instancetype.Settings{Location: "southcentralus"},
		Market:   instancetype.Market{QuotaExceeded: q.Exceeded(dsv3, vcpus)},
	})
	if !ok {
		t.Fatalf("%s is not compatible with the class", name)
	}
	var out []string
	for i := range it.Offerings {
		if o := &it.Offerings[i]; o.Available {
			out = append(out, o.CapacityType())
		}
	}
	return out
}

// TestAvailableOfferings holds on-demand and spot offerings against the conformance vectors.
//
// Source: Azure provider specification, conformance vectors.
func TestAvailableOfferings(t *testing.T) {
	t.Attr("covers", "Z066 Z067 Z068 Z198")
	refreshed := func(usages []quota.Usage) func(*quota.Quota) { return func(q *quota.Quota) { q.Refresh(usages) } }
	for _, test := range []struct {
		what     string
		do       func(*quota.Quota)
		d2s, d4s bool // on-demand is available
	}{
		{"4 vCPUs are left", refreshed(dsv3Usage(100, 96)), true, true},
		{"3 vCPUs are left", refreshed(dsv3Usage(100, 97)), true, false},
		{"2 vCPUs are left", refreshed(dsv3Usage(100, 98)), true, false},
		{"1 vCPU is left", refreshed(dsv3Usage(100, 99)), false, false},
		{"no quota", refreshed(dsv3Usage(0, 0)), false, false},
		{"more is used than allowed", refreshed(dsv3Usage(10, 100)), false, false},
		{"the family is absent", refreshed([]quota.Usage{{Name: "cores"}, {Name: "standardDv3Family"}}), true, true},
		{"no usages at all", refreshed(nil), true, true},
		{"another spelling", refreshed([]quota.Usage{{Name: "StandardDSv3Family", Limit: 100, Current: 100}}), false, false},
		{"no refresh yet", func(*quota.Quota) {}, true, true},
		{"no refresh has succeeded yet", func(q *quota.Quota) { q.RefreshFailed() }, true, true},
		{"a failed refresh after 16 minutes", func(q *quota.Quota) {
			q.Refresh(dsv3Usage(0, 0))
			time.Sleep(16 * time.Minute) // of the bubble's clock: no real time passes
			q.RefreshFailed()
		}, true, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := quota.New(clock.RealClock{})
			test.do(q)
			for _, of := range []struct {
				name     string
				vcpus    int64
				onDemand bool
			}{{"Standard_D2s_v3", 2, test.d2s}, {"Standard_D4s_v3", 4, test.d4s}} {
				want := []string{"spot"}
				if of.onDemand {
					want = []string{"on-demand", "spot"}
				}
				if got := available(t, q, of.name, of.vcpus); !slices.Equal(got, want) {
					t.Errorf("%s: of %s, %q are available, want %q", test.what, of.name, got, want)
				}
			}
		})
	}
}

func TestNamesOfFamilies(t *testing.T) {
	t.Attr("covers", "Z198")
	q := quota.New(clock.RealClock{})
	q.Refresh([]quota.Usage{{Name: "Standard NCASv3_T4 Family", Limit: 16, Current: 0}, {Name: "standardDSv3Family", Limit: 4, Current: 4}})
	for _, test := range []struct {
		family string
		vcpus  int64
		want   bool
	}{
		{"Standard NCASv3_T4 Family", 16, false},
		{"Standard NCASv3_T4 Family", 64, true},
		{"standard ncasv3_t4 family", 64, true},
		{"StandardNCASv3_T4Family", 64, false}, // blanks belong to the name
		{"StandardDSv3Family", 2, true},
		{"", 2, false},
	} {
		if got := q.Exceeded(test.family, test.vcpus); got != test.want {
			t.Errorf("the quota of %q for %d vCPUs: exceeded is %v", test.family, test.vcpus, got)
		}
	}
}

// TestSpellingsOfOneFamily checks that the order in which Azure lists two spellings does not matter.
func TestSpellingsOfOneFamily(t *testing.T) {
	usages := []quota.Usage{{Name: dsv3, Limit: 100, Current: 0}, {Name: "StandardDSv3Family", Limit: 10, Current: 9}, {Name: "STANDARDDSV3FAMILY", Limit: 11, Current: 10}}
	q := quota.New(clock.RealClock{})
	rapid.Check(t, func(r *rapid.T) {
		q.Refresh(rapid.Permutation(usages).Draw(r, "usages"))
		if !q.Exceeded(dsv3, 2) || q.Exceeded(dsv3, 1) || q.Sequence() != 1 {
			r.Fatalf("the usage with the least left does not count, or the order changes the sequence number, which is %d", q.Sequence())
		}
	})
}

// TestRefreshes follows the usages and the sequence number through successful and failed refreshes.
func TestRefreshes(t *testing.T) {
	t.Attr("covers", "Z069 Z070")
	synctest.Test(t, func(t *testing.T) {
		q := quota.New(clock.RealClock{})
		expect := func(step string, exceeded bool, sequence uint64) {
			t.Helper()
			if got := q.Exceeded(dsv3, 4); got != exceeded {
				t.Errorf("%s: exceeded is %v", step, got)
			}
			if got := q.Sequence(); got != sequence {
				t.Errorf("%s: the sequence number is %d, want %d", step, got, sequence)
			}
		}
		fail := func(want bool) {
			t.Helper()
			if got := q.RefreshFailed(); got != want {
				t.Errorf("a failed refresh: discarded is %v", got)
			}
		}
		fail(false)
		expect("after a failure at the start", false, 0)
		q.Refresh(nil)
		expect("after a refresh without usages", false, 0)
		time.Sleep(time.Hour) // of the bubble's clock: no real time passes
		fail(false)
		expect("after a failure without usages", false, 0)
		q.Refresh(dsv3Usage(100, 97))
		expect("after a refresh", true, 1)
		time.Sleep(10 * time.Minute) // of the bubble's clock: no real time passes
		q.Refresh(dsv3Usage(100, 97))
		expect("after a refresh without a change", true, 1)
		time.Sleep(15 * time.Minute) // of the bubble's clock: no real time passes
		fail(false)
		expect("after a failure 15 minutes later", true, 1)
		time.Sleep(time.Nanosecond) // of the bubble's clock: no real time passes
		expect("before the next failure", true, 1)
		fail(true)
		expect("after a failure more than 15 minutes later", false, 2)
		time.Sleep(time.Hour) // of the bubble's clock: no real time passes
		fail(false)
		expect("after another failure", false, 2)
		q.Refresh(dsv3Usage(100, 97))
		expect("after the recovery", true, 3)
		q.Refresh(dsv3Usage(200, 97))
		expect("after another limit", false, 4)
		q.Refresh(dsv3Usage(200, 197))
		expect("after another usage", true, 5)
		q.Refresh(nil)
		expect("after the family is gone", false, 6)
	})
}

// TestConcurrentUse lets the race detector see readers and refreshes at the same time.
func TestConcurrentUse(t *testing.T) {
	q := quota.New(clock.RealClock{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range int64(100) {
			q.Refresh(dsv3Usage(100, i))
			q.RefreshFailed()
		}
	}()
	last := uint64(0)
	for range 100 {
		now := q.Sequence()
		if now < last || q.Exceeded(dsv3, 0) {
			t.Fatal("the sequence number fell, or a quota that is not used up is exceeded")
		}
		last = now
	}
	<-done
	if q.Sequence() != 100 || !q.Exceeded(dsv3, 2) {
		t.Errorf("after 100 different refreshes, the sequence number is %d", q.Sequence())
	}
}
