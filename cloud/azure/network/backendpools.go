package network

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

// listTTL is how long what was listed is used. Pools and groups change with the cluster, not with its nodes.
const listTTL = 2 * time.Hour

// LoadBalancerLister lists the load balancers of a resource group; a client of the SDK is one.
type LoadBalancerLister interface {
	NewListPager(resourceGroup string, options *armnetwork.LoadBalancersClientListOptions) *runtime.Pager[armnetwork.LoadBalancersClientListResponse]
}

// Pools are the pools of load balancers that nodes are in.
type Pools struct {
	// IDs are the ARM ids of the pools, sorted.
	IDs []string
	// Generation is greater for pools that were listed later, and never 0.
	Generation uint64
}

// BackendPools knows the pools of load balancers. Make one with NewBackendPools; it is safe for concurrent use.
type BackendPools struct {
	api   LoadBalancerLister
	group string
	cache *ttlcache.Cache[string, Pools]

	mu         sync.Mutex
	generation uint64
}

// NewBackendPools returns the pools of the load balancers in the resource group of nodes.
func NewBackendPools(api LoadBalancerLister, nodeResourceGroup string, now clock.PassiveClock) *BackendPools {
	return &BackendPools{api: api, group: nodeResourceGroup, cache: ttlcache.New[string, Pools](now, listTTL)}
}

// Get returns the pools as they were listed in the last two hours, and lists them if they were not.
func (b *BackendPools) Get(ctx context.Context) (Pools, error) {
	return b.cache.GetOrLoad(ctx, b.group, b.list)
}

// Refresh returns pools that are newer than those that the caller has, because one of these does not exist anymore. If another caller has
// refreshed them, nothing is listed: a pool that is deleted makes all launches fail at the same time.
func (b *BackendPools) Refresh(ctx context.Context, stale Pools) (Pools, error) {
	b.forget(stale)
	return b.Get(ctx)
}

// forget removes pools that are not newer. Callers that have the same pools find them removed or newer ones.
func (b *BackendPools) forget(stale Pools) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if known, ok := b.cache.Get(b.group); ok && known.Generation <= stale.Generation {
		b.cache.Delete(b.group)
	}
}

func (b *BackendPools) list(ctx context.Context) (Pools, error) {
	var ids []string
	for pages := b.api.NewListPager(b.group, nil); pages.More(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return Pools{}, fmt.Errorf("listing the load balancers of resource group %s: %w", b.group, err)
		}
		for _, balancer := range page.Value {
			ids = append(ids, poolsOf(balancer)...)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) })
	b.mu.Lock()
	defer b.mu.Unlock()
	b.generation++
	return Pools{IDs: ids, Generation: b.generation}, nil
}

// poolsOf returns the ids of the pools of a load balancer that nodes are put in: those of the cluster's public and internal load balancer for
// IPv4 whose members are network interfaces. The members of other pools are addresses, which the cloud controller manager of Azure adds.
func poolsOf(balancer *armnetwork.LoadBalancer) []string {
	if balancer == nil || balancer.Properties == nil || !named(balancer.Name, "kubernetes", "kubernetes-internal") {
		return nil
	}
	var out []string
	for _, pool := range balancer.Properties.BackendAddressPools {
		if pool != nil && pool.ID != nil && !named(pool.Name, "aksOutboundBackendPool-ipv6", "kubernetes-ipv6") && !hasAddresses(pool) {
			out = append(out, *pool.ID)
		}
	}
	return out
}

func named(name *string, names ...string) bool {
	return name != nil && slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, *name) })
}

func hasAddresses(pool *armnetwork.BackendAddressPool) bool {
	return pool.Properties != nil && slices.ContainsFunc(pool.Properties.LoadBalancerBackendAddresses, func(a *armnetwork.LoadBalancerBackendAddress) bool {
		return a != nil && a.Properties != nil && a.Properties.IPAddress != nil && *a.Properties.IPAddress != ""
	})
}

// Missing reports whether Azure refused a network interface because one of the pools does not exist. Refresh returns others.
func (p Pools) Missing(err error) bool {
	refused, ok := errors.AsType[*azcore.ResponseError](err)
	if !ok || !strings.EqualFold(refused.ErrorCode, "InvalidResourceReference") {
		return false
	}
	message := strings.ToLower(refused.Error())
	return slices.ContainsFunc(p.IDs, func(id string) bool { return strings.Contains(message, strings.ToLower(id)) })
}
