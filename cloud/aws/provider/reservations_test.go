package provider_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
)

// withReservations is a world whose class selects two reservations of m5.large in one zone, with two instances each.
func withReservations(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "m5.large")
	for _, id := range []string{"cr-1", "cr-2"} {
		w.account.AddReservation(awstest.Reservation{ID: id, InstanceType: "m5.large", Zone: "us-east-1b", Total: 2, Left: 2})
	}
	w.resolve(func(c *awsv1.EC2NodeClass) {
		c.Spec.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{ID: "cr-1"}, {ID: "cr-2"}}
	})
	return w
}

// reserved lists the reserved offerings: the reservation, its free capacity, and whether it is healthy.
func (w *world) reserved() string {
	w.t.Helper()
	types, err := w.InstanceTypes(w.t.Context(), w.pool)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, it := range types {
		for _, o := range it.Offerings {
			if o.CapacityType() == v1.CapacityTypeReserved {
				out = append(out, fmt.Sprintf("%s %d %t", o.Label(awsv1.LabelCapacityReservationID), o.ReservationCapacity, o.Available))
			}
		}
	}
	return strings.Join(out, ", ")
}

// TestFailedLaunchesIntoReservations: a full reservation is healthy, one that fails otherwise is unavailable for a while. Neither says
// anything about other reservations.
func TestFailedLaunchesIntoReservations(t *testing.T) {
	t.Attr("covers", "N329 N330 N331")
	one := []v1.NodeSelectorRequirementWithMinValues{cloud.In(v1.CapacityTypeLabelKey, "reserved"), cloud.In(awsv1.LabelCapacityReservationID, "cr-1")}
	for code, want := range map[string]string{
		"ReservationCapacityExceeded":                 "cr-1 0 true, cr-2 2 true",
		"InsufficientInstanceCapacity":                "cr-1 2 false, cr-2 2 true",
		"InvalidCapacityReservationState.Unavailable": "cr-1 2 false, cr-2 2 true",
	} {
		w := withReservations(t)
		if got := w.reserved(); got != "cr-1 2 true, cr-2 2 true" {
			t.Fatalf("before the launch: %s", got)
		}
		w.account.Refuse(awstest.Pool{}, awstest.Refusal{Code: code, Message: "no"})
		if _, err := w.Create(t.Context(), w.claim(one...)); !cloud.IsInsufficientCapacity(err) {
			t.Errorf("%s: %v", code, err)
		}
		if diff := cmp.Diff(want, w.reserved()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", code, diff)
		}
		w.account.Refill(awstest.Pool{})
		if got := w.create(w.claim(one[:1]...)).Labels[awsv1.LabelCapacityReservationID]; got != "cr-2" {
			t.Errorf("%s: the next launch is into %q", code, got)
		}
	}
}

// TestSlotsAreReturnedOnce: a NodeClaim is deleted until its instance does not exist, and again while its finalizer is pending.
func TestSlotsAreReturnedOnce(t *testing.T) {
	t.Attr("covers", "N332")
	w := withReservations(t)
	created := w.create(w.claim(cloud.In(v1.CapacityTypeLabelKey, "reserved"), cloud.In(awsv1.LabelCapacityReservationID, "cr-1")))
	gone := 0
	for range 8 {
		if err := w.Delete(t.Context(), created); cloud.IsNodeClaimNotFound(err) {
			gone++
		}
		w.clock.Step(time.Minute)
	}
	if left := w.Catalog.Reservations.Left("cr-1"); gone < 2 || left != 2 {
		t.Errorf("%d left after %d answers that the instance is gone", left, gone)
	}
}
