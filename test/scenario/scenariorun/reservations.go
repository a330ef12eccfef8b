package scenariorun

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariofile"
)

// reservationLabel is the label that names the capacity reservation of a node.
const reservationLabel = "scenario.test/capacity-reservation-id"

// WithReservations is a cloud in which a scenario has capacity reservations. Their instances cost almost nothing.
func WithReservations(c cloud.Cloud, list []scenariofile.Reservation) cloud.Cloud {
	if len(list) == 0 {
		return c
	}
	c.Labels = c.Labels.With([]string{reservationLabel}, nil)
	c.ReservationIDLabel = reservationLabel
	c.Provider = reserving{c.Provider, list}
	return c
}

// reserving is a provider with capacity reservations.
type reserving struct {
	cloud.Provider
	reservations []scenariofile.Reservation
}

// InstanceTypes implements cloud.Provider.
func (p reserving) InstanceTypes(ctx context.Context, pool *v1.NodePool) ([]*cloud.InstanceType, error) {
	listed, err := p.Provider.InstanceTypes(ctx, pool)
	if err != nil {
		return nil, err
	}
	out := make([]*cloud.InstanceType, len(listed))
	found := 0
	for i, it := range listed {
		out[i] = it
		for _, r := range p.reservations {
			if r.InstanceType != it.Name {
				continue
			}
			found++
			if out[i] == it {
				changed := *it
				changed.Offerings = append([]cloud.Offering(nil), it.Offerings...)
				changed.Requirements = append(changed.Requirements[:len(changed.Requirements):len(changed.Requirements)], cloud.In(reservationLabel))
				out[i] = &changed
			}
			reserve(out[i], r)
		}
	}
	if found != len(p.reservations) {
		return nil, fmt.Errorf("%d of %d reservations are for instance types of the cloud", found, len(p.reservations))
	}
	return out, nil
}

// reserve adds the offering of a reservation to an instance type, whose requirements have the labels of all its offerings.
func reserve(it *cloud.InstanceType, r scenariofile.Reservation) {
	offering := cloud.Offering{
		Requirements: []v1.NodeSelectorRequirementWithMinValues{
			cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeReserved), cloud.In(corev1.LabelTopologyZone, r.Zone), cloud.In(reservationLabel, r.ID),
		},
		Price: it.Offerings[0].Price / 1e6, Available: !r.Unavailable, ReservationCapacity: r.Left,
	}
	requirements := append([]v1.NodeSelectorRequirementWithMinValues(nil), it.Requirements...)
	for i := range requirements {
		want := map[string]string{v1.CapacityTypeLabelKey: v1.CapacityTypeReserved, reservationLabel: r.ID}[requirements[i].Key]
		if want != "" {
			requirements[i].Values = append(requirements[i].Values[:len(requirements[i].Values):len(requirements[i].Values)], want)
		}
	}
	it.Requirements = requirements
	it.Offerings = append(it.Offerings, offering)
}
