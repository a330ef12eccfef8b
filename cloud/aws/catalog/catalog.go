// Package catalog has the instance types of a node class with their offerings and prices. They follow from what EC2 offers
// (inventory), from what the class selects (discovery), and from what launches have shown (unavailableofferings, reservation, memory of
// nodes). Results are cached.
//
// Source: AWS provider specification, instance types; offerings; pricing.
package catalog

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/discovery"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/aws/inventory"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubeletcel"
	"github.com/karpenter-anew/karpenter/cloud/aws/reservation"
	"github.com/karpenter-anew/karpenter/cloud/aws/subnet"
	"github.com/karpenter-anew/karpenter/cloud/aws/unavailableofferings"
	"github.com/karpenter-anew/karpenter/cloud/aws/zonalshift"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

// resolvedFor is how long an instance type of a class is cached.
const resolvedFor = 5 * time.Minute

// EC2 are the calls that list what EC2 offers and what a class selects.
type EC2 interface {
	discovery.EC2
	inventory.EC2
}

// Settings are the settings of the installation that instance types depend on.
type Settings struct {
	Region string
	// ReservedENIs and VMMemoryOverheadPercent correct EC2's descriptions of instance types.
	ReservedENIs            int64
	VMMemoryOverheadPercent float64
	// ReservesCapacity says that capacity reservations are used.
	ReservesCapacity bool
	// EvaluatesExpressions says that expressions in kubelet blocks are evaluated; otherwise they are ignored.
	EvaluatesExpressions bool
	// UsesOverlays says that users may write prices for instance types.
	UsesOverlays bool
	// PlansGPUs and PlansEFAs say that devices of DRA drivers are predicted.
	PlansGPUs, PlansEFAs bool
}

// Options are what a catalog is made of.
type Options struct {
	Settings
	EC2        EC2
	Parameters discovery.Parameters
	// Prices is nil where there is no way to the price list.
	Prices inventory.PriceList
	// Client reads node classes and overlays.
	Client client.Reader
	Clock  clock.WithTicker
	// Shifts are the zones with an active zonal shift; nil for none.
	Shifts *zonalshift.Watch
	// OfferingSources are further sources of offerings, in order.
	OfferingSources []instancetype.OfferingSource
	// SubnetTTL, GroupTTL and ImageTTL are how long subnets, security groups and images are cached.
	SubnetTTL, GroupTTL, ImageTTL time.Duration
}

// Catalog resolves instance types. Make one with New; it is safe for concurrent use.
type Catalog struct {
	Options
	Inventory *inventory.Inventory
	Finder    *discovery.Finder
	// Addresses, Reservations and UnavailableOfferings are what launches have shown.
	Addresses            *subnet.Ledger
	Reservations         *reservation.Ledger
	UnavailableOfferings *unavailableofferings.Cache

	limits   instancetype.Limits
	resolved *ttlcache.Cache[string, *cloud.InstanceType]
	compiled *ttlcache.Cache[string, *kubeletcel.Compiled]
	memories discoveredMemory
	zones    zoneIDs
}

// New returns a catalog without data: see Inventory.
func New(o Options) *Catalog {
	c := &Catalog{
		Options: o, Inventory: inventory.New(o.Region, o.EC2, o.Prices), Addresses: &subnet.Ledger{}, Reservations: &reservation.Ledger{},
		UnavailableOfferings: unavailableofferings.New(o.Clock), limits: instancetype.KnownLimits(),
		resolved: ttlcache.New[string, *cloud.InstanceType](o.Clock, resolvedFor), compiled: ttlcache.New[string, *kubeletcel.Compiled](o.Clock, compiledFor),
		memories: discoveredMemory{seen: ttlcache.New[string, int64](o.Clock, seenFor)},
	}
	c.Finder = discovery.New(discovery.Options{
		EC2: o.EC2, Parameters: o.Parameters, Clock: o.Clock, Addresses: c.Addresses, Reservations: c.Reservations, SubnetTTL: o.SubnetTTL, GroupTTL: o.GroupTTL, ImageTTL: o.ImageTTL,
	})
	return c
}

// Class returns a class by its name. One that is being deleted is not found any more.
func (c *Catalog) Class(ctx context.Context, name string) (*awsv1.EC2NodeClass, error) {
	class := &awsv1.EC2NodeClass{}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: name}, class); err != nil {
		return nil, fmt.Errorf("getting ec2nodeclass %q: %w", name, err)
	}
	if class.DeletionTimestamp.IsZero() {
		return class, nil
	}
	kind := schema.GroupResource{Group: awsv1.Group, Resource: "ec2nodeclasses"}
	going := apierrors.NewNotFound(kind, name)
	going.ErrStatus.Message = fmt.Sprintf("%s %q is terminating, treating as not found", kind, name)
	return nil, going
}

// ClassIfAny returns a class by its name; nil if it does not exist or is being deleted.
func (c *Catalog) ClassIfAny(ctx context.Context, name string) (*awsv1.EC2NodeClass, error) {
	class, err := c.Class(ctx, name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return class, err
}
