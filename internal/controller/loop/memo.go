// Package loop remembers values for a fixed time.
package loop

import (
	"sync"
	"time"
)

// Memo remembers values for a fixed time. Time is an argument, so that tests decide it. It is safe for concurrent use;
// forgotten values are swept at most once per lifetime, on a Put.
type Memo[K comparable, V any] struct {
	ttl time.Duration

	mu      sync.Mutex
	entries map[K]remembered[V]
	sweepAt time.Time
}

type remembered[V any] struct {
	value V
	until time.Time
}

// NewMemo returns a memo that forgets each value after ttl.
func NewMemo[K comparable, V any](ttl time.Duration) *Memo[K, V] {
	return &Memo[K, V]{ttl: ttl, entries: map[K]remembered[V]{}}
}

// Get returns the value put under key less than the lifetime ago.
func (m *Memo[K, V]) Get(key K, now time.Time) (V, bool) {
	value, left := m.GetWithRest(key, now)
	return value, left > 0
}

// GetWithRest returns the value under key and how long it will still be remembered; zero when it is not.
func (m *Memo[K, V]) GetWithRest(key K, now time.Time) (V, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	entry, ok := m.entries[key]
	if left := entry.until.Sub(now); ok && left > 0 {
		return entry.value, left
	}
	var zero V
	return zero, 0
}

// Put remembers value under key from now on.
func (m *Memo[K, V]) Put(key K, value V, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !now.Before(m.sweepAt) {
		for k, entry := range m.entries {
			if !now.Before(entry.until) {
				delete(m.entries, k)
			}
		}
		m.sweepAt = now.Add(m.ttl)
	}
	m.entries[key] = remembered[V]{value: value, until: now.Add(m.ttl)}
}

// Drop forgets the value under key.
func (m *Memo[K, V]) Drop(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, key)
}
