package interruption_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/eventbridge"
	"github.com/karpenter-anew/karpenter/cloud/aws/unavailableofferings"
)

func sorted(all []string) []string { return slices.Sorted(slices.Values(all)) }

func TestInterruptionsTellOfCapacity(t *testing.T) {
	t.Attr("covers", "A336 N329 N332")
	outside := unavailableofferings.Offering{InstanceType: "m5.large", CapacityType: "spot", Zone: "us-east-1a"}
	inside := outside
	inside.PlacementGroup = "pg-1"
	for name, test := range map[string]struct {
		group         string
		short, others unavailableofferings.Offering
	}{"by itself": {"", outside, inside}, "in a placement group": {"pg-1", inside, outside}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.claim("i-1", func(c *v1.NodeClaim) {
				if test.group != "" {
					c.Labels[awsv1.LabelPlacementGroupID] = test.group
				}
			})
			w.send(w.spot("i-1"))
			w.poll()
			w.clock.Step(3*time.Minute - time.Second)
			if !w.UnavailableOfferings.IsUnavailable(test.short, nil) || w.UnavailableOfferings.IsUnavailable(test.others, nil) {
				t.Error("not marked, or too much")
			}
			w.clock.Step(2 * time.Second)
			if w.UnavailableOfferings.IsUnavailable(test.short, nil) {
				t.Error("marked for too long")
			}
		})
	}
	t.Run("in a reservation", func(t *testing.T) {
		w := newWorld(t)
		w.claim("i-1", func(c *v1.NodeClaim) { c.Labels[awsv1.LabelCapacityReservationID] = "cr-1" })
		w.send(w.event("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning", `{"instance-id":"i-1"}`))
		w.poll()
		taken := unavailableofferings.Offering{InstanceType: "m5.large", CapacityType: "reserved", Zone: "us-east-1a", Reservation: "cr-1"}
		sibling, other := taken, taken
		sibling.Reservation, other.Reservation = "cr-2", ""
		if !w.UnavailableOfferings.IsUnavailable(taken, nil) {
			t.Error("the reservation is not marked")
		}
		for _, p := range []unavailableofferings.Offering{outside, sibling, other} {
			if w.UnavailableOfferings.IsUnavailable(p, nil) {
				t.Errorf("%+v is marked as well", p)
			}
		}
	})
	t.Run("of others", func(t *testing.T) {
		w := newWorld(t)
		claim := w.claim("i-1", func(c *v1.NodeClaim) { c.Spec.NodeClassRef.Kind = "KWOKNodeClass" })
		w.send(w.spot("i-1"))
		w.poll()
		if w.going(claim) || w.UnavailableOfferings.IsUnavailable(outside, nil) || len(w.events.take()) != 0 {
			t.Error("claims of other clouds are not ours")
		}
	})
}

func TestForce(t *testing.T) {
	t.Attr("covers", "A338 N344")
	const deadline = v1.NodeClaimTerminationTimestampAnnotationKey
	w := newWorld(t)
	claim, slow := w.claim("i-1", nil), w.claim("i-2", nil)
	for _, kind := range []eventbridge.Kind{eventbridge.InstanceStatus, eventbridge.SystemStatus} {
		if err := w.Handle(t.Context(), eventbridge.Event{Kind: kind, InstanceIDs: []string{"i-1"}}); err != nil {
			t.Fatal(err)
		}
		w.clock.Step(time.Minute)
	}
	if got := w.read(claim); got.DeletionTimestamp.IsZero() || got.Annotations[deadline] != "2026-05-01T12:00:00Z" {
		t.Errorf("going since %v, deadline %q", got.DeletionTimestamp, got.Annotations[deadline])
	}
	// One that is going already goes faster.
	if err := w.client.Delete(t.Context(), slow); err != nil {
		t.Fatal(err)
	}
	if err := w.Handle(t.Context(), eventbridge.Event{Kind: eventbridge.InstanceStatus, InstanceIDs: []string{"i-2"}}); err != nil {
		t.Fatal(err)
	}
	if got := w.read(slow).Annotations[deadline]; got != "2026-05-01T12:02:00Z" {
		t.Errorf("deadline %q", got)
	}
	w.metrics(`# HELP karpenter_nodeclaims_disrupted_total NodeClaims whose deletion Karpenter started.
# TYPE karpenter_nodeclaims_disrupted_total counter
karpenter_nodeclaims_disrupted_total{capacity_type="spot",consolidation_policy="",nodepool="pool",reason="instance_status",termination_mode="graceful"} 1`,
		"karpenter_nodeclaims_disrupted_total")
}

func TestTheTerminationModeIsThatOfTheClaim(t *testing.T) {
	w := newWorld(t)
	w.claim("i-1", func(c *v1.NodeClaim) { c.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Hour} })
	w.send(w.state("i-1", "stopped"))
	w.poll()
	w.metrics(`# HELP karpenter_nodeclaims_disrupted_total NodeClaims whose deletion Karpenter started.
# TYPE karpenter_nodeclaims_disrupted_total counter
karpenter_nodeclaims_disrupted_total{capacity_type="spot",consolidation_policy="",nodepool="pool",reason="instance_stopped",termination_mode="eventual"} 1`,
		"karpenter_nodeclaims_disrupted_total")
}
