//go:build clockfault

package operator

import (
	"fmt"
	"os"
	"time"

	"k8s.io/utils/clock"
)

// clockAheadEnv says how far the clock of a build with the tag clockfault is ahead, for example 7m, or -7m if it is behind.
const clockAheadEnv = "KARPENTER_CLOCK_AHEAD"

// processClock is a clock that is ahead of that of the host, as on a host whose time is not synchronized. It is what controllers and cloud
// providers have for a clock. Libraries ask the host themselves, and are not affected: the timestamps of log lines and events, timers and
// timeouts, the signatures of the AWS SDK, and leader election, which like the fence only measures how much time passes.
func processClock() clock.WithTicker {
	text := os.Getenv(clockAheadEnv)
	if text == "" {
		return clock.RealClock{}
	}
	ahead, err := time.ParseDuration(text)
	if err != nil {
		panic(fmt.Sprintf("reading %s: %v", clockAheadEnv, err)) // a test whose fault has no effect must not pass
	}
	return shiftedClock{clock.RealClock{}, ahead}
}

// shiftedClock is a clock that is ahead of another one.
type shiftedClock struct {
	clock.WithTicker
	ahead time.Duration
}

// Now returns the time that the process takes for the current one.
func (c shiftedClock) Now() time.Time { return c.WithTicker.Now().Add(c.ahead) }

// Since returns the time since t, a result of Now.
func (c shiftedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
