package translate

import (
	"runtime"
	"sync"
	"weak"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// hashes caches the hashes of pools: every claim has that of its pool, a pass creates thousands of claims, and computing a
// hash costs more than the rest of the claim. Pools are never changed in place, so equal pointers mean equal hashes.
type hashes struct {
	mu    *sync.Mutex
	known map[weak.Pointer[v1.NodePool]]string
}

func newHashes() hashes {
	return hashes{mu: &sync.Mutex{}, known: map[weak.Pointer[v1.NodePool]]string{}}
}

func (x hashes) of(pool *v1.NodePool) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	place := weak.Make(pool)
	hash, ok := x.known[place]
	if !ok {
		hash = pool.Hash()
		x.known[place] = hash
		runtime.AddCleanup(pool, x.forget, place)
	}
	return hash
}

func (x hashes) forget(place weak.Pointer[v1.NodePool]) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.known, place)
}
