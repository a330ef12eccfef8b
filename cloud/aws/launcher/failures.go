package launcher

import (
	"context"
	"slices"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awserrors"
	"github.com/karpenter-anew/karpenter/cloud/aws/awsfield"
	"github.com/karpenter-anew/karpenter/cloud/aws/fleet"
	"github.com/karpenter-anew/karpenter/cloud/aws/launch"
	"github.com/karpenter-anew/karpenter/cloud/aws/request"
	"github.com/karpenter-anew/karpenter/cloud/aws/subnet"
	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/cloud/aws/unavailableofferings"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// attempt is a requested launch.
type attempt struct {
	claim  *v1.NodeClaim
	class  *awsv1.EC2NodeClass
	order  launch.Order
	choice subnet.Choice
}

// zoneID is the id of a zone where the launch has a subnet; empty elsewhere.
func (a *attempt) zoneID(zone string) string {
	for _, s := range a.choice.Subnets {
		if s.Zone == zone {
			return s.ZoneID
		}
	}
	return ""
}

// recordFailures records what a launch shows about capacity, also when it succeeded: offerings that failed become unavailable for a while,
// the one that was launched becomes available. A launch that was shared by several NodeClaims can be both: it got some instances, then
// capacity ran out. In a partition placement group, a failure is about the requested partition, or about all. Of reserved capacity, a failure
// is about one reservation: if it is full, its count is corrected, and any other failure makes its offering unavailable.
func (l *Launcher) recordFailures(ctx context.Context, a *attempt, answer fleet.Result) {
	order := a.order
	scope := unavailableofferings.Offering{CapacityType: order.CapacityType, PlacementGroup: request.OnlyValue(order.Candidates[0].Type, awsv1.LabelPlacementGroupID)}
	if scope.PlacementGroup != "" {
		scope.Partition = order.Partition
	}
	for _, f := range answer.Failures {
		if answer.First {
			l.Metrics.LaunchFailures.WithLabelValues(f.Zone, a.zoneID(f.Zone), order.CapacityType, awserrors.ReasonOf(f.Code+": "+f.Message).Reason).Inc()
		}
		if f.SubnetFull() {
			l.Addresses.Full(f.SubnetID)
			l.UnavailableOfferings.MarkSubnetFull(f.SubnetID)
		}
		switch {
		case f.SpreadGroupFull():
			l.spreadGroupFull(order, scope.PlacementGroup, f.Zone)
		case f.SpotRoleMissing():
			l.UnavailableOfferings.MarkCapacityTypeUnavailable(v1.CapacityTypeSpot)
			l.Publish(telemetry.SpotRoleMissing(a.claim))
		case !f.Unfulfillable():
		case f.ReservationFull() && order.CapacityType == v1.CapacityTypeReserved:
			l.Reservations.Exhausted(reservationOf(order, f.InstanceType, f.Zone))
		default:
			pool := scope
			pool.InstanceType, pool.Zone, pool.Reservation = f.InstanceType, f.Zone, reservationOf(order, f.InstanceType, f.Zone)
			pause := l.UnavailableOfferings.MarkUnavailable(pool)
			observe.Log(ctx).DebugContext(ctx, "removing offering from offerings", logfield.Reason(f.Code), logfield.InstanceType(f.InstanceType), logfield.Zone(f.Zone),
				logfield.CapacityType(order.CapacityType), awsfield.TTL(pause), awsfield.PlacementGroupID(pool.PlacementGroup), awsfield.PlacementGroupPartition(pool.Partition), awsfield.CapacityReservationID(pool.Reservation),
				awsfield.FleetID(answer.FleetID), awsfield.EC2NodeClass(a.class.Name))
		}
	}
	if answer.InstanceID == "" {
		return
	}
	if !slices.ContainsFunc(answer.Failures, func(f fleet.Failure) bool { return f.InstanceType == answer.InstanceType && f.Zone == answer.Zone }) {
		scope.InstanceType, scope.Zone, scope.Reservation = answer.InstanceType, answer.Zone, reservationOf(order, answer.InstanceType, answer.Zone)
		l.UnavailableOfferings.MarkAvailable(scope)
	}
	if held := reservationOf(order, answer.InstanceType, answer.Zone); held != "" {
		l.Reservations.Launched(held, l.Clock.Now())
	}
}

// spreadGroupFull marks the placement group in a zone as unavailable, for all types.
func (l *Launcher) spreadGroupFull(order launch.Order, group, zone string) {
	for _, c := range order.Candidates {
		if c.Offering.Zone() == zone {
			l.UnavailableOfferings.MarkUnavailable(unavailableofferings.Offering{InstanceType: c.Type.Name, CapacityType: order.CapacityType, Zone: zone, PlacementGroup: group})
		}
	}
}

// reservationOf is the ID of the reservation that an order names for an instance type and zone; empty if there is none. There is one at
// most: an order has the largest reservation of each.
func reservationOf(order launch.Order, instanceType, zone string) string {
	for _, c := range order.Candidates {
		if c.Type.Name == instanceType && c.Offering.Zone() == zone {
			return c.Offering.Label(awsv1.LabelCapacityReservationID)
		}
	}
	return ""
}
