// Package ttlcache is a cache whose entries expire after a fixed time. Callers that load the same key at the same time share one call.
package ttlcache

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Cache holds values by key, each for the same time unless it is set by SetWithTTL. Make one with New. It is safe for concurrent use.
//
// Expired entries are deleted at most once per TTL, when an entry is set.
type Cache[K comparable, V any] struct {
	clock clock.PassiveClock
	ttl   time.Duration

	mu      sync.Mutex
	entries map[K]entry[V]
	loading map[K]*load[V]
	sweepAt time.Time
}

type entry[V any] struct {
	value   V
	expires time.Time
}

// load is a call in progress. Value and err are set before done is closed.
type load[V any] struct {
	done  chan struct{}
	value V
	err   error
}

// New returns an empty cache whose entries expire after ttl.
func New[K comparable, V any](now clock.PassiveClock, ttl time.Duration) *Cache[K, V] {
	return &Cache[K, V]{clock: now, ttl: ttl, entries: map[K]entry[V]{}, loading: map[K]*load[V]{}}
}

// Get returns the value of a key, and false if there is none or it has expired.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	value, left := c.GetWithTTL(key)
	return value, left > 0
}

// GetWithTTL returns the value of a key and the time until it expires; zero if there is none or it has expired.
func (c *Cache[K, V]) GetWithTTL(key K) (V, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.get(key, c.clock.Now())
}

func (c *Cache[K, V]) get(key K, now time.Time) (V, time.Duration) {
	e, ok := c.entries[key]
	if left := e.expires.Sub(now); ok && left > 0 {
		return e.value, left
	}
	var zero V
	return zero, 0
}

// All returns the entries that have not expired.
func (c *Cache[K, V]) All() map[K]V {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, out := c.clock.Now(), map[K]V{}
	for key := range c.entries {
		if value, left := c.get(key, now); left > 0 {
			out[key] = value
		}
	}
	return out
}

// Len returns the number of entries in memory, including expired ones that are not deleted yet.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}

// Set stores a value; it expires a TTL from now.
func (c *Cache[K, V]) Set(key K, value V) { c.SetWithTTL(key, value, c.ttl) }

// SetWithTTL stores a value that expires after ttl instead of the TTL of the cache.
func (c *Cache[K, V]) SetWithTTL(key K, value V, ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(key, value, ttl)
}

func (c *Cache[K, V]) set(key K, value V, ttl time.Duration) {
	now := c.clock.Now()
	if !now.Before(c.sweepAt) {
		for key, e := range c.entries {
			if !now.Before(e.expires) {
				delete(c.entries, key)
			}
		}
		c.sweepAt = now.Add(c.ttl)
	}
	c.entries[key] = entry[V]{value, now.Add(ttl)}
}

// Delete removes a key.
func (c *Cache[K, V]) Delete(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, key)
}

// GetOrLoad returns the value of a key, and calls loader for it if there is none. An error is returned and not stored. A caller that
// finds a call for the key in progress waits for its result; if that call fails, one of the waiting callers calls its own loader.
func (c *Cache[K, V]) GetOrLoad(ctx context.Context, key K, loader func(context.Context) (V, error)) (V, error) {
	for {
		c.mu.Lock()
		if value, left := c.get(key, c.clock.Now()); left > 0 {
			c.mu.Unlock()
			return value, nil
		}
		l := c.loading[key]
		if l == nil {
			l = &load[V]{done: make(chan struct{})}
			c.loading[key] = l
			c.mu.Unlock()
			return c.load(ctx, key, l, loader)
		}
		c.mu.Unlock()
		select {
		case <-l.done:
			if l.err == nil {
				return l.value, nil
			}
		case <-ctx.Done():
			var zero V
			return zero, ctx.Err()
		}
	}
}

// load calls the loader and publishes its result to the waiting callers.
func (c *Cache[K, V]) load(ctx context.Context, key K, l *load[V], loader func(context.Context) (V, error)) (V, error) {
	l.value, l.err = loader(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.loading, key)
	if l.err == nil {
		c.set(key, l.value, c.ttl)
	}
	close(l.done)
	return l.value, l.err
}
