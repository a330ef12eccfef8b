package catalog

import (
	"context"
	"slices"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/unavailableofferings"
)

// Reasons of offerings that are not available for another reason than a failed launch; they have no end that is known.
const (
	reasonShift    = "the zone has an active zonal shift"
	reasonNoSubnet = "the node class has no subnet in the zone"
)

// Unavailability implements cloud.UnavailabilityReader.
func (c *Catalog) Unavailability(ctx context.Context, pool *v1.NodePool) (func(*cloud.InstanceType, *cloud.Offering) cloud.Unavailability, error) {
	nothing := func(*cloud.InstanceType, *cloud.Offering) cloud.Unavailability { return cloud.Unavailability{} }
	ref := pool.Spec.Template.Spec.NodeClassRef
	if ref == nil {
		return nothing, nil
	}
	class, err := c.ClassIfAny(ctx, ref.Name)
	if class == nil {
		return nothing, err
	}
	shifted := c.shiftedZones(class)
	return func(t *cloud.InstanceType, o *cloud.Offering) cloud.Unavailability {
		if o.Available {
			return cloud.Unavailability{}
		}
		var subnets, zoneIDs []string
		for _, s := range class.Status.Subnets {
			if s.Zone == o.Zone() {
				subnets, zoneIDs = append(subnets, s.ID), append(zoneIDs, s.ZoneID)
			}
		}
		switch {
		case len(subnets) == 0:
			return cloud.Unavailability{Why: reasonNoSubnet}
		case slices.ContainsFunc(zoneIDs, func(id string) bool { return slices.Contains(shifted, id) }):
			return cloud.Unavailability{Why: reasonShift}
		}
		return c.marked(t, o, subnets)
	}, nil
}

// marked is the mark of an offering that lasts longest: for the offering, or for a part of it that makes it unavailable as a whole.
func (c *Catalog) marked(t *cloud.InstanceType, o *cloud.Offering, subnets []string) cloud.Unavailability {
	group := ""
	for _, r := range t.Requirements {
		if r.Key == awsv1.LabelPlacementGroupID && len(r.Values) == 1 {
			group = r.Values[0]
		}
	}
	var out cloud.Unavailability
	reservation, partition := o.Label(awsv1.LabelCapacityReservationID), o.Label(awsv1.LabelPlacementGroupPartition)
	for _, id := range slices.Compact([]string{"", reservation}) {
		for _, in := range slices.Compact([][2]string{{}, {group}, {group, partition}}) {
			until, why := c.UnavailableOfferings.Unavailable(unavailableofferings.Offering{
				InstanceType: t.Name, CapacityType: o.CapacityType(), Zone: o.Zone(), PlacementGroup: in[0], Partition: in[1], Reservation: id,
			}, subnets)
			if until.After(out.Until) {
				out = cloud.Unavailability{Until: until, Why: why}
			}
		}
	}
	return out
}
