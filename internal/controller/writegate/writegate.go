// Package writegate delays launches and terminations while a batch of NodeClaims or deletions is being written.
package writegate

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

const (
	// longestWait is for how long a decision waits at most: an API server that is slow must not keep machines from starting or ending.
	longestWait = 5 * time.Second
	// behindGate is after how long to look again whether all batches are written.
	behindGate = 50 * time.Millisecond
	// metMemory is for how long it is remembered when a decision was met first.
	metMemory = 10 * time.Minute
)

// Gate lets decisions be written before what follows from them.
//
// Problem: a plan is many NodeClaims, and a command many deletions. As soon as the first of them is written, its launch or
// its end begins, at several requests for each object, and all of them compete with the rest of the batch, and with the next one,
// for the allowance of requests and for the API server: the last decision is written when nearly everything else is done. Approach:
// whoever writes a batch says so, and who carries out decisions looks again a moment later while one is being written, until its own
// decision is some seconds old. Decisions are dated by the API server, whose clock may be ahead of ours: a decision is taken to be at
// least as old as our knowledge of it.
//
// It is safe for concurrent use. A nil Gate is never being written.
type Gate struct {
	clock clock.PassiveClock
	// met is when decisions were met first that had to wait, by our clock.
	met *ttlcache.Cache[decision, time.Time]

	mu sync.Mutex
	// writers is how many batches are being written.
	writers int
}

// decision is the launch or the end of an object, told from others by the moment at which it was decided.
type decision struct {
	of types.UID
	at time.Time
}

// New is a Gate that nobody writes.
func New(c clock.PassiveClock) *Gate {
	return &Gate{clock: c, met: ttlcache.New[decision, time.Time](c, metMemory)}
}

// Begin announces a batch; the function that it returns announces its end, and must be called once.
func (g *Gate) Begin() (end func()) {
	if g == nil {
		return func() {}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writers++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.writers--
	}
}

// Delay is how long to wait before carrying out a decision about an object that was made at that moment; zero while nothing goes first.
func (g *Gate) Delay(of types.UID, decided time.Time) time.Duration {
	if g == nil || !g.written() {
		return 0
	}
	now, d := g.clock.Now(), decision{of: of, at: decided.UTC()}
	if now.Sub(decided) >= longestWait {
		return 0
	}
	first, known := g.met.Get(d)
	if !known {
		first = now
		g.met.Set(d, now)
	}
	if now.Sub(first) >= longestWait {
		return 0
	}
	return behindGate
}

// written reports whether a batch is being written.
func (g *Gate) written() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.writers > 0
}
