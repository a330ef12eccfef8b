package static

import "sync"

// limitsReached are the node limits that keep pools from their replicas, by pool, so that each is logged once while it holds. The zero
// value is ready to use; it is safe for concurrent use.
type limitsReached struct {
	mu    sync.Mutex
	pools map[string]int64
}

// reached records that a pool has reached its limit, and reports whether that is new.
func (l *limitsReached) reached(pool string, limit int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, known := l.pools[pool]; known && last == limit {
		return false
	}
	if l.pools == nil {
		l.pools = map[string]int64{}
	}
	l.pools[pool] = limit
	return true
}

// forget records that a pool is below its limit, or gone.
func (l *limitsReached) forget(pool string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pools, pool)
}
