package periodic

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// Offerings publishes metrics of offerings and their prices. Make one with NewOfferings.
//
// The metrics are collected as a whole periodically, and read by scrapes: metrics of a removed offering disappear
// with it.
type Offerings struct {
	options OfferingsOptions
	shown   atomic.Pointer[map[pool]offer]
}

// OfferingsOptions configure Offerings.
type OfferingsOptions struct {
	// Types lists the instance types of a NodePool.
	Types  func(context.Context, *v1.NodePool) ([]*cloud.InstanceType, error)
	Client client.Client
	// Manages reports whether a NodePool belongs to this provider.
	Manages func(*v1.NodeClassReference) bool
	// Reserves says that capacity reservations are used.
	Reserves bool
	Metrics  *telemetry.Metrics
}

// pool is a capacity type of an instance type in a zone.
type pool struct{ instanceType, capacityType, zone string }

// offer is the published state of a pool.
type offer struct {
	available bool
	price     float64
	// priced is set when the price is known.
	priced bool
}

// NewOfferings returns an Offerings without metrics.
func NewOfferings(o OfferingsOptions) *Offerings {
	out := &Offerings{options: o}
	out.shown.Store(&map[pool]offer{})
	o.Metrics.OfferingAvailable.AddSource(func(add observe.AddSeries) {
		for at, of := range *out.shown.Load() {
			value := 0.0
			if of.available {
				value = 1
			}
			add(value, at.instanceType, at.capacityType, at.zone)
		}
	})
	o.Metrics.OfferingPrice.AddSource(func(add observe.AddSeries) {
		for at, of := range *out.shown.Load() {
			if of.priced {
				add(of.price, at.instanceType, at.capacityType, at.zone)
			}
		}
	})
	return out
}

// Refresh reads all NodePools. An offering that is available to any of them is available. A NodePool whose types cannot be listed does
// not affect the others.
func (s *Offerings) Refresh(ctx context.Context) error {
	var pools v1.NodePoolList
	if err := s.options.Client.List(ctx, &pools); err != nil {
		return fmt.Errorf("listing nodepools: %w", err)
	}
	fresh := map[pool]offer{}
	var errs []error
	for i := range pools.Items {
		p := &pools.Items[i]
		if !s.options.Manages(p.Spec.Template.Spec.NodeClassRef) {
			continue
		}
		types, err := s.options.Types(ctx, p)
		if err != nil {
			errs = append(errs, fmt.Errorf("listing the instance types of nodepool %q: %w", p.Name, err))
			continue
		}
		for _, t := range types {
			s.take(fresh, t)
		}
	}
	s.shown.Store(&fresh)
	return errors.Join(errs...)
}

// take adds the offerings of a type. If reservations are used, a type without any reports that it has none.
func (s *Offerings) take(into map[pool]offer, t *cloud.InstanceType) {
	for i := range t.Offerings {
		o := &t.Offerings[i]
		at := pool{t.Name, o.CapacityType(), o.Zone()}
		if at.capacityType == v1.CapacityTypeReserved && !s.options.Reserves {
			continue
		}
		before := into[at]
		next := offer{before.available || o.Available, o.Price, o.PriceKnown()}
		if !next.priced {
			next.price, next.priced = before.price, before.priced
		}
		into[at] = next
		reserved := pool{t.Name, v1.CapacityTypeReserved, at.zone}
		if _, ok := into[reserved]; s.options.Reserves && !ok {
			into[reserved] = offer{priced: true}
		}
	}
}
