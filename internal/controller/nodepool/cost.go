package nodepool

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/cost"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

const (
	// costPeriod is how often the machines are counted.
	costPeriod = 5 * time.Second
	// pricePeriod is how old prices may be. Clouds list their types from memory, and a NodeOverlay should show soon.
	pricePeriod = time.Minute
	// complainEvery is how often something about prices that stays wrong is reported.
	complainEvery = time.Hour
)

// Machines knows what the machines of every NodePool were bought as, by pool, those that are going included. It is false while
// the picture of the cluster is not complete yet.
type Machines interface {
	Purchases() (byPool map[string][]cost.Offering, ok bool)
}

// Cost is the loop state.pricing: it shows what the machines of each NodePool cost.
//
// Nothing is added up along the way: all is counted anew each time, so that no order of events can make it wrong.
type Cost struct {
	deps.Shared
	machines Machines
	log      *slog.Logger
	prices   map[string]pricing
	shown    *observe.GaugeStore
	// said are the failures that were reported not long ago.
	said *ttlcache.Cache[string, bool]
}

// pricing is the prices of a pool as they were at some time.
type pricing struct {
	cost.Prices
	asked time.Time
}

// NewCost builds the loop.
func NewCost(shared deps.Shared, machines Machines, log *slog.Logger) *Cost {
	return &Cost{
		Shared: shared, machines: machines, log: log.With("controller", "state.pricing"),
		prices: map[string]pricing{}, shown: observe.NewGaugeStore(), said: ttlcache.New[string, bool](shared.Clock, complainEvery),
	}
}

// Register adds the loop to the manager.
func (c *Cost) Register(m manager.Manager) error { return m.Add(c) }

// NeedLeaderElection is true: one replica that tells is enough.
func (c *Cost) NeedLeaderElection() bool { return true }

// Start refreshes the gauges until ctx ends.
func (c *Cost) Start(ctx context.Context) error {
	ctx = observe.WithController(ctx, "state.pricing")
	for {
		if err := c.refresh(ctx); err != nil && ctx.Err() == nil {
			c.log.Error("cannot tell what node pools cost", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.Clock.After(costPeriod):
		}
	}
}

// refresh shows what every NodePool that exists costs now, and forgets the others.
func (c *Cost) refresh(ctx context.Context) error {
	bought, ok := c.machines.Purchases()
	if !ok {
		return nil
	}
	var list v1.NodePoolList
	if err := c.Client.List(ctx, &list); err != nil {
		return fmt.Errorf("listing node pools: %w", err)
	}
	before := c.prices
	c.prices = make(map[string]pricing, len(list.Items))
	samples := map[string][]observe.Sample{}
	for i := range list.Items {
		pool := &list.Items[i]
		if !managed.Is(c.Cloud, pool) {
			continue
		}
		prices := c.pricesOf(ctx, pool, before[pool.Name])
		c.prices[pool.Name] = prices
		dollars, unknown := prices.Sum(bought[pool.Name])
		for _, o := range unknown {
			c.fail(ctx, pool.Name, fmt.Sprint(o), "a machine has no price and counts as free",
				"instance-type", o.InstanceType, "zone", o.Zone, "capacity-type", o.CapacityType)
		}
		samples[pool.Name] = []observe.Sample{{Gauge: c.Metrics.NodePools.Cost, Labels: []string{pool.Name}, Value: dollars}}
	}
	c.shown.ReplaceAll(samples)
	for pool := range before {
		if _, exists := c.prices[pool]; !exists {
			c.Metrics.NodePools.CostTrackerErrors.DeleteLabelValues(pool)
		}
	}
	return nil
}

// pricesOf asks the cloud for the prices of a pool when those that are known are too old. The last known ones stay while it
// does not answer.
func (c *Cost) pricesOf(ctx context.Context, pool *v1.NodePool, known pricing) pricing {
	now := c.Clock.Now()
	if !known.asked.IsZero() && now.Sub(known.asked) < pricePeriod {
		return known
	}
	known.asked = now
	types, err := c.Cloud.Provider.InstanceTypes(ctx, pool)
	if err != nil {
		c.fail(ctx, pool.Name, "types", "cannot list instance types, using the last known prices", "error", err)
		return known
	}
	known.Prices = cost.PricesOf(types)
	return known
}

// fail reports a failure, unless the same was reported not long ago.
func (c *Cost) fail(ctx context.Context, pool, about, message string, args ...any) {
	if _, said := c.said.Get(pool + " " + about); said || ctx.Err() != nil {
		return
	}
	c.said.Set(pool+" "+about, true)
	c.Metrics.NodePools.CostTrackerErrors.WithLabelValues(pool).Inc()
	c.log.ErrorContext(ctx, message, append([]any{"NodePool", pool}, args...)...)
}
