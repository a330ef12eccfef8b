package catalog_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/catalog"
	"github.com/karpenter-anew/karpenter/cloud/azure/choice"
	"github.com/karpenter-anew/karpenter/cloud/azure/inventory"
	"github.com/karpenter-anew/karpenter/cloud/azure/price"
	"github.com/karpenter-anew/karpenter/cloud/azure/quota"
	"github.com/karpenter-anew/karpenter/cloud/azure/unavailableofferings"
)

// A test that sleeps runs in a bubble of testing/synctest, where sleeping takes no time.

// mark makes a type unavailable for a while.
func (w *world) mark(t *testing.T, name string, capacityTypes []string, d time.Duration, zones ...string) {
	t.Helper()
	described, ok := w.SKU("Standard_" + name)
	if !ok {
		t.Fatalf("%s is not known", name)
	}
	m := unavailableofferings.Mark{InstanceType: choice.Identity(&described), CapacityTypes: capacityTypes, Duration: d}
	for _, z := range zones {
		if z != label.ZoneRegional {
			z = location + "-" + z
		}
		m.Zones = append(m.Zones, z)
	}
	w.UnavailableOfferings.Mark(m)
}

// TestChanges follows what is available through everything that changes it, with classes that differ and classes that do not.
func TestChanges(t *testing.T) {
	t.Attr("covers", "Z065 Z066 Z097 Z204 Z207")
	const all, onDemand, spot = "od 0 1 2 3 sp 0 1 2 3", "od 0 1 2 3", "sp 0 1 2 3"
	both, od := []string{v1.CapacityTypeSpot, v1.CapacityTypeOnDemand}, []string{v1.CapacityTypeOnDemand}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		expect := func(step, d2s, d4s, d2 string) {
			t.Helper()
			for _, class := range []*v1beta1.AKSNodeClass{{}, {}, {Spec: v1beta1.AKSNodeClassSpec{MaxPods: ptr.To[int32](50)}}} {
				types := w.types(t, class)
				got := []string{available(named(types, "D2s_v3")), available(named(types, "D4s_v3")), available(named(types, "D2_v3"))}
				if diff := cmp.Diff([]string{d2s, d4s, d2}, got); diff != "" {
					t.Errorf("%s (-want +got)\n%s", step, diff)
				}
			}
		}
		expect("at first", all, all, all)
		w.mark(t, "D4s_v3", both, time.Hour, "1")
		expect("a zone has failed", all, "od 0 2 3 sp 0 2 3", all)
		w.mark(t, "D2s_v3", od, 2*time.Hour, "1", "2", "3")
		expect("all zones of a smaller size have failed", "od 0 sp 0 1 2 3", "od 0 sp 0 2 3", all)
		w.mark(t, "D2s_v3", od, 2*time.Hour, "0")
		expect("regional placement has failed, too", spot, "sp 0 2 3", all)
		w.UnavailableOfferings.Mark(unavailableofferings.Mark{Spot: true, Duration: time.Hour})
		expect("spot has failed", "", "", onDemand)
		time.Sleep(time.Hour)
		expect("an hour later", spot, spot, all)
		time.Sleep(time.Hour)
		expect("two hours later", all, all, all)

		w.Quota.Refresh([]quota.Usage{{Name: "standardDSv3Family", Limit: 100, Current: 97}})
		expect("the quota has space for two vCPUs", all, spot, all)
		w.Quota.Refresh([]quota.Usage{{Name: "standardDSv3Family", Limit: 100, Current: 100}})
		expect("the quota is used up", spot, spot, all)
		w.UnavailableOfferings.Mark(unavailableofferings.Mark{Spot: true, Duration: time.Hour})
		expect("and spot has failed", "", "", onDemand)
		w.UnavailableOfferings.Flush()
		w.Quota.Refresh([]quota.Usage{{Name: "standardDSv3Family", Limit: 200, Current: 100}})
		expect("after the quota was raised", all, all, all)

		w.lister.skus = slices.Delete(w.lister.skus, 0, 1)
		if err := w.Inventory.RefreshSKUs(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := named(w.types(t, &v1beta1.AKSNodeClass{}), "B20ms"); got != nil {
			t.Errorf("a SKU that Azure does not list any more is listed: %v", got.Name)
		}
	})
}

// TestPrices checks that prices are those of the inventory, and that a refresh is seen.
func TestPrices(t *testing.T) {
	w := newWorld(t)
	expect := func(step, name string, onDemand, spot float64) {
		t.Helper()
		it := named(w.types(t, &v1beta1.AKSNodeClass{}), name)
		if offered(it, v1.CapacityTypeOnDemand) != onDemand || offered(it, v1.CapacityTypeSpot) != spot {
			t.Errorf("%s, %s costs %v and %v as spot, want %v and %v", step, name, offered(it, v1.CapacityTypeOnDemand), offered(it, v1.CapacityTypeSpot), onDemand, spot)
		}
	}
	expect("at first", "D2s_v3", 0.11, 0.11)
	*w.prices = priceList{
		{ARMSKUName: "Standard_D2s_v3", SKUName: "D2s v3", MeterName: "D2s v3", ProductName: "Virtual Machines DSv3 Series", Type: "Consumption", Primary: true, RetailPrice: 0.5},
		{ARMSKUName: "Standard_D2s_v3", SKUName: "D2s v3 Spot", MeterName: "D2s v3 Spot", ProductName: "Virtual Machines DSv3 Series", Type: "Consumption", Primary: true, RetailPrice: 0.02},
	}
	if err := w.Inventory.RefreshPrices(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect("after a refresh", "D2s_v3", 0.5, 0.02)
}

// TestCopies: what a caller does with the list concerns no other caller, and nothing is computed twice.
func TestCopies(t *testing.T) {
	t.Attr("covers", "Z064")
	w := newWorld(t)
	class, pods := &v1beta1.AKSNodeClass{}, &v1beta1.AKSNodeClass{Spec: v1beta1.AKSNodeClassSpec{MaxPods: ptr.To[int32](50)}}
	first := w.types(t, class)
	want := slices.Clone(first)
	slices.Reverse(first)
	first[0] = nil
	for range 2 {
		again := w.types(t, class)
		if !slices.Equal(again, want) { // the same instance types, not only equal ones
			t.Fatal("another caller sees a changed list, or instance types were computed once more")
		}
		again[0] = nil
	}
	other := w.types(t, pods)
	if len(other) != len(want) || slices.Equal(other, want) {
		t.Fatal("classes that differ share instance types")
	}
	if got := other[0].Capacity.Pods().Value(); got != 50 {
		t.Errorf("a class with 50 pods has nodes with %d", got)
	}
	if !slices.Equal(w.types(t, &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "equal"}}), want) {
		t.Error("classes whose instance types are equal do not share them")
	}
	names := make([]string, 0, len(want))
	for _, it := range want {
		names = append(names, it.Name)
	}
	if !slices.IsSorted(names) {
		t.Errorf("the order of instance types is %q", names)
	}
}

// TestPools checks which pools have instance types, and which have an event.
func TestPools(t *testing.T) {
	w := newWorld(t)
	w.classes["deleted"] = &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)}}}
	w.classes["unreadable"] = nil
	for _, test := range []struct {
		class    string
		notFound bool
		event    bool
		want     string // of the error; empty if there are instance types
	}{
		{"default", false, false, ""},
		{"missing", true, true, `getting aksnodeclass "missing"`},
		{"deleted", true, true, `"deleted" is terminating, treating as not found`},
		{"unreadable", false, false, "deadline exceeded"},
		{"", false, false, "names no node class"},
	} {
		w.events = nil
		pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "pool", UID: "uid"}}
		if test.class != "" {
			pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: v1beta1.Group, Kind: "AKSNodeClass", Name: test.class}
		}
		types, err := w.InstanceTypes(t.Context(), pool)
		switch {
		case test.want == "" && (err != nil || len(types) == 0):
			t.Errorf("class %q: %d instance types, %v", test.class, len(types), err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || apierrors.IsNotFound(err) != test.notFound || types != nil):
			t.Errorf("class %q: %v", test.class, err)
		case (len(w.events) == 1) != test.event || len(w.events) > 1:
			t.Errorf("class %q: events %v", test.class, w.events)
		}
	}
}

// TestNothingKnown: before SKUs are known, no class has an empty list.
func TestNothingKnown(t *testing.T) {
	c := catalog.New(catalog.Options{
		Inventory: inventory.New(location, &lister{}, nil), UnavailableOfferings: unavailableofferings.New(clock.RealClock{}), Quota: quota.New(clock.RealClock{}), Clock: clock.RealClock{},
	})
	if types, err := c.Types(t.Context(), &v1beta1.AKSNodeClass{}); !errors.Is(err, catalog.ErrNoTypes) || types != nil {
		t.Errorf("%v, %v", types, err)
	}
	if d, ok := c.SKU("Standard_D2s_v3"); ok {
		t.Errorf("a SKU is known: %v", d)
	}
}

func TestSKU(t *testing.T) {
	w := newWorld(t)
	for name, want := range map[string]int64{"Standard_B20ms": 20, "Standard_D2s_v3": 2, "Standard_NC6s_v3": 6, "Standard_D2s_v": 0, "": 0, "Standard_Z": 0} {
		if d, ok := w.SKU(name); ok != (want > 0) || d.VCPUs != want {
			t.Errorf("%s: %v, %v", name, d, ok)
		}
	}
}

// TestConcurrentUse lets the race detector see callers while everything changes.
func TestConcurrentUse(t *testing.T) {
	w := newWorld(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range int64(20) {
			w.mark(t, "D4s_v3", []string{v1.CapacityTypeSpot}, time.Duration(i+1)*time.Hour, "1")
			w.Quota.Refresh([]quota.Usage{{Name: "standardDSv3Family", Limit: 100, Current: i}})
			_ = w.Inventory.Prices().Refresh([]price.Item{{ARMSKUName: "Standard_D2s_v3", SKUName: "D2s v3", Type: "Consumption", Primary: true, RetailPrice: float64(i + 1)}})
		}
	}()
	for range 20 {
		w.types(t, &v1beta1.AKSNodeClass{})
	}
	<-done
	it := named(w.types(t, &v1beta1.AKSNodeClass{}), "D2s_v3")
	if offered(it, v1.CapacityTypeOnDemand) != 20 {
		t.Errorf("after all changes, the price is %v", offered(it, v1.CapacityTypeOnDemand))
	}
}
