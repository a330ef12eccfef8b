package loop

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// longestBatch bounds for how long a batch goes first: an API server that is slow must not keep machines from starting.
	longestBatch = 2 * time.Second
	// behindBatch is when to look again whether a batch is written.
	behindBatch = 50 * time.Millisecond
)

// Batch lets decisions be written before what follows from them.
//
// Problem: a plan is many NodeClaims, and a command many deletions. As soon as the first of them is written, its launch or
// its end begins, at several requests for each object, and all of them compete with the rest of the batch for the allowance
// of requests and for the API server: the last decision is written when nearly everything else is done. Approach: whoever
// writes a batch says so, and who carries out decisions looks again a moment later while one is being written, for two
// seconds at most.
//
// It is safe for concurrent use. A nil Batch is never being written.
type Batch struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// writers is how many batches are being written, since is when the oldest of them was begun.
	writers int
	since   time.Time
}

// NewBatch is a Batch that nobody writes.
func NewBatch(c clock.PassiveClock) *Batch { return &Batch{clock: c} }

// Begin announces a batch; the function that it returns announces its end, and must be called once.
func (b *Batch) Begin() (end func()) {
	if b == nil {
		return func() {}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.writers++; b.writers == 1 {
		b.since = b.clock.Now()
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.writers--
	}
}

// Wait is how long to wait before carrying out a decision; zero while nothing goes first.
func (b *Batch) Wait() time.Duration {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.writers == 0 || b.clock.Since(b.since) >= longestBatch {
		return 0
	}
	return behindBatch
}
