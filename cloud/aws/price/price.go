// Package price keeps what instances cost: a table that the program brings along, until EC2 says something newer. A failed
// refresh leaves everything as it was.
//
// Source: AWS provider specification, prices.
package price

import (
	"errors"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/karpenter-anew/karpenter/cloud/pricetable"
)

// forgottenAfter is how many refreshes in a row may leave out a spot price before it is forgotten.
const forgottenAfter = 2

// List holds hourly prices in the currency of the partition. Make one with New. It is safe for concurrent use; a refresh replaces all
// prices at once.
type List struct {
	mu       sync.RWMutex
	onDemand map[string]float64
	// spot is nil until EC2 was heard.
	spot map[Pool]spotPrice
	// refreshes counts the answers with spot prices, sequence those with prices that are new.
	refreshes int
	sequence  uint64
}

// Pool is an instance type in a zone, which has one spot price.
type Pool struct{ InstanceType, Zone string }

// spotPrice is a price and the refresh that it was last seen in.
type spotPrice struct {
	price float64
	seen  int
}

// SpotRecord is one entry of the history of spot prices, as EC2 gives it. The price is text, and the time may be missing.
type SpotRecord struct {
	Pool  Pool
	Time  time.Time
	Price string
}

// New makes a book with the on-demand prices of a table.
func New(table map[string]float64) *List { return &List{onDemand: maps.Clone(table)} }

// OnDemand is the price of a type; 0 when it is not known.
func (b *List) OnDemand(instanceType string) float64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.onDemand[instanceType]
}

// Sequence changes with the prices.
func (b *List) Sequence() uint64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.sequence
}

// Spot is the price of a type in a zone; 0 when there is none. Until EC2 was heard, it is taken to be that of the table
// everywhere.
func (b *List) Spot(instanceType, zone string) float64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.spot == nil {
		return b.onDemand[instanceType]
	}
	return b.spot[Pool{instanceType, zone}].price
}

// RefreshOnDemand takes over the prices of ordinary and of metal types; types that are left out keep theirs. Both lists have to
// have entries: an answer without any is taken for a fault.
func (b *List) RefreshOnDemand(ordinary, metal map[string]float64) error {
	if len(ordinary) == 0 || len(metal) == 0 {
		return errors.New("no on-demand pricing found")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.onDemand == nil {
		b.onDemand = map[string]float64{}
	}
	changed := false
	for _, list := range []map[string]float64{ordinary, metal} {
		for name, price := range list {
			if pricetable.Valid(price) && b.onDemand[name] != price {
				b.onDemand[name], changed = price, true
			}
		}
	}
	if changed {
		b.sequence++
	}
	return nil
}

// RefreshSpot takes over the newest price of each pool. Pools that are left out keep theirs, but not for ever. Records without
// time or price are passed over; if none is left, the answer is taken for a fault.
func (b *List) RefreshSpot(records []SpotRecord) error {
	newest := map[Pool]SpotRecord{}
	prices := map[Pool]float64{}
	for _, record := range records {
		price, err := strconv.ParseFloat(record.Price, 64)
		if err != nil || !pricetable.Valid(price) || record.Time.IsZero() {
			continue
		}
		if have, ok := newest[record.Pool]; !ok || record.Time.After(have.Time) {
			newest[record.Pool], prices[record.Pool] = record, price
		}
	}
	if len(prices) == 0 {
		return errors.New("no spot pricing found")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refreshes++
	changed := b.spot == nil
	if b.spot == nil {
		b.spot = map[Pool]spotPrice{}
	}
	for pool, price := range prices {
		changed = changed || b.spot[pool].price != price
		b.spot[pool] = spotPrice{price, b.refreshes}
	}
	before := len(b.spot)
	maps.DeleteFunc(b.spot, func(_ Pool, p spotPrice) bool { return b.refreshes-p.seen >= forgottenAfter })
	if changed || len(b.spot) < before {
		b.sequence++
	}
	return nil
}
