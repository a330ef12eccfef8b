package inplaceupdate

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
)

const (
	// perSecond and burst limit the updates. One takes some three writes, of which Azure grants a subscription ten a second; launches and
	// deletions need the others.
	perSecond = 1
	burst     = 10
	// pauseLeast is the shortest pause after Azure has throttled a request, pauseMost the longest.
	pauseLeast = 30 * time.Second
	pauseMost  = 15 * time.Minute
)

// turns says when each NodeClaim may be updated. It is safe for concurrent use.
type turns struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	bucket *rate.Limiter
	// reserved are the times of delayed updates, by the name of the NodeClaim.
	reserved map[string]time.Time
	// paused is until when no update starts.
	paused time.Time
}

func newTurns(now clock.PassiveClock) *turns {
	return &turns{clock: now, bucket: rate.NewLimiter(perSecond, burst), reserved: map[string]time.Time{}}
}

// take returns 0 if a NodeClaim may be updated now, and uses up its turn. Otherwise it returns when to ask again.
func (t *turns) take(name string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	due, reserved := t.reserved[name]
	if !reserved {
		// Turns of a pause come after it, as far apart as ever.
		start := now
		if t.paused.After(now) {
			start = t.paused
		}
		due = start.Add(t.bucket.ReserveN(start, 1).DelayFrom(start))
	}
	if due.Before(t.paused) {
		due = t.paused.Add(t.bucket.ReserveN(t.paused, 1).DelayFrom(t.paused))
	}
	if !due.After(now) {
		delete(t.reserved, name)
		return 0
	}
	t.reserved[name] = due
	return due.Sub(now)
}

// pause delays all updates by what Azure asks for, within bounds, and returns when the NodeClaim whose request was throttled has its turn.
func (t *turns) pause(name string, after time.Duration) time.Duration {
	t.mu.Lock()
	until := t.clock.Now().Add(min(max(after, pauseLeast), pauseMost))
	if until.After(t.paused) {
		t.paused = until
		// Tokens that were saved up must not be spent at once after the pause.
		t.bucket = rate.NewLimiter(perSecond, 1)
	}
	t.mu.Unlock()
	return t.take(name)
}

// giveUp cancels the turn of a NodeClaim that needs none.
func (t *turns) giveUp(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.reserved, name)
}
