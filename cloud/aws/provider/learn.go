package provider

import (
	"context"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/fleet"
	"github.com/karpenter-anew/karpenter/cloud/aws/launch"
	"github.com/karpenter-anew/karpenter/cloud/aws/shortage"
)

// learn takes down what a launch showed of capacity, also when it succeeded in the end: pools that were refused are left alone for
// a while, the one that was not is not.
func (p *Provider) learn(ctx context.Context, class *awsv1.EC2NodeClass, order launch.Order, answer fleet.Answer) {
	group := onlyValue(order.Candidates[0].Type, awsv1.LabelPlacementGroupID)
	for _, f := range answer.Failures {
		if f.SubnetFull() {
			p.Addresses.Full(f.SubnetID)
			p.Shortages.MarkSubnet(f.SubnetID)
		}
		switch {
		case f.SpreadGroupFull():
			p.spreadGroupFull(order, group, f.Zone)
		case f.SpotRoleMissing():
			p.Shortages.MarkCapacityType(v1.CapacityTypeSpot)
		case !f.Unfulfillable():
		case order.CapacityType == v1.CapacityTypeReserved:
			p.reservationFull(order, f)
		default:
			pool := shortage.Pool{InstanceType: f.InstanceType, CapacityType: order.CapacityType, Zone: f.Zone, PlacementGroup: group}
			pause := p.Shortages.Mark(pool)
			logger(ctx).DebugContext(ctx, "removing offering from offerings", "reason", f.Code, "instance-type", f.InstanceType, "zone", f.Zone,
				"capacity-type", order.CapacityType, "ttl", pause.String(), "placement-group-id", group, "fleet-id", answer.FleetID, "EC2NodeClass", class.Name)
		}
	}
	if answer.InstanceID == "" {
		return
	}
	p.Shortages.Succeeded(shortage.Pool{InstanceType: answer.InstanceType, CapacityType: order.CapacityType, Zone: answer.Zone, PlacementGroup: group})
	if order.CapacityType == v1.CapacityTypeReserved {
		for _, c := range order.Candidates {
			if c.Type.Name == answer.InstanceType && c.Offering.Zone() == answer.Zone {
				p.Reservations.Launched(c.Offering.Label(awsv1.LabelCapacityReservationID), p.Clock.Now())
				return
			}
		}
	}
}

// spreadGroupFull leaves the group alone in a zone, whatever the type.
func (p *Provider) spreadGroupFull(order launch.Order, group, zone string) {
	for _, c := range order.Candidates {
		if c.Offering.Zone() == zone {
			p.Shortages.Mark(shortage.Pool{InstanceType: c.Type.Name, CapacityType: order.CapacityType, Zone: zone, PlacementGroup: group})
		}
	}
}

// reservationFull takes down that the reservation which a launch aimed at has no room.
func (p *Provider) reservationFull(order launch.Order, f fleet.Failure) {
	for _, c := range order.Candidates {
		if c.Type.Name == f.InstanceType && c.Offering.Zone() == f.Zone {
			p.Reservations.Exhausted(c.Offering.Label(awsv1.LabelCapacityReservationID))
		}
	}
}
