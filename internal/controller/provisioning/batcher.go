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
	clock  clock.Clock
	max    time.Duration
	signal chan struct{}

	mu   sync.Mutex
	seen map[string]bool
	// arrived is set when an element of the current window is new.
	arrived bool
	rhythm  rhythm
	// closed is the last window.
	closed window
}

// window is what is known of a window that closed.
type window struct {
	// arrived is set if an element was new.
	arrived bool
	// cutOff is set if the window closed at its maximum.
	cutOff bool
	// extended is set if the window waited longer than configured for the next element.
	extended bool
}

// NewBatcher returns a Batcher whose windows close after idle without a new element, and after longest at the latest. While elements
// arrive at intervals just above idle, windows wait longer for the next one: at most a quarter of longest.
func NewBatcher(c clock.Clock, idle, longest time.Duration) *Batcher {
	return &Batcher{clock: c, max: longest, signal: make(chan struct{}, 1), seen: map[string]bool{}, rhythm: newRhythm(idle, longest)}
}

// Trigger adds the new element id to the window. An element that is already in the current window does not extend it.
func (b *Batcher) Trigger(id string) { b.add(id, true) }

// Remind adds the element id to the window, which may have been in earlier ones: it says nothing about the rhythm of arrivals.
func (b *Batcher) Remind(id string) { b.add(id, false) }

func (b *Batcher) add(id string, arrives bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen[id] {
		return
	}
	switch now := b.clock.Now(); {
	case !arrives:
	case b.arrived:
		b.rhythm.last = now
	default:
		b.rhythm.open(now)
		b.arrived = true
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
	idled, cutOff := false, false
	defer func() { b.reset(idled, cutOff) }()
	first := b.clock.NewTimer(firstWait)
	defer first.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-first.C():
		return false
	case <-b.signal:
	}
	longest, idle := b.clock.NewTimer(b.max), b.clock.NewTimer(b.idle())
	defer longest.Stop()
	defer func() { idle.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-longest.C():
			cutOff = true
			return true
		case <-idle.C():
			idled = true
			return true
		case <-b.signal:
			idle.Stop()
			idle = b.clock.NewTimer(b.idle())
		}
	}
}

// idle is how long the window stays open without a new element.
func (b *Batcher) idle() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rhythm.idle
}

// lastWindow is the last window that closed.
func (b *Batcher) lastWindow() window {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// reset starts a new window; idled is set if the previous one closed because it was idle, cutOff if it closed at its maximum. A trigger
// that arrives after the window closed belongs to the next one: its signal stays.
func (b *Batcher) reset(idled, cutOff bool) {
	if !idled && !cutOff {
		return // there was no window
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = window{arrived: b.arrived, cutOff: cutOff, extended: b.rhythm.idle > b.rhythm.base}
	if b.arrived {
		b.rhythm.wasIdle = b.rhythm.wasIdle || idled
	}
	clear(b.seen)
	b.arrived = false
}
