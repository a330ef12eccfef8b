package simulation

import (
	"maps"
	"slices"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/drift"
)

// DriftedPool is a pool with NodeClaims that do not match its template.
type DriftedPool struct {
	Name string
	// Drifted is the number of these, NodeClaims that of all launched NodeClaims of the pool.
	Drifted, NodeClaims int
}

// drifted returns how many launched NodeClaims the pools have, and the pools of which some have drifted, by name. NodeClasses, and what a
// cloud provider decides about, such as images, are not considered.
func (w *clusterObjects) drifted() (claims int, pools []DriftedPool) {
	byPool := map[string][]*v1.NodeClaim{}
	for _, claim := range w.claims {
		if claim.DeletionTimestamp == nil && claim.Status.ProviderID != "" {
			name := claim.Labels[v1.NodePoolLabelKey]
			byPool[name] = append(byPool[name], claim)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byPool)) {
		pool := w.pools[name]
		if pool == nil || !w.cloud.Manages(pool.Spec.Template.Spec.NodeClassRef) {
			continue
		}
		pool, count := WithHash(pool), DriftedPool{Name: name, NodeClaims: len(byPool[name])}
		for _, claim := range byPool[name] {
			if drift.OfTemplate(pool, claim, w.cloud.Labels) != "" {
				count.Drifted++
			}
		}
		if claims += count.NodeClaims; count.Drifted > 0 {
			pools = append(pools, count)
		}
	}
	return claims, pools
}

// WithHash is the pool with the hash of its template, as its controller annotates it. A snapshot has that hash, because it has not all of the
// template; an edit of the template makes it void.
func WithHash(pool *v1.NodePool) *v1.NodePool {
	out, hash := *pool, pool.Hash()
	if whole := pool.Annotations[v1.NodePoolHashAnnotationKey]; whole != "" && pool.Annotations[v1.NodePoolSnapshotHashAnnotationKey] == hash {
		hash = whole
	}
	out.Annotations = map[string]string{v1.NodePoolHashAnnotationKey: hash, v1.NodePoolHashVersionAnnotationKey: v1.NodePoolHashVersion}
	return &out
}

// PoolHash are the annotations that the NodeClaims of a pool have because of its template.
func PoolHash(pool *v1.NodePool) map[string]string { return WithHash(pool).Annotations }
