package disruption

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// leapingClock is a clock that leaps during a search.
type leapingClock struct {
	clock.Clock
	mu      sync.Mutex
	leaping bool
	reads   int
	ahead   time.Duration
}

// leap makes the clock leap two minutes ahead after two reads: when a search begins, and when it checks its deadline for the
// first time.
func (h *leapingClock) leap(on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leaping, h.reads = on, 0
}

func (h *leapingClock) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reads++; h.leaping && h.reads > 2 {
		h.ahead = 2 * time.Minute
	}
	return h.Clock.Now().Add(h.ahead)
}
