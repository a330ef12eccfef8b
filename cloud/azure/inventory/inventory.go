// Package inventory holds the SKUs of virtual machines that a location has, and their prices. It is refreshed periodically; a failed
// refresh changes nothing.
//
// Source: Azure provider specification, SKU discovery; pricing.
package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/karpenter-anew/karpenter/cloud/azure/price"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// virtualMachines is the type of resources whose SKUs are sizes of virtual machines.
const virtualMachines = "virtualMachines"

// SKULister is the call that lists SKUs; armcompute.ResourceSKUsClient has it.
type SKULister interface {
	NewListPager(*armcompute.ResourceSKUsClientListOptions) *runtime.Pager[armcompute.ResourceSKUsClientListResponse]
}

// PriceList is the call that lists prices; retail.Client has it.
type PriceList interface {
	Items(ctx context.Context, location string) ([]price.Item, error)
}

// Inventory is the SKUs of a location. Make one with New; it is safe for concurrent use. Readers do not wait for a refresh.
type Inventory struct {
	location string
	lister   SKULister
	list     PriceList
	prices   *price.List
	table    price.Table
	// refreshing lets one refresh of SKUs run at a time.
	refreshing sync.Mutex

	mu       sync.RWMutex
	skus     []sku.Description
	sequence uint64
}

// New returns an inventory without SKUs, with the embedded prices. The price list is nil where there is none: see retail.Lists.
func New(location string, lister SKULister, list PriceList) *Inventory {
	table := price.TableFor(location)
	out := &Inventory{location: location, lister: lister, list: list, prices: price.New(table.Prices)}
	table.Prices = nil // the list has them
	out.table = table
	return out
}

// Table says where the embedded prices come from. It lists none.
func (i *Inventory) Table() price.Table { return i.table }

// Prices are the prices as of the last refresh.
func (i *Inventory) Prices() *price.List { return i.prices }

// SKUs are those that can be instance types, in order of name, as of the last refresh, with a sequence number that changes with them. The
// slice is shared and must not be changed.
func (i *Inventory) SKUs() ([]sku.Description, uint64) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.skus, i.sequence
}

// RefreshPrices reads the price list. Without one, the embedded prices stay.
func (i *Inventory) RefreshPrices(ctx context.Context) error {
	if i.list == nil {
		return nil
	}
	items, err := i.list.Items(ctx, i.location)
	if err != nil {
		return fmt.Errorf("listing prices: %w", err)
	}
	if err := i.prices.Refresh(items); err != nil {
		return fmt.Errorf("taking over prices of %s: %w", i.location, err)
	}
	return nil
}

// RefreshSKUs reads the SKUs of the location. A list without virtual machines is an error. SKUs that this version does not understand are
// logged and left out.
func (i *Inventory) RefreshSKUs(ctx context.Context) error {
	i.refreshing.Lock()
	defer i.refreshing.Unlock()
	fresh, err := i.describe(ctx)
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if !reflect.DeepEqual(fresh, i.skus) {
		observe.Log(ctx).DebugContext(ctx, "discovered instance types", logfield.InstanceTypeCount(len(fresh)))
		i.skus = fresh
		i.sequence++
	}
	return nil
}

func (i *Inventory) describe(ctx context.Context) ([]sku.Description, error) {
	filter := fmt.Sprintf("location eq '%s'", i.location)
	pager := i.lister.NewListPager(&armcompute.ResourceSKUsClientListOptions{Filter: &filter})
	var out []sku.Description
	seen := map[string]bool{}
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing the SKUs of %s: %w", i.location, err)
		}
		for _, raw := range page.Value {
			if raw == nil || text(raw.ResourceType) != virtualMachines || seen[text(raw.Name)] {
				continue
			}
			seen[text(raw.Name)] = true
			d, excluded := sku.Describe(reportOf(raw), i.location)
			switch {
			case excluded == "":
				out = append(out, d)
			case excluded.Unexpected():
				observe.Log(ctx).WarnContext(ctx, "an instance type is not used", logfield.InstanceType(text(raw.Name)), logfield.Reason(string(excluded)))
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("listing the SKUs of %s: %w", i.location, errNoSKUs)
	}
	slices.SortFunc(out, func(a, b sku.Description) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// errNoSKUs says that a location has no SKU that can be an instance type, which is taken for a fault of the API.
var errNoSKUs = errors.New("no SKU can be an instance type")

// reportOf converts a SKU of the SDK. Any field may be missing.
func reportOf(raw *armcompute.ResourceSKU) sku.Report {
	out := sku.Report{Name: text(raw.Name), Size: text(raw.Size), Family: text(raw.Family), Capabilities: capabilities(raw.Capabilities)}
	for _, l := range raw.LocationInfo {
		if l == nil {
			continue
		}
		location := sku.Location{Name: text(l.Location), Zones: texts(l.Zones)}
		for _, detail := range l.ZoneDetails {
			if detail != nil {
				location.ZoneDetails = append(location.ZoneDetails, sku.ZoneDetail{Zones: texts(detail.Name), Capabilities: capabilities(detail.Capabilities)})
			}
		}
		out.Locations = append(out.Locations, location)
	}
	for _, r := range raw.Restrictions {
		if r == nil || r.Type == nil {
			continue
		}
		restriction := sku.Restriction{Type: string(*r.Type), Locations: texts(r.Values)}
		if r.RestrictionInfo != nil {
			restriction.Locations = append(restriction.Locations, texts(r.RestrictionInfo.Locations)...)
			restriction.Zones = texts(r.RestrictionInfo.Zones)
		}
		out.Restrictions = append(out.Restrictions, restriction)
	}
	return out
}

func capabilities(list []*armcompute.ResourceSKUCapabilities) map[string]string {
	out := make(map[string]string, len(list))
	for _, c := range list {
		if c != nil {
			out[text(c.Name)] = strings.TrimSpace(text(c.Value))
		}
	}
	return out
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

func texts(list []*string) []string {
	var out []string
	for _, p := range list {
		out = append(out, text(p))
	}
	return out
}
