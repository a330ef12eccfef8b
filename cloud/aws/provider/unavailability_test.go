package provider_test

import (
	"testing"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/unavailableofferings"
)

// TestUnavailabilityOfOfferings: the cloud says until when an offering is unavailable, and nothing about others.
func TestUnavailabilityOfOfferings(t *testing.T) {
	w := newWorld(t, "m5.large", "c5.large")
	w.Catalog.UnavailableOfferings.MarkUnavailable(unavailableofferings.Offering{InstanceType: "m5.large", CapacityType: "spot", Zone: "us-east-1a"})
	end := w.Clock.Now().Add(unavailableofferings.MinDuration)
	pool := &v1.NodePool{}
	pool.Spec.Template.Spec.NodeClassRef = w.ref()
	ask, err := w.Cloud().Unavailability.Unavailability(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	for name, it := range w.list() {
		for i := range it.Offerings {
			o := &it.Offerings[i]
			got := ask(it, o)
			marked := name == "m5.large" && o.Zone() == "us-east-1a" && o.CapacityType() == "spot"
			switch {
			case o.Available && (!got.Until.IsZero() || got.Why != ""):
				t.Errorf("%s %s %s is available, and unavailable until %s: %s", name, o.Zone(), o.CapacityType(), got.Until, got.Why)
			case marked && (got.Until.Sub(end).Abs() > time.Minute || got.Why != unavailableofferings.ReasonCapacity):
				t.Errorf("the marked offering is unavailable until %s: %q, want %s", got.Until, got.Why, end)
			case marked:
				known++
			case !got.Until.IsZero():
				t.Errorf("%s %s %s has no mark, and ends at %s", name, o.Zone(), o.CapacityType(), got.Until)
			}
		}
	}
	if known != 1 {
		t.Errorf("%d offerings are marked", known)
	}
	if ask, err := w.Cloud().Unavailability.Unavailability(t.Context(), &v1.NodePool{}); err != nil || ask == nil {
		t.Errorf("a pool without a class: %v", err)
	}
}
