package catalog_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/quota"
)

var _ cloud.UnavailabilityReader = (*world)(nil)

// TestUnavailabilityOfOfferings: marks have an end and quotas have none, and nothing is said about offerings that are available.
func TestUnavailabilityOfOfferings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.mark(t, "D4s_v3", []string{v1.CapacityTypeSpot}, time.Hour, "1")
		described, _ := w.SKU("Standard_D2_v3")
		w.Quota.Refresh([]quota.Usage{{Name: described.Family, Limit: 1, Current: 1}})
		ask, err := w.Unavailability(t.Context(), &v1.NodePool{})
		if err != nil {
			t.Fatal(err)
		}
		marked, withoutQuota := 0, 0
		types := w.types(t, &v1beta1.AKSNodeClass{})
		for _, it := range types {
			for i := range it.Offerings {
				o := &it.Offerings[i]
				got := ask(it, o)
				switch {
				case o.Available && got != cloud.Unavailability{}, !o.Available && got.Why == "":
					t.Errorf("%s %s %s: available is %t, and %+v", it.Name, o.Zone(), o.CapacityType(), o.Available, got)
				case !got.Until.IsZero() && time.Until(got.Until) != time.Hour:
					t.Errorf("%s %s %s: until %s", it.Name, o.Zone(), o.CapacityType(), got.Until)
				case !got.Until.IsZero():
					marked++
				case !o.Available && o.CapacityType() == v1.CapacityTypeOnDemand:
					withoutQuota++
				}
			}
		}
		if of := named(types, "D4s_v3"); marked == 0 || withoutQuota == 0 || of == nil {
			t.Errorf("%d offerings are marked, %d have no quota", marked, withoutQuota)
		}
	})
}
