// Package price keeps what virtual machines cost: an embedded table, until the price list of Azure is read. A failed refresh changes
// nothing. A price that is not known is reported as such, and is never zero.
//
// Source: Azure provider specification, pricing.
package price

import (
	"errors"
	"maps"
	"strings"
	"sync"

	"github.com/karpenter-anew/karpenter/cloud/pricetable"
)

// List holds prices in US dollars per hour. Make one with New. It is safe for concurrent use; a refresh replaces all prices of a capacity
// type at once.
type List struct {
	mu sync.RWMutex
	// onDemand and spot are by key of the SKU.
	onDemand, spot map[string]float64
	sequence       uint64
}

// New returns a list with the on-demand prices of a table, by name of the SKU. Until spot prices are read, they are taken to be the same.
func New(table map[string]float64) *List {
	prices := keyed(table)
	return &List{onDemand: prices, spot: prices}
}

// OnDemand returns the price of a SKU, and false if it is not known.
func (l *List) OnDemand(sku string) (float64, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	price, known := l.onDemand[key(sku)]
	return price, known
}

// Spot returns the price of a SKU as spot capacity, and false if it is not known. Azure has one price for all zones of a location.
func (l *List) Spot(sku string) (float64, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	price, known := l.spot[key(sku)]
	return price, known
}

// Sequence changes with the prices.
func (l *List) Sequence() uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.sequence
}

// Refresh replaces prices by those of the price list. On-demand and spot prices are replaced independently of each other, each only if the
// list has some. A list without any price is an error.
func (l *List) Refresh(items []Item) error {
	onDemand, spot := read(items)
	if len(onDemand) == 0 && len(spot) == 0 {
		return errors.New("the price list has no prices of virtual machines")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	changed := false
	if len(onDemand) > 0 && !maps.Equal(onDemand, l.onDemand) {
		l.onDemand, changed = onDemand, true
	}
	if len(spot) > 0 && !maps.Equal(spot, l.spot) {
		l.spot, changed = spot, true
	}
	if changed {
		l.sequence++
	}
	return nil
}

// Item is an entry of the price list: a meter of a SKU. SKUs have several meters.
type Item struct {
	// ARMSKUName is the name of the SKU, such as Standard_D4s_v3. SKUName, MeterName and ProductName are names for people, which say what
	// the meter is for.
	ARMSKUName, SKUName, MeterName, ProductName string
	// Type is Consumption for meters that all customers use.
	Type string
	// Primary says that the meter is the main one of its SKU.
	Primary bool
	// RetailPrice is in US dollars per hour.
	RetailPrice float64
}

// consumption is the type of meters without a reservation or a special offer.
const consumption = "Consumption"

// counts reports whether an item is the price of a virtual machine with Linux for all customers.
func (i Item) counts() bool {
	special := strings.ToLower(i.ProductName + " " + i.MeterName)
	return i.ARMSKUName != "" && (i.Type == "" || i.Type == consumption) &&
		!strings.HasSuffix(i.ProductName, " Windows") && !strings.HasSuffix(i.MeterName, " Low Priority") &&
		!strings.Contains(special, "devtest") && !strings.Contains(special, "dev/test") && !strings.Contains(special, "devops") &&
		pricetable.Valid(i.RetailPrice)
}

// spot reports whether an item is the price of spot capacity.
func (i Item) spot() bool { return strings.HasSuffix(i.SKUName, " Spot") }

// read returns the prices of a list by key of the SKU. Of several meters of a SKU, the cheapest primary one counts; one that is not
// primary counts only if there is no other.
func read(items []Item) (onDemand, spot map[string]float64) {
	type best struct {
		price   float64
		primary bool
	}
	meters := map[bool]map[string]best{false: {}, true: {}} // by whether it is spot, by key
	for _, item := range items {
		if !item.counts() {
			continue
		}
		found, name := meters[item.spot()], key(item.ARMSKUName)
		have, known := found[name]
		if !known || item.Primary && !have.primary || item.Primary == have.primary && item.RetailPrice < have.price {
			found[name] = best{item.RetailPrice, item.Primary}
		}
	}
	prices := func(found map[string]best) map[string]float64 {
		out := make(map[string]float64, len(found))
		for name, b := range found {
			out[name] = b.price
		}
		return out
	}
	return prices(meters[false]), prices(meters[true])
}

// keyed are the valid prices of a table by key of the SKU.
func keyed(table map[string]float64) map[string]float64 {
	out := make(map[string]float64, len(table))
	for name, price := range table {
		if pricetable.Valid(price) {
			out[key(name)] = price
		}
	}
	return out
}

// key is the name of a SKU without its standard tier, in lower case and without separators: the names in the embedded table have other
// separators.
func key(sku string) string {
	return strings.NewReplacer("_", "", " ", "").Replace(strings.TrimPrefix(strings.ToLower(sku), "standard_"))
}
