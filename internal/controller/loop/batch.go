package loop

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// longestWait is for how long a decision waits at most: an API server that is slow must not keep machines from starting or ending.
	longestWait = 5 * time.Second
	// behindBatch is after how long to look again whether all batches are written.
	behindBatch = 50 * time.Millisecond
	// metMemory is for how long it is remembered when a decision was met first.
	metMemory = 10 * time.Minute
)

// Batch lets decisions be written before what follows from them.
//
// Problem: a plan is many NodeClaims, and a command many deletions. As soon as the first of them is written, its launch or
// its end begins, at several requests for each object, and all of them compete with the rest of the batch, and with the next one,
// for the allowance of requests and for the API server: the last decision is written when nearly everything else is done. Approach:
// whoever writes a batch says so, and who carries out decisions looks again a moment later while one is being written, until its own
// decision is some seconds old. Decisions are dated by the API server, whose clock may be ahead of ours: a decision is taken to be at
// least as old as our knowledge of it.
//
// It is safe for concurrent use. A nil Batch is never being written.
type Batch struct {
	clock clock.PassiveClock
	// met is when decisions were met first that had to wait, by our clock.
	met *Memo[decision, time.Time]

	mu sync.Mutex
	// writers is how many batches are being written.
	writers int
}

// decision is the launch or the end of an object, told from others by the moment at which it was decided.
type decision struct {
	of types.UID
	at time.Time
}

// NewBatch is a Batch that nobody writes.
func NewBatch(c clock.PassiveClock) *Batch {
	return &Batch{clock: c, met: NewMemo[decision, time.Time](metMemory)}
}

// Begin announces a batch; the function that it returns announces its end, and must be called once.
func (b *Batch) Begin() (end func()) {
	if b == nil {
		return func() {}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writers++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.writers--
	}
}

// Wait is how long to wait before carrying out a decision about an object that was made at that moment; zero while nothing goes first.
func (b *Batch) Wait(of types.UID, decided time.Time) time.Duration {
	if b == nil || !b.written() {
		return 0
	}
	now, d := b.clock.Now(), decision{of: of, at: decided.UTC()}
	if now.Sub(decided) >= longestWait {
		return 0
	}
	first, known := b.met.Get(d, now)
	if !known {
		first = now
		b.met.Put(d, now, now)
	}
	if now.Sub(first) >= longestWait {
		return 0
	}
	return behindBatch
}

// written reports whether a batch is being written.
func (b *Batch) written() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.writers > 0
}
