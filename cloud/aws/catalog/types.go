package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/awsfield"
	"github.com/karpenter-anew/karpenter/cloud/aws/devices"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/aws/inventory"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubeletcel"
	"github.com/karpenter-anew/karpenter/cloud/aws/unavailableofferings"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// ErrNoTypes says that the instance types have not been read from EC2 yet.
var ErrNoTypes = errors.New("no instance types found")

// Types are all instance types under a class. What a type depends on is part of its cache key, so that a change is
// seen at once; the capacity left of reservations changes all the time, and types with reservations are not cached.
func (c *Catalog) Types(ctx context.Context, class *awsv1.EC2NodeClass) ([]*cloud.InstanceType, error) {
	if len(class.Status.Subnets) == 0 {
		return nil, errors.New("no subnets found")
	}
	known, sequence := c.Inventory.Types()
	switch {
	case len(known.Descriptions) == 0:
		return nil, ErrNoTypes
	case len(known.Sold) == 0:
		return nil, errors.New("no instance types offerings found")
	}
	seen, err := c.classFor(ctx, class)
	if err != nil {
		return nil, err
	}
	key, err := contentKey(seen, sequence, c.Inventory.Prices().Sequence())
	if err != nil {
		return nil, err
	}
	compiled, err := c.Compile(seen.Kubelet)
	if err != nil {
		return nil, err
	}
	written, err := c.overlayPrices(ctx)
	if err != nil {
		return nil, err
	}
	r := resolution{
		catalog: c, class: seen, images: imagesOf(class), shifted: c.shiftedZones(class), known: known, written: written, compiled: compiled,
		fresh: map[string]*cloud.InstanceType{},
	}
	out := make([]*cloud.InstanceType, 0, len(known.Descriptions))
	for _, d := range known.Descriptions {
		t, err := r.resolve(d, key)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	// Only a complete list is cached.
	for under, t := range r.fresh {
		c.resolved.Set(under, t)
	}
	if len(r.dropped) > 0 {
		observe.Log(ctx).ErrorContext(ctx, "some resources are not reserved on nodes", awsfield.EC2NodeClass(class.Name), awsfield.Failures(len(r.dropped)), logfield.Error(r.dropped[0]))
	}
	return out, nil
}

// resolution is one listing of all types under a class.
type resolution struct {
	catalog *Catalog
	class   instancetype.Class
	images  string
	// shifted are the ids of zones with an active zonal shift.
	shifted []string
	known   inventory.Types
	// written are the prices of users by name of the type.
	written map[string]float64
	// compiled is nil where there are no expressions.
	compiled *kubeletcel.Compiled
	// fresh are the types to cache, by cache key.
	fresh   map[string]*cloud.InstanceType
	dropped []error
}

// resolve returns one type, from the cache or computed.
func (r *resolution) resolve(d instancetype.Description, key string) (*cloud.InstanceType, error) {
	c := r.catalog
	in := c.input(d, r.class)
	in.DiscoveredMemory = c.memories.of(d.Name, r.images)
	reserved := slices.ContainsFunc(r.class.Reservations, func(res awsv1.CapacityReservation) bool { return res.InstanceType == d.Name })
	written := r.written[d.Name]
	under := fmt.Sprintf("%s/%s/%d/%d/%g/%s", key, d.Name, c.UnavailableOfferings.Sequence(d.Name), in.DiscoveredMemory, written, strings.Join(r.shifted, ","))
	if !reserved {
		if t, ok := c.resolved.Get(under); ok {
			return t, nil
		}
	}
	if r.compiled != nil {
		config, dropped, err := instancetype.ResolveKubelet(in, r.compiled)
		if err != nil {
			return nil, err
		}
		in.Class.Kubelet = config
		r.dropped = append(r.dropped, dropped...)
	}
	in.Market = c.market(d.Name, r.class, r.known.Zones, r.known.Sold[d.Name])
	in.Market.ShiftedZoneIDs, in.Market.Overlay = r.shifted, written
	t := instancetype.Resolve(in)
	if !reserved {
		r.fresh[under] = t
	}
	return t, nil
}

// input is a type under a class, without its availability.
func (c *Catalog) input(d instancetype.Description, class instancetype.Class) instancetype.Input {
	return instancetype.Input{
		Description: d, Class: class, Limits: c.limits[d.Name], Sources: c.OfferingSources,
		Settings: instancetype.Settings{
			Region: c.Region, VMMemoryOverheadPercent: c.VMMemoryOverheadPercent, ReservedENIs: c.ReservedENIs,
			Devices: devices.Settings{NVIDIA: c.PlansGPUs, EFA: c.PlansEFAs},
		},
	}
}

// classFor is the part of a class on which instance types depend.
func (c *Catalog) classFor(ctx context.Context, class *awsv1.EC2NodeClass) (instancetype.Class, error) {
	out, err := instancetype.ClassOf(class)
	if err != nil {
		return out, err
	}
	if out.PlacementGroup, err = c.PlacementGroupOf(ctx, class); err != nil {
		return out, err
	}
	if c.ReservesCapacity {
		out.Reservations = class.Status.CapacityReservations
	}
	return out, nil
}

// PlacementGroupOf is the group of a class; nil if it names none. A missing group is an error: to launch outside of it
// would be wrong.
func (c *Catalog) PlacementGroupOf(ctx context.Context, class *awsv1.EC2NodeClass) (*instancetype.PlacementGroup, error) {
	if class.Spec.PlacementGroupSelector == nil {
		return nil, nil
	}
	group, err := c.Finder.PlacementGroup(ctx, class)
	switch {
	case group != nil:
		return &instancetype.PlacementGroup{ID: group.ID, Strategy: group.Strategy, Partitions: group.Partitions}, nil
	case err != nil:
		return nil, err
	default:
		return nil, fmt.Errorf("ec2nodeclass %q selects a placement group that does not exist", class.Name)
	}
}

// contentKey is the same for classes with the same content, as long as the sequence numbers of types and prices are.
func contentKey(class instancetype.Class, types, prices uint64) (string, error) {
	class.Reservations = nil
	text, err := json.Marshal(class)
	if err != nil {
		return "", fmt.Errorf("naming the content of a class: %w", err)
	}
	sum := fnv.New128a()
	_, _ = sum.Write(text) // never fails
	return fmt.Sprintf("%x-%d-%d", sum.Sum(nil), types, prices), nil
}

// market is the availability of a type under a class.
func (c *Catalog) market(name string, class instancetype.Class, zones, sold []string) instancetype.Availability {
	prices := c.Inventory.Prices()
	m := instancetype.Availability{
		Zones: zones, TypeZones: sold, OnDemand: prices.OnDemand(name), Spot: map[string]float64{}, ReservationCapacity: map[string]int{},
		Exhausted: func(pool instancetype.Pool) bool {
			var subnets []string
			for _, s := range class.Subnets {
				if s.Zone == pool.Zone {
					subnets = append(subnets, s.ID)
				}
			}
			return c.UnavailableOfferings.IsUnavailable(unavailableofferings.Offering{
				InstanceType: name, CapacityType: pool.CapacityType, Zone: pool.Zone, PlacementGroup: pool.PlacementGroup, Partition: pool.Partition, Reservation: pool.Reservation,
			}, subnets)
		},
	}
	for _, zone := range sold {
		if spot := prices.Spot(name, zone); spot > 0 {
			m.Spot[zone] = spot
		}
	}
	for _, r := range class.Reservations {
		m.ReservationCapacity[r.ID] = c.Reservations.Left(r.ID)
	}
	return m
}

// Named is a type by its name; nil if there is none.
func Named(types []*cloud.InstanceType, name string) *cloud.InstanceType {
	at := slices.IndexFunc(types, func(t *cloud.InstanceType) bool { return t.Name == name })
	if at < 0 {
		return nil
	}
	return types[at]
}
