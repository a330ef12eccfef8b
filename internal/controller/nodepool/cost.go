package nodepool

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/cost"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

const (
	// costPeriod is the time between two computations of the cost.
	costPeriod = 5 * time.Second
	// pricePeriod is how long prices are cached. Clouds list instance types from memory, and a new NodeOverlay should show soon.
	pricePeriod = time.Minute
	// warnPeriod is how long the same failure is not reported again.
	warnPeriod = time.Hour
)

// Offerings returns the offerings of the instances of every NodePool, by NodePool, including instances that are terminating. ok is
// false until the cluster state is complete.
type Offerings interface {
	Purchases() (byPool map[string][]cost.Offering, ok bool)
}

// Cost is the controller state.pricing: it sets the gauge of the cost of each NodePool.
//
// The cost is computed from the cluster state each time instead of updated by events, so that it does not depend on their order.
type Cost struct {
	deps.Shared
	offerings Offerings
	log       *slog.Logger
	prices    map[string]pricing
	gauges    *observe.GaugeStore
	// reported are the failures of the last warnPeriod.
	reported *ttlcache.Cache[string, bool]
}

// pricing is the prices of a NodePool, and when they are listed again.
type pricing struct {
	cost.Prices
	// listed is set once the cloud has listed instance types.
	listed bool
	next   time.Time
	delays wait.Backoff
}

// priceBackoff is the time until prices are listed again after a failure.
func priceBackoff() wait.Backoff {
	return wait.Backoff{Duration: costPeriod, Factor: 2, Cap: pricePeriod, Steps: math.MaxInt}
}

// NewCost builds the controller.
func NewCost(shared deps.Shared, offerings Offerings, log *slog.Logger) *Cost {
	return &Cost{
		Shared: shared, offerings: offerings, log: log.With(logfield.Controller("state.pricing")),
		prices: map[string]pricing{}, gauges: observe.NewGaugeStore(), reported: ttlcache.New[string, bool](shared.Clock, warnPeriod),
	}
}

// Register adds the controller to the manager.
func (c *Cost) Register(m manager.Manager) error { return m.Add(c) }

// NeedLeaderElection is true: one replica reports the cost.
func (c *Cost) NeedLeaderElection() bool { return true }

// Start refreshes the gauges until ctx ends.
func (c *Cost) Start(ctx context.Context) error {
	ctx = observe.WithController(ctx, "state.pricing")
	for {
		if err := c.refresh(ctx); err != nil && ctx.Err() == nil {
			c.log.Error("computing the cost of nodepools failed, retrying in "+costPeriod.String(), logfield.Error(err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.Clock.After(costPeriod):
		}
	}
}

// refresh sets the cost of every NodePool and removes the gauges of those that are gone.
func (c *Cost) refresh(ctx context.Context) error {
	offerings, ok := c.offerings.Purchases()
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
		total := prices.Sum(offerings[pool.Name])
		if prices.listed {
			for _, o := range total.Unknown {
				c.fail(ctx, pool.Name, fmt.Sprint(o), "the price of a nodeclaim is not known, the cost of its nodepool does not include it",
					logfield.InstanceType(o.InstanceType), logfield.Zone(o.Zone), logfield.CapacityType(o.CapacityType))
			}
		}
		samples[pool.Name] = append(c.samplesOf(pool.Name, total), c.samplesByOffering(pool.Name, prices.Prices, offerings[pool.Name])...)
	}
	c.gauges.ReplaceAll(samples)
	for pool := range before {
		if _, exists := c.prices[pool]; !exists {
			c.Metrics.NodePools.CostTrackerErrors.DeleteLabelValues(pool)
		}
	}
	return nil
}

// samplesOf are the gauges of a NodePool. There is no cost while the price of none of its NodeClaims is known.
func (c *Cost) samplesOf(pool string, total cost.Total) []observe.Sample {
	labels := []string{pool}
	out := []observe.Sample{{Gauge: c.Metrics.NodePools.Unpriced, Labels: labels, Value: float64(total.Unpriced)}}
	if total.Known() {
		out = append(out, observe.Sample{Gauge: c.Metrics.NodePools.Cost, Labels: labels, Value: total.Dollars})
	}
	return out
}

// samplesByOffering are the gauges of the cost of a NodePool by capacity type and zone, of NodeClaims whose price is known.
func (c *Cost) samplesByOffering(pool string, prices cost.Prices, offerings []cost.Offering) []observe.Sample {
	dollars := map[[2]string]float64{}
	for _, o := range offerings {
		if price, known := prices.Of(o); known {
			dollars[[2]string{o.CapacityType, o.Zone}] += price
		}
	}
	out := make([]observe.Sample, 0, len(dollars))
	for at, sum := range dollars {
		out = append(out, observe.Sample{Gauge: c.Metrics.NodePools.CostByOffering, Labels: []string{pool, at[0], at[1]}, Value: sum})
	}
	return out
}

// pricesOf lists the instance types of a NodePool when its prices are older than pricePeriod. After a failure the last known prices
// stay, and the instance types are listed again soon.
func (c *Cost) pricesOf(ctx context.Context, pool *v1.NodePool, known pricing) pricing {
	now := c.Clock.Now()
	if now.Before(known.next) {
		return known
	}
	types, err := c.Cloud.Provider.InstanceTypes(ctx, pool)
	if err == nil {
		return pricing{Prices: cost.PricesOf(types), listed: true, next: now.Add(pricePeriod)}
	}
	if known.delays.Duration == 0 {
		known.delays = priceBackoff()
	}
	pause := known.delays.Step()
	known.next = now.Add(pause)
	switch {
	case cloud.IsUnevaluatedNodePool(err):
		c.log.DebugContext(ctx, "cannot compute the cost of a nodepool, node overlays are not evaluated for it yet", logfield.NodePool(pool.Name))
	case known.listed:
		c.fail(ctx, pool.Name, "types", "listing instance types failed, using the last known prices", logfield.Error(err), logfield.RetryIn(pause))
	default:
		c.fail(ctx, pool.Name, "types", "listing instance types failed, the cost of the nodepool is not known, retrying", logfield.Error(err), logfield.RetryIn(pause))
	}
	return known
}

// fail counts and logs a failure, unless the same one was reported within warnPeriod.
func (c *Cost) fail(ctx context.Context, pool, about, message string, args ...any) {
	if _, reported := c.reported.Get(pool + " " + about); reported || ctx.Err() != nil {
		return
	}
	c.reported.Set(pool+" "+about, true)
	c.Metrics.NodePools.CostTrackerErrors.WithLabelValues(pool).Inc()
	c.log.ErrorContext(ctx, message, append([]any{logfield.NodePool(pool)}, args...)...)
}
