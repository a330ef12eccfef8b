package overlay

import (
	"context"
	"slices"
	"sync"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// maxLists limits how many corrected lists a Store caches.
const maxLists = 64

// Store holds the corrections in effect and caches corrected lists. The zero value has no corrections and covers no pool. It is
// safe for concurrent use.
//
// Equal arguments return the same pointers until the corrections or the list change, so that callers can cache by list. Pools with
// equal labels, as far as overlays use them, share corrected lists.
type Store struct {
	mu    sync.Mutex
	now   *Corrections
	known []cachedList // most recent first
}

// cachedList is a corrected list.
type cachedList struct {
	labels    string // of the pool, as far as overlays ask for them
	asked     []*cloud.InstanceType
	corrected []*cloud.InstanceType
}

// Swap replaces the corrections in effect.
func (s *Store) Swap(c *Corrections) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.known = c, nil
}

// Correct returns types with the corrections for a pool, or UnevaluatedNodePoolError if the pool is not covered yet.
func (s *Store) Correct(pool string, types []*cloud.InstanceType) ([]*cloud.InstanceType, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil || !s.now.Covers(pool) {
		return nil, cloud.NewUnevaluatedNodePoolError(pool)
	}
	labels := project(s.now.pools[pool], s.now.keys)
	for i, a := range s.known {
		if a.labels == labels && slices.Equal(a.asked, types) {
			copy(s.known[1:i+1], s.known[:i])
			s.known[0] = a
			return slices.Clone(a.corrected), nil
		}
	}
	asked := slices.Clone(types)
	fresh := cachedList{labels, asked, s.now.Apply(pool, asked)}
	s.known = append([]cachedList{fresh}, s.known[:min(len(s.known), maxLists-1)]...)
	return slices.Clone(fresh.corrected), nil
}

// Decorate returns inner with the corrections of s applied to the instance types that it lists.
func Decorate(inner cloud.Provider, s *Store) cloud.Provider { return &provider{inner, s} }

type provider struct {
	cloud.Provider
	store *Store
}

// InstanceTypes implements cloud.Provider.
func (p *provider) InstanceTypes(ctx context.Context, pool *v1.NodePool) ([]*cloud.InstanceType, error) {
	types, err := p.Provider.InstanceTypes(ctx, pool)
	if err != nil {
		return nil, err
	}
	return p.store.Correct(pool.Name, types)
}
