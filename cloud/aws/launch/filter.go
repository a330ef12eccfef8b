package launch

import (
	"cmp"
	"slices"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// reserved reports whether a candidate is in a reservation.
func reserved(c cloud.Candidate) bool { return c.Offering.CapacityType() == v1.CapacityTypeReserved }

// onDemand reports whether a candidate is bought at the ordinary price.
func onDemand(c cloud.Candidate) bool { return c.Offering.CapacityType() == v1.CapacityTypeOnDemand }

// kind is the kind of a reservation: a CreateFleet call takes one kind.
type kind struct{ reservation, interruptible string }

func kindOf(c cloud.Candidate) kind {
	return kind{c.Offering.Label(awsv1.LabelCapacityReservationType), c.Offering.Label(awsv1.LabelCapacityReservationInterruptible)}
}

// rank orders offerings of equal price: lasting capacity precedes capacity that ends, which precedes interruptible capacity.
func (k kind) rank() int {
	switch {
	case k.reservation == string(awsv1.CapacityReservationTypeCapacityBlock):
		return 1
	case k.interruptible == "true":
		return 2
	default:
		return 0
	}
}

// oneReservationKind keeps, if there are reserved offerings, only those of one kind: the kind with the cheapest.
func oneReservationKind(candidates []cloud.Candidate) []cloud.Candidate {
	all := keep(candidates, reserved)
	if len(all) == 0 {
		return candidates
	}
	best := slices.MinFunc(all, func(a, b cloud.Candidate) int {
		return cmp.Or(cmp.Compare(a.Offering.Price, b.Offering.Price), cmp.Compare(kindOf(a).rank(), kindOf(b).rank()))
	})
	return keep(all, func(c cloud.Candidate) bool { return kindOf(c) == kindOf(best) })
}

// oneCapacityBlock keeps of several capacity blocks the cheapest.
func oneCapacityBlock(candidates []cloud.Candidate) []cloud.Candidate {
	blocks := keep(candidates, func(c cloud.Candidate) bool {
		return reserved(c) && kindOf(c).reservation == string(awsv1.CapacityReservationTypeCapacityBlock)
	})
	if len(blocks) == 0 {
		return candidates
	}
	return []cloud.Candidate{slices.MinFunc(blocks, func(a, b cloud.Candidate) int { return cmp.Compare(a.Offering.Price, b.Offering.Price) })}
}

// largestReservations keeps, of the reservations of each instance type and zone, the one with the most capacity left.
func largestReservations(candidates []cloud.Candidate) []cloud.Candidate {
	type place struct{ name, zone string }
	best := map[place]cloud.Candidate{}
	for _, c := range candidates {
		if !reserved(c) {
			continue
		}
		at := place{c.Type.Name, c.Offering.Zone()}
		if have, ok := best[at]; !ok || c.Offering.ReservationCapacity > have.Offering.ReservationCapacity {
			best[at] = c
		}
	}
	if len(best) == 0 {
		return candidates
	}
	return keep(candidates, func(c cloud.Candidate) bool {
		return best[place{c.Type.Name, c.Offering.Zone()}].Offering == c.Offering
	})
}

// withoutExotic drops bare metal and accelerated types, unless there are no others.
func withoutExotic(candidates []cloud.Candidate) []cloud.Candidate {
	if usual := keep(candidates, func(c cloud.Candidate) bool { return !c.Type.Exotic }); len(usual) > 0 {
		return usual
	}
	return candidates
}

// withoutExpensiveSpot drops spot offerings that cost more than the cheapest on-demand one, where both are available.
func withoutExpensiveSpot(candidates []cloud.Candidate) []cloud.Candidate {
	ordinary := keep(candidates, onDemand)
	if len(ordinary) == 0 {
		return candidates
	}
	cheapest := slices.MinFunc(ordinary, func(a, b cloud.Candidate) int { return cmp.Compare(a.Offering.Price, b.Offering.Price) }).Offering.Price
	return keep(candidates, func(c cloud.Candidate) bool {
		return c.Offering.CapacityType() != v1.CapacityTypeSpot || c.Offering.Price <= cheapest
	})
}
