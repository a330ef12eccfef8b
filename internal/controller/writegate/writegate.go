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
	// maxDelay bounds the delay of a decision: a slow API server must not keep instances from launching or terminating.
	maxDelay = 5 * time.Second
	// retry is the time between two checks whether all batches are written.
	retry = 50 * time.Millisecond
	// firstSeenTTL is how long the time is kept at which a decision was first seen.
	firstSeenTTL = 10 * time.Minute
)

// Gate delays launches and terminations while a batch of NodeClaims or deletions is being written.
//
// Problem: a plan is many NodeClaims, and a command many deletions. Once the first of them is written, its launch or termination
// starts, with several requests for each object. These compete with the rest of the batch for the rate limit of the client and for the
// API server, so that the last decision is written when nearly everything else is done. Approach: the writer of a batch calls Begin, and
// a controller that is about to launch or terminate asks for the Delay, which ends when the decision is some seconds old. The API server
// dates decisions, and its clock may be ahead: a decision is at least as old as the time since it was first seen.
//
// It is safe for concurrent use. A nil Gate never delays.
type Gate struct {
	clock clock.PassiveClock
	// firstSeen is when delayed decisions were first seen, by the clock of this process.
	firstSeen *ttlcache.Cache[decision, time.Time]

	mu sync.Mutex
	// writers is the number of batches that are being written.
	writers int
}

// decision is the launch or termination of an object, identified by the time of the decision.
type decision struct {
	of types.UID
	at time.Time
}

// New returns a Gate without batches.
func New(c clock.PassiveClock) *Gate {
	return &Gate{clock: c, firstSeen: ttlcache.New[decision, time.Time](c, firstSeenTTL)}
}

// Begin starts a batch; the function that it returns ends the batch, and must be called once.
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

// Delay is how long to wait before the launch or termination of an object that was decided at that time; zero without a batch.
func (g *Gate) Delay(of types.UID, decided time.Time) time.Duration {
	if g == nil || !g.written() {
		return 0
	}
	now, d := g.clock.Now(), decision{of: of, at: decided.UTC()}
	if now.Sub(decided) >= maxDelay {
		return 0
	}
	first, known := g.firstSeen.Get(d)
	if !known {
		first = now
		g.firstSeen.Set(d, now)
	}
	if now.Sub(first) >= maxDelay {
		return 0
	}
	return retry
}

// written reports whether a batch is being written.
func (g *Gate) written() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.writers > 0
}
