// Package catalog has the instance types of a node class with their offerings and prices. They follow from the SKUs and prices of the
// location (inventory), from the class (instancetype), from the quota of the subscription (quota), and from what launches have shown
// (unavailableofferings). Results are cached until one of these changes.
//
// Source: Azure provider specification, discovery; node class parameters and filters; GetInstanceTypes.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/choice"
	"github.com/karpenter-anew/karpenter/cloud/azure/image"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/inventory"
	"github.com/karpenter-anew/karpenter/cloud/azure/quota"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
	"github.com/karpenter-anew/karpenter/cloud/azure/telemetry"
	"github.com/karpenter-anew/karpenter/cloud/azure/unavailableofferings"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

// resolvedFor is how long the instance types of a class are cached if nothing changes. It bounds how long those of a class that does not
// exist any more are kept.
const resolvedFor = 23 * time.Hour

// ErrNoTypes says that the SKUs have not been read from Azure yet.
var ErrNoTypes = errors.New("no instance types are known")

// Options are what a catalog is made of. All fields but Publish are needed.
type Options struct {
	instancetype.Settings
	// Network is the network of the cluster, which limits the number of pods of a node.
	Network instancetype.Network
	// Inventory has the SKUs and prices.
	Inventory *inventory.Inventory
	// UnavailableOfferings and Quota decide which offerings are available.
	UnavailableOfferings *unavailableofferings.Cache
	Quota                *quota.Quota
	// Client reads node classes.
	Client client.Reader
	Clock  clock.PassiveClock
	// Publish publishes an event; nil publishes none.
	Publish func(observe.Event)
}

// Catalog resolves instance types. Make one with New; it is safe for concurrent use.
type Catalog struct {
	Options

	mu sync.Mutex
	// byClass are the instance types as of the generation.
	generation generation
	byClass    *types

	// quotaChecked has the pools for which quotas were just looked at, by their UIDs.
	quotaChecked *ttlcache.Cache[string, bool]
}

// variant is the part of a class on which its instance types depend.
type variant struct {
	instancetype.Class
	// images is what its images require; empty if these are not known.
	images string
}

// types are instance types by the part of a class on which they depend.
type types = ttlcache.Cache[variant, []*cloud.InstanceType]

// generation identifies what all instance types depend on: sequence numbers of what they are made of.
type generation struct {
	skus, prices, quota, unavailable uint64
}

// New returns a catalog.
func New(o Options) *Catalog {
	return &Catalog{Options: o, quotaChecked: ttlcache.New[string, bool](o.Clock, quotaEvery)}
}

// Class returns a class by its name. One that is being deleted is not found any more.
func (c *Catalog) Class(ctx context.Context, name string) (*v1beta1.AKSNodeClass, error) {
	class := &v1beta1.AKSNodeClass{}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: name}, class); err != nil {
		return nil, fmt.Errorf("getting aksnodeclass %q: %w", name, err)
	}
	if class.DeletionTimestamp.IsZero() {
		return class, nil
	}
	kind := schema.GroupResource{Group: v1beta1.Group, Resource: "aksnodeclasses"}
	going := apierrors.NewNotFound(kind, name)
	going.ErrStatus.Message = fmt.Sprintf("%s %q is terminating, treating as not found", kind, name)
	return nil, going
}

// InstanceTypes returns the instance types of the class of a pool, without regard to the requirements of the pool. A class that does not
// exist or is being deleted is an error, and an event of the pool; the list is never empty because of it. Quotas without which the pool could not have
// any node are an event, too. The caller owns the slice, but
// must not change the instance types.
func (c *Catalog) InstanceTypes(ctx context.Context, pool *v1.NodePool) ([]*cloud.InstanceType, error) {
	ref := pool.Spec.Template.Spec.NodeClassRef
	if ref == nil {
		return nil, fmt.Errorf("nodepool %q names no node class", pool.Name)
	}
	class, err := c.Class(ctx, ref.Name)
	if err != nil {
		if apierrors.IsNotFound(err) && c.Publish != nil {
			c.Publish(telemetry.NodeClassResolutionError(pool, pool.UID))
		}
		return nil, fmt.Errorf("resolving the node class of nodepool %q: %w", pool.Name, err)
	}
	out, err := c.Types(ctx, class)
	if err == nil {
		c.tellQuota(pool, out)
	}
	return out, err
}

// Types returns the instance types that nodes of a class can have, those without an available offering included, in order of name. Types for
// which the class has no image are left out, once its images are known: a launch would fail. The caller owns the slice, but must not change
// the instance types, which are shared.
func (c *Catalog) Types(ctx context.Context, class *v1beta1.AKSNodeClass) ([]*cloud.InstanceType, error) {
	// The sequence numbers are read before what they count: a change in between is seen at the next call.
	now := generation{prices: c.Inventory.Prices().Sequence(), quota: c.Quota.Sequence(), unavailable: c.UnavailableOfferings.Sequence()}
	skus, sequence := c.Inventory.SKUs()
	now.skus = sequence
	if len(skus) == 0 {
		return nil, ErrNoTypes
	}
	images, err := class.CurrentImages()
	if err != nil {
		images = nil // nothing is launched until they are known
	}
	seen := variant{instancetype.ClassOf(class, c.Network), image.Requirements(images)}
	out, err := c.as(now).GetOrLoad(ctx, seen, func(context.Context) ([]*cloud.InstanceType, error) {
		return c.resolve(skus, seen.Class, image.NewFilter(images)), nil
	})
	if err != nil {
		return nil, fmt.Errorf("resolving the instance types of aksnodeclass %q: %w", class.Name, err)
	}
	return slices.Clone(out), nil
}

// as returns the instance types of a generation. The first call after a change begins with none, so that no outdated ones pile up.
func (c *Catalog) as(of generation) *types {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byClass == nil || c.generation != of {
		c.generation, c.byClass = of, ttlcache.New[variant, []*cloud.InstanceType](c.Clock, resolvedFor)
	}
	return c.byClass
}

// resolve computes the instance types of a class.
func (c *Catalog) resolve(skus []sku.Description, class instancetype.Class, images *image.Filter) []*cloud.InstanceType {
	out := make([]*cloud.InstanceType, 0, len(skus))
	for _, d := range skus {
		if t, ok := instancetype.Resolve(instancetype.Input{SKU: d, Class: class, Settings: c.Settings, Market: c.market(&d)}); ok && images.Has(t.Requirements) {
			out = append(out, t)
		}
	}
	return out
}

// market is the prices and the availability of a SKU.
func (c *Catalog) market(d *sku.Description) instancetype.Market {
	prices, marked := c.Inventory.Prices(), choice.Identity(d)
	return instancetype.Market{
		Price: func(capacityType string) (float64, bool) {
			if capacityType == v1.CapacityTypeSpot {
				return prices.Spot(d.Name)
			}
			return prices.OnDemand(d.Name)
		},
		Unavailable: func(capacityType, zone string) bool {
			return c.UnavailableOfferings.IsUnavailable(marked, capacityType, zone)
		},
		QuotaExceeded: c.Quota.Exceeded(d.Family, d.VCPUs),
	}
}

// SKU returns the SKU of an instance type, whatever classes can have it. It is false if Azure does not list it now.
func (c *Catalog) SKU(instanceType string) (sku.Description, bool) {
	skus, _ := c.Inventory.SKUs()
	at, ok := slices.BinarySearchFunc(skus, instanceType, func(d sku.Description, name string) int { return strings.Compare(d.Name, name) })
	if !ok {
		return sku.Description{}, false
	}
	return skus[at], true
}
