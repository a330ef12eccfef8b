// Package memo remembers answers for a while. Several who ask for the same thing at the same time share one question.
//
// Source: AWS provider specification, cache periods.
package memo

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Memo holds answers by key. Make one with New; it may be used from many goroutines.
type Memo[V any] struct {
	clock clock.PassiveClock
	keep  time.Duration

	mu      sync.Mutex
	entries map[string]entry[V]
	asking  map[string]*question[V]
	sweepAt time.Time
}

type entry[V any] struct {
	value V
	until time.Time
}

// question is an answer that is on its way.
type question[V any] struct {
	done  chan struct{}
	value V
	err   error
}

// New makes an empty memo that keeps answers for so long.
func New[V any](now clock.PassiveClock, keep time.Duration) *Memo[V] {
	return &Memo[V]{clock: now, keep: keep, entries: map[string]entry[V]{}, asking: map[string]*question[V]{}}
}

// Get is what is remembered under a key.
func (m *Memo[V]) Get(key string) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.get(key)
}

func (m *Memo[V]) get(key string) (V, bool) {
	e, ok := m.entries[key]
	if !ok || !m.clock.Now().Before(e.until) {
		var none V
		return none, false
	}
	return e.value, true
}

// Put remembers a value.
func (m *Memo[V]) Put(key string, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(key, value)
}

func (m *Memo[V]) put(key string, value V) {
	now := m.clock.Now()
	if now.After(m.sweepAt) {
		for key, e := range m.entries {
			if !now.Before(e.until) {
				delete(m.entries, key)
			}
		}
		m.sweepAt = now.Add(m.keep)
	}
	m.entries[key] = entry[V]{value, now.Add(m.keep)}
}

// Delete forgets a key.
func (m *Memo[V]) Delete(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, key)
}

// Fetch is what is remembered under a key, or what ask answers. Errors are not remembered. Whoever asks while another does waits
// for the same answer; when that other one gave up, the next one asks.
func (m *Memo[V]) Fetch(ctx context.Context, key string, ask func(context.Context) (V, error)) (V, error) {
	for {
		m.mu.Lock()
		if value, ok := m.get(key); ok {
			m.mu.Unlock()
			return value, nil
		}
		q := m.asking[key]
		if q == nil {
			q = &question[V]{done: make(chan struct{})}
			m.asking[key] = q
			m.mu.Unlock()
			return m.ask(ctx, key, q, ask)
		}
		m.mu.Unlock()
		select {
		case <-q.done:
			if q.err == nil {
				return q.value, nil
			}
		case <-ctx.Done():
			var none V
			return none, ctx.Err()
		}
	}
}

// ask asks, for all who wait.
func (m *Memo[V]) ask(ctx context.Context, key string, q *question[V], ask func(context.Context) (V, error)) (V, error) {
	q.value, q.err = ask(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.asking, key)
	if q.err == nil {
		m.put(key, q.value)
	}
	close(q.done)
	return q.value, q.err
}
