package cluster

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/cost"
)

// Usage computes the resources and offerings of pools from snapshots.
type Usage struct {
	store *Store
	feed  *Watcher
}

// NewUsage returns a Usage of store, which is valid once feed is ready.
func NewUsage(store *Store, feed *Watcher) *Usage { return &Usage{store: store, feed: feed} }

// PoolUsage returns the capacity of the pool's nodes that are not being deleted, including planned ones. ok is false while the
// cluster state is incomplete. Cost: linear in the nodes of the pool.
func (u *Usage) PoolUsage(pool string) (usage corev1.ResourceList, ok bool) {
	if !u.feed.Ready() {
		return nil, false
	}
	nodes := u.store.Snapshot().Nodes
	u.store.mu.Lock()
	defer u.store.mu.Unlock()
	var sum resource.Vector
	for id := range u.store.poolNodes[pool] {
		if n, ok := nodes.Get(id); ok && managedBy(n) == pool && !n.Deleting {
			sum = sum.Add(n.Capacity)
		}
	}
	return u.store.translator.ResourceList(sum), true
}

// Purchases returns the offerings of the nodes of each pool, including nodes that are being deleted. ok is false while the cluster
// state is incomplete.
func (u *Usage) Purchases() (byPool map[string][]cost.Offering, ok bool) {
	if !u.feed.Ready() {
		return nil, false
	}
	byPool = map[string][]cost.Offering{}
	for _, n := range u.store.Snapshot().Nodes.Sorted() {
		if n.Managed && n.Pool != "" {
			byPool[n.Pool] = append(byPool[n.Pool], cost.OfferingOf(n.Labels))
		}
	}
	return byPool, true
}

// managedBy is the pool of a managed node; empty for others, and without a node.
func managedBy(n *model.Node) string {
	if n == nil || !n.Managed {
		return ""
	}
	return n.Pool
}
