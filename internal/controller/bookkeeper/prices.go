package bookkeeper

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/cost"
)

// pricePeriod is how long prices are cached. Clouds list instance types from memory.
const pricePeriod = time.Minute

// prices are what the instance types of NodePools cost now. It is safe for concurrent use.
type prices struct {
	client   client.Reader
	provider cloud.Provider
	clock    clock.PassiveClock

	mu    sync.Mutex
	pools map[string]*priceList
}

// priceList are the prices of one NodePool.
type priceList struct {
	prices cost.Prices
	until  time.Time

	mu sync.Mutex
	// asked are the prices that were asked for; nil for those that are not known. Prices look through all offerings of an instance type.
	asked map[cost.Offering]*float64
}

func newPrices(d Deps) *prices {
	return &prices{client: d.Client, provider: d.Cloud.Provider, clock: d.Clock, pools: map[string]*priceList{}}
}

// of returns the prices of a NodePool; the last known ones if they cannot be listed.
func (p *prices) of(ctx context.Context, pool string) *priceList {
	now := p.clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.pools[pool]
	if known != nil && now.Before(known.until) {
		return known
	}
	fresh := &priceList{until: now.Add(pricePeriod), asked: map[cost.Offering]*float64{}}
	object := &v1.NodePool{}
	if err := p.client.Get(ctx, client.ObjectKey{Name: pool}, object); err == nil {
		if types, err := p.provider.InstanceTypes(ctx, object); err == nil && len(types) > 0 {
			fresh.prices = cost.PricesOf(types)
			p.pools[pool] = fresh
			return fresh
		}
	}
	if known != nil {
		return known
	}
	return fresh // not kept: the pool may be new
}

// forget drops the prices of NodePools that keep does not name.
func (p *prices) forget(keep map[string]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for pool := range p.pools {
		if !keep[pool] {
			delete(p.pools, pool)
		}
	}
}

// price is what an offering costs in dollars per hour; false if that is not known.
func (l *priceList) price(o cost.Offering) (dollars float64, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	price, asked := l.asked[o]
	if !asked {
		if found, known := l.prices.Of(o); known {
			price = &found
		}
		l.asked[o] = price
	}
	if price == nil {
		return 0, false
	}
	return *price, true
}
