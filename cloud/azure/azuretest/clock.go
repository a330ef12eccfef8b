package azuretest

import (
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// pollInterval is the pause between polls that an account asks for with retry-after-ms.
const pollInterval = time.Millisecond

// Clock is a clock for tests that stands still unless it is stepped. Operations are polled nevertheless: the pause that an account asks for passes
// as on the clock of the host. Clients that wait longer between polls, for instance after a failure, wait for a step.
type Clock struct{ *clocktesting.FakeClock }

// NewClock returns a clock that stands at a time.
func NewClock(now time.Time) *Clock { return &Clock{clocktesting.NewFakeClock(now)} }

// NewTimer implements clock.Clock.
func (c *Clock) NewTimer(d time.Duration) clock.Timer {
	if d > pollInterval {
		return c.FakeClock.NewTimer(d)
	}
	return hostTimer{time.NewTimer(d)}
}

// hostTimer is a timer on the clock of the host.
type hostTimer struct{ *time.Timer }

// C implements clock.Timer.
func (t hostTimer) C() <-chan time.Time { return t.Timer.C }
