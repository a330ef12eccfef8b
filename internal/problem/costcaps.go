package problem

import (
	"context"
	"fmt"
	"math"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/policy"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// CostCaps tells which caps on cost there are, and what counts against them.
type CostCaps interface {
	// Of are the caps on pools by name, at most one of the pool and one of the cluster for each. Pools without caps are left out.
	Of(ctx context.Context, pools []*v1.NodePool) (map[string][]policy.UsedCap, error)
}

// capCosts makes caps on cost limits of the pools that they apply to.
//
// Problem: a NodeClaim leaves the choice of the offering to the cloud, so that what a launch costs is known only afterwards. Approach: the
// capacity of an instance type gets an entry that has the price of its most expensive offering within the requirements of the pool, and the
// pool a limit on it. The solver charges an open node with the most of its candidates, as for every limit. What exists counts as used, and not
// as the capacity of nodes: a node that is to be replaced costs money until its replacement runs.
func (b Builder) capCosts(ctx context.Context, names *resource.Table, pools Pools) error {
	if b.Caps == nil {
		return nil
	}
	usable := make([]*v1.NodePool, len(pools.Usable))
	for i, pool := range pools.Usable {
		usable[i] = pools.ByName[pool.Name]
	}
	capsOf, err := b.Caps.Of(ctx, usable)
	if err != nil {
		return fmt.Errorf("reading cost caps: %w", err)
	}
	for _, pool := range pools.Usable {
		caps := capsOf[pool.Name]
		if len(caps) == 0 {
			continue
		}
		indexes := make([]int, len(caps))
		pool.Used = map[int]int64{}
		for i, c := range caps {
			name := resource.CostOfCluster
			if c.Pool != "" {
				name = resource.CostOfPool
			}
			indexes[i] = names.Index(name)
			pool.Limits[indexes[i]], pool.Used[indexes[i]] = int64(c.Limit), int64(c.Used)
		}
		pool.Catalog = priced(pool, indexes)
	}
	return nil
}

// priced is the catalog of a pool with the highest prices of its instance types at indexes of their capacity.
func priced(pool *model.Pool, indexes []int) catalog.Catalog {
	out := make(catalog.Catalog, len(pool.Catalog))
	for i, t := range pool.Catalog {
		next := *t
		next.Capacity = t.Capacity.Clone()
		most := highestPrice(t, pool.Requirements)
		for _, at := range indexes {
			next.Capacity = next.Capacity.Set(at, int64(most))
		}
		out[i] = &next
	}
	return out
}

// highestPrice is the price of the most expensive offering within requirements. Unavailable offerings count: they may become available before
// the launch. Those without a price are not launched.
func highestPrice(t *catalog.InstanceType, want requirement.Set) policy.Dollars {
	most := policy.Dollars(0)
	for i := range t.Offerings {
		o := &t.Offerings[i]
		if !want.Intersects(o.Requirements) || !o.Available() && (o.Price == 0 || math.IsNaN(o.Price)) {
			continue
		}
		most = max(most, policy.PriceOf(o.Price))
	}
	return most
}
