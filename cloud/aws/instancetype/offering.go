package instancetype

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// reservedDiscount divides the on-demand price of prepaid capacity: cheaper than all others, but still in the order
// of size.
const reservedDiscount = 10_000_000

// The supported placement strategies.
const strategyPartition = "partition"

// Availability is the known prices and capacity of an instance type.
type Availability struct {
	// Zones are all zones in which EC2 offers instance types, sorted.
	Zones []string
	// TypeZones are the zones that offer the type.
	TypeZones []string
	// OnDemand is the price in dollars per hour; 0 when unknown.
	OnDemand float64
	// Spot is the price by zone; a missing zone has none.
	Spot map[string]float64
	// Overlay is a price that a NodeOverlay sets for a type without a price; 0 for none.
	Overlay float64
	// Exhausted reports pools that recently had insufficient capacity. Nil means none.
	Exhausted func(Pool) bool
	// ShiftedZoneIDs are the IDs of zones with an active zonal shift.
	ShiftedZoneIDs []string
	// ReservationCapacity is the remaining instance count of each reservation, by its ID.
	ReservationCapacity map[string]int
}

// Pool is a capacity pool: an instance type, capacity type and zone, optionally in a placement group or one of its partitions; for reserved
// capacity, of one reservation.
type Pool struct {
	CapacityType, Zone string
	// PlacementGroup and Partition are empty outside of placement groups.
	PlacementGroup, Partition string
	// Reservation is the ID of a capacity reservation; empty for other capacity, and for what holds for all reservations.
	Reservation string
}

// OfferingSource changes the offerings of a type: it gets the offerings of the sources before it, starting with the usual ones, and
// returns the new list. It must not modify its argument, and its result may be cached for minutes.
type OfferingSource func(in Input, have []cloud.Offering) []cloud.Offering

// offerings are the offerings of the type: those of EC2, as changed by further sources.
func (in *Input) offerings() []cloud.Offering {
	out := in.ownOfferings()
	for _, source := range in.Sources {
		out = source(*in, slices.Clip(out))
	}
	return out
}

// ownOfferings are the usual offerings by zone and capacity type, then those of reservations; in a partition group, each once for
// every partition.
func (in *Input) ownOfferings() []cloud.Offering {
	compatible := Compatible(&in.Description, &in.Class)
	out := slices.Concat(in.usualOfferings(compatible), in.reservedOfferings(compatible))
	group := in.Class.PlacementGroup
	if group == nil || group.Strategy != strategyPartition {
		return out
	}
	var split []cloud.Offering
	for _, o := range out {
		for partition := range group.Partitions {
			number := strconv.Itoa(partition + 1)
			part := o
			part.Requirements = append(slices.Clip(o.Requirements), cloud.In(awsv1.LabelPlacementGroupPartition, number))
			part.Available = o.Available && !in.exhausted(Pool{
				CapacityType: o.CapacityType(), Zone: o.Zone(), PlacementGroup: group.ID, Partition: number, Reservation: o.Label(awsv1.LabelCapacityReservationID),
			})
			split = append(split, part)
		}
	}
	return split
}

// usualOfferings are spot and on-demand in every zone.
func (in *Input) usualOfferings(compatible bool) []cloud.Offering {
	var out []cloud.Offering
	for _, zone := range in.Market.Zones {
		for _, capacityType := range []string{v1.CapacityTypeOnDemand, v1.CapacityTypeSpot} {
			if !slices.Contains(in.Description.UsageClasses, capacityType) {
				continue
			}
			price := in.price(capacityType, zone)
			out = append(out, cloud.Offering{
				Requirements: slices.Concat(in.place(capacityType, zone), []v1.NodeSelectorRequirementWithMinValues{
					cloud.DoesNotExist(awsv1.LabelCapacityReservationID),
					cloud.DoesNotExist(awsv1.LabelCapacityReservationType),
					cloud.DoesNotExist(awsv1.LabelCapacityReservationInterruptible),
				}),
				Price:     price,
				Available: compatible && price > 0 && in.zoneOpen(zone) && !in.exhaustedAnywhere(Pool{CapacityType: capacityType, Zone: zone}),
			})
		}
	}
	return out
}

// reservedOfferings are the reservations of the class for the type. A reservation without free capacity is available: it is healthy, and
// launchable again as soon as an instance ends.
func (in *Input) reservedOfferings(compatible bool) []cloud.Offering {
	var out []cloud.Offering
	for _, r := range in.Class.reservationsOf(in.Description.Name) {
		left := in.Market.ReservationCapacity[r.ID]
		kind := r.ReservationType
		if kind == "" {
			kind = awsv1.CapacityReservationTypeDefault
		}
		out = append(out, cloud.Offering{
			Requirements: slices.Concat(in.place(v1.CapacityTypeReserved, r.AvailabilityZone), []v1.NodeSelectorRequirementWithMinValues{
				cloud.In(awsv1.LabelCapacityReservationID, r.ID),
				cloud.In(awsv1.LabelCapacityReservationType, string(kind)),
				cloud.In(awsv1.LabelCapacityReservationInterruptible, strconv.FormatBool(r.Interruptible)),
			}),
			Price:               in.Market.OnDemand / reservedDiscount,
			ReservationCapacity: left,
			Available:           compatible && r.State != awsv1.CapacityReservationStateExpiring && in.zoneOpen(r.AvailabilityZone) && !in.reservationExhausted(r),
		})
	}
	return out
}

// place are the zone and capacity type labels of an offering; the zone's ID is present if the class has a subnet there.
func (in *Input) place(capacityType, zone string) []v1.NodeSelectorRequirementWithMinValues {
	out := []v1.NodeSelectorRequirementWithMinValues{
		cloud.In(v1.CapacityTypeLabelKey, capacityType), cloud.In(corev1.LabelTopologyZone, zone),
	}
	if id := in.Class.zoneID(zone); id != "" {
		out = append(out, cloud.In(awsv1.LabelZoneID, id))
	}
	return out
}

// price is the price of the type in a zone, or that of an overlay if EC2 has none; 0 without both.
func (in *Input) price(capacityType, zone string) float64 {
	price := in.Market.OnDemand
	if capacityType == v1.CapacityTypeSpot {
		price = in.Market.Spot[zone]
	}
	if price > 0 {
		return price
	}
	return in.Market.Overlay
}

// zoneOpen reports whether instances of the type can be launched in a zone: the zone offers it, the class has a subnet there,
// and the zone has no active zonal shift.
func (in *Input) zoneOpen(zone string) bool {
	return slices.Contains(in.Market.TypeZones, zone) && in.Class.hasZone(zone) &&
		!slices.Contains(in.Market.ShiftedZoneIDs, in.Class.zoneID(zone))
}

// exhaustedAnywhere reports whether the pool is exhausted, in general or in the class's placement group.
func (in *Input) exhaustedAnywhere(p Pool) bool {
	if in.exhausted(p) {
		return true
	}
	group := in.Class.PlacementGroup
	if group == nil {
		return false
	}
	p.PlacementGroup = group.ID
	return in.exhausted(p)
}

// reservationExhausted reports whether launches into a reservation failed recently, or launches of all reservations in its zone.
func (in *Input) reservationExhausted(r awsv1.CapacityReservation) bool {
	all := Pool{CapacityType: v1.CapacityTypeReserved, Zone: r.AvailabilityZone}
	one := all
	one.Reservation = r.ID
	return in.exhaustedAnywhere(all) || in.exhaustedAnywhere(one)
}

func (in *Input) exhausted(p Pool) bool { return in.Market.Exhausted != nil && in.Market.Exhausted(p) }
