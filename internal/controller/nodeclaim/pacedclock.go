package nodeclaim

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// pacedClock is the time by which NodeClaims expire and time out. A wall clock that is set forward makes everything due at once that
// would have been due in between; deletions cannot be undone when the clock is corrected.
//
// Approach: it is never ahead of the wall clock, and advances as time passes. After a jump it follows the wall clock catchUp times as
// fast, so that a correction that was right takes effect as well. A clock that is wrong when the process starts is not noticed here: the
// clock of controllers follows that of the API server. It is safe for concurrent use.
type pacedClock struct {
	clock clock.PassiveClock
	// started is when it was made: the wall clock then, and, for clock.Since, the time that cannot be set.
	started time.Time

	mu      sync.Mutex
	elapsed time.Duration
	now     time.Time
	// behind is set while now is behind the wall clock.
	behind bool
}

// catchUp is how many times as fast as time passes a pacedClock follows the wall clock after a jump.
const catchUp = 2

func newPacedClock(c clock.PassiveClock) *pacedClock {
	now := c.Now()
	return &pacedClock{clock: c, started: now, now: now.Round(0)}
}

// Now is the time, at most that of the wall clock.
func (p *pacedClock) Now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	elapsed := p.clock.Since(p.started)
	passed := max(elapsed-p.elapsed, 0)
	if p.behind {
		passed *= catchUp
	}
	limit, wall := p.now.Add(passed), p.clock.Now().Round(0)
	p.elapsed, p.behind, p.now = max(elapsed, p.elapsed), limit.Before(wall), wall
	if p.behind {
		p.now = limit
	}
	return p.now
}
