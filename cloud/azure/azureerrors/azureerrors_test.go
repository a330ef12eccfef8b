package azureerrors_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/azureerrors"
	"github.com/karpenter-anew/karpenter/cloud/azure/unavailableofferings"
)

// A test that sleeps runs in a bubble of testing/synctest, where sleeping takes no time.

// zones are those of all types here.
var zones = []string{"southcentralus-1", "southcentralus-2", "southcentralus-3", "0"}

// sized is the type of the family Dsv3 with so many vCPUs.
func sized(name string, vcpus int) unavailableofferings.InstanceType {
	return unavailableofferings.InstanceType{Name: name, Family: "standardDSv3Family", VCPUs: vcpus}
}

var d2s = sized("Standard_D2s_v3", 2)

// attempt is a launch of the smallest type.
func attempt(capacityType, zone string) azureerrors.Attempt {
	return azureerrors.Attempt{InstanceType: d2s, Zones: slices.Clone(zones), CapacityType: capacityType, Zone: zone}
}

const (
	regionalQuota = "Operation could not be completed as it results in exceeding approved Total Regional Cores quota."
	familyQuota   = "Operation could not be completed as it results in exceeding approved standardDSv3Family Cores quota. Current Limit: "
	spotQuota     = "Operation could not be completed as it results in exceeding approved LowPriorityCores quota. Current Limit: 3"
)

// TestClassify holds errors against the offerings that they make unavailable.
//
// Source: Azure provider specification, conformance vectors.
func TestClassify(t *testing.T) {
	t.Attr("covers", "Z082 Z083 Z084 Z085 Z086 Z088 Z089 Z090 Z096")
	od, sp := []string{"on-demand"}, []string{"spot"}
	both := append(slices.Clone(od), sp...)
	zonal, one, regional := zones[:3], zones[1:2], zones[3:]
	mark := func(capacityTypes, zones []string, d time.Duration) unavailableofferings.Mark {
		return unavailableofferings.Mark{InstanceType: d2s, CapacityTypes: capacityTypes, Zones: zones, Duration: d}
	}
	nothing := unavailableofferings.Mark{}
	z2, spotZ2, region := attempt("on-demand", zones[1]), attempt("spot", zones[1]), attempt("on-demand", "0")
	for _, test := range []struct {
		code, message string
		attempt       azureerrors.Attempt
		request       bool
		want          unavailableofferings.Mark
		reason        string
	}{
		{"OperationNotAllowed", spotQuota, spotZ2, false, unavailableofferings.Mark{Spot: true, Duration: time.Hour}, "SubscriptionQuotaReached"},
		{"OperationNotAllowed", familyQuota + "24, Current Usage: 24", z2, false, mark(od, zones, 10*time.Minute), "SubscriptionQuotaReached"},
		{"OperationNotAllowed", familyQuota + "0, Current Usage: 0", z2, false, mark(od, zones, time.Hour), "SubscriptionQuotaReached"},
		{"SkuNotAvailable", "", z2, false, mark(od, zonal, 23*time.Hour), "SKUNotAvailable"},
		{"SkuNotAvailable", "", spotZ2, false, mark(sp, zonal, time.Hour), "SKUNotAvailable"},
		{"SkuNotAvailable", "", region, false, mark(od, regional, 23*time.Hour), "SKUNotAvailable"},
		{"ZonalAllocationFailed", "", z2, false, mark(both, one, time.Hour), "ZonalAllocationFailure"},
		{"AllocationFailed", "", z2, false, mark(both, zonal, time.Hour), "AllocationFailure"},
		{"AllocationFailed", "", region, false, mark(both, regional, time.Hour), "AllocationFailure"},
		{"OverconstrainedZonalAllocationRequest", "", z2, false, mark(od, one, time.Hour), "OverconstrainedZonalAllocationFailure"},
		{"OverconstrainedAllocationRequest", "", z2, false, mark(od, zonal, time.Hour), "OverconstrainedAllocationFailure"},
		{"OverconstrainedAllocationRequest", "", spotZ2, false, mark(sp, zonal, time.Hour), "OverconstrainedAllocationFailure"},
		{"OperationNotAllowed", regionalQuota, z2, false, nothing, "CreateInstanceFailed"},
		{"VMSizeNotSupported", "", z2, true, mark(both, zones, 23*time.Hour), "SKUNotAvailable"},
		{"BadRequest", "The VM size Standard_D2s_v3 is not supported for subscription S", z2, true, mark(both, zones, 23*time.Hour), "SKUNotAvailable"},
		{"BadRequest", "Something else", z2, true, nothing, "CreateInstanceFailed"},
		{"SkuNotAvailable", "", z2, true, nothing, "CreateInstanceFailed"},
		{"VMSizeNotSupported", "", z2, false, nothing, "CreateInstanceFailed"},
		{"OperationNotAllowed", "Something else", z2, false, nothing, "CreateInstanceFailed"},
		{"skunotavailable", "", z2, false, nothing, "CreateInstanceFailed"},
		{"InvalidParameter", spotQuota, z2, false, nothing, "CreateInstanceFailed"},
		{"Conflict", "", z2, false, nothing, "CreateInstanceFailed"},
		{"InvalidParameter", "", z2, false, nothing, "CreateInstanceFailed"},
		{"InternalServerError", "", z2, false, nothing, "CreateInstanceFailed"},
		{"TooManyRequests", "The request is being throttled", z2, false, nothing, "CreateInstanceFailed"},
		{"TooManyRequests", "The request is being throttled", z2, true, nothing, "CreateInstanceFailed"},
		{"", "context deadline exceeded", z2, false, nothing, "CreateInstanceFailed"},
	} {
		classify := azureerrors.Classify
		if test.request {
			classify = azureerrors.ClassifyRequest
		}
		got := classify(test.code, test.message, test.attempt)
		want := azureerrors.Failure{Reason: test.reason, Unavailable: test.want, InsufficientCapacity: test.message == regionalQuota}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %q, %s in %s (-want +got)\n%s", test.code, test.message, test.attempt.CapacityType, test.attempt.Zone, diff)
		}
	}
}

// TestFallback checks what is left to try after an error.
func TestFallback(t *testing.T) {
	t.Attr("covers", "Z091")
	synctest.Test(t, func(t *testing.T) {
		c := unavailableofferings.New(clock.RealClock{})
		d4s, d64s := sized("Standard_D4s_v3", 4), sized("Standard_D64s_v3", 64)
		fail := func(of unavailableofferings.InstanceType) {
			a := attempt("spot", zones[0])
			a.InstanceType = of
			c.Mark(azureerrors.Classify("ZonalAllocationFailed", "", a).Unavailable)
		}
		expect := func(step string, want ...unavailableofferings.InstanceType) {
			t.Helper()
			for _, it := range []unavailableofferings.InstanceType{d2s, d4s, d64s} {
				for _, capacityType := range []string{"spot", "on-demand"} {
					if got := c.IsUnavailable(it, capacityType, zones[0]); got != slices.Contains(want, it) {
						t.Errorf("%s: %s as %s is unavailable: %v", step, it.Name, capacityType, got)
					}
				}
				if c.IsUnavailable(it, "spot", zones[1]) || c.IsUnavailable(it, "spot", "0") {
					t.Errorf("%s: %s is unavailable elsewhere", step, it.Name)
				}
			}
		}
		fail(d64s)
		expect("after the largest type", d64s)
		fail(d4s)
		expect("after a smaller one", d4s, d64s)
		time.Sleep(time.Hour) // of the bubble's clock: no real time passes
		expect("after an hour")
	})
}

// TestError checks what the caller of a launch gets, and what users see.
func TestError(t *testing.T) {
	t.Attr("covers", "Z095 Z210")
	cause := errors.New("RESPONSE 409: " + regionalQuota)
	err := azureerrors.Classify("OperationNotAllowed", cause.Error(), attempt("on-demand", "0")).Error(cause)
	if !cloud.IsInsufficientCapacity(err) || !errors.Is(err, cause) {
		t.Errorf("the quota of the region: %v", err)
	}
	for _, test := range []struct {
		message, want string
	}{
		{"short", "short"},
		{strings.Repeat("x", 1199), strings.Repeat("x", 1199)},
		{strings.Repeat("x", 1200), strings.Repeat("x", 1200) + "..."},
		{strings.Repeat("x", 1300), strings.Repeat("x", 1200) + "..."},
		{strings.Repeat("x", 1198) + "€€", strings.Repeat("x", 1198) + "..."},
		{strings.Repeat("x", 1197) + "€€", strings.Repeat("x", 1197) + "€..."},
	} {
		cause := errors.New(test.message)
		failed, ok := cloud.AsCreateError(azureerrors.Classify("SkuNotAvailable", test.message, attempt("spot", "0")).Error(cause))
		if !ok || failed.Reason != "SKUNotAvailable" || failed.Message != test.want || !utf8.ValidString(failed.Message) || !errors.Is(failed, cause) {
			t.Errorf("a message of %d bytes: %+v", len(test.message), failed)
		}
	}
	if failed, ok := cloud.AsCreateError(azureerrors.Classify("Conflict", "", attempt("spot", "0")).Error(cause)); !ok || failed.Reason != "CreateInstanceFailed" {
		t.Errorf("another error: %+v", failed)
	}
}
