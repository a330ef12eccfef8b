package provisioning

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// firstWait is how long Wait waits for a first trigger before it gives up.
const firstWait = time.Second

// Batcher collects triggers into windows, so that pods that appear together are planned together.
// Source: scheduling specification, batching.
type Batcher struct {
	clock     clock.Clock
	idle, max time.Duration
	signal    chan struct{}

	mu   sync.Mutex
	seen map[string]bool
}

// NewBatcher returns a Batcher whose windows close after idle without a new element, and after max at the latest.
func NewBatcher(c clock.Clock, idle, longest time.Duration) *Batcher {
	return &Batcher{clock: c, idle: idle, max: longest, signal: make(chan struct{}, 1), seen: map[string]bool{}}
}

// Trigger adds the element id to the window. An element that is already in the current window does not extend it.
func (b *Batcher) Trigger(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen[id] {
		return
	}
	b.seen[id] = true
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

// Wait waits for a window to open and close, and reports whether there was one. Without a trigger it returns false after a
// second, and false immediately when ctx ends.
func (b *Batcher) Wait(ctx context.Context) bool {
	defer b.reset()
	first := b.clock.NewTimer(firstWait)
	defer first.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-first.C():
		return false
	case <-b.signal:
	}
	longest, idle := b.clock.NewTimer(b.max), b.clock.NewTimer(b.idle)
	defer longest.Stop()
	defer func() { idle.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-longest.C():
			return true
		case <-idle.C():
			return true
		case <-b.signal:
			idle.Stop()
			idle = b.clock.NewTimer(b.idle)
		}
	}
}

// reset starts a new window. A trigger that arrives after the window closed belongs to the next one: its signal stays.
func (b *Batcher) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.seen)
}
