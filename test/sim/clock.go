package sim

import (
	"time"

	"k8s.io/utils/clock"
)

// Clock is the clock of a process: the time of the bubble, and timers that are events of the world.
type Clock struct {
	world *World
	alive func() bool
}

var _ clock.WithTicker = (*Clock)(nil)

// Now implements clock.PassiveClock.
func (c *Clock) Now() time.Time { return time.Now() }

// Since implements clock.PassiveClock.
func (c *Clock) Since(t time.Time) time.Duration { return time.Since(t) }

// After implements clock.Clock.
func (c *Clock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).C() }

// Tick implements clock.Clock.
func (c *Clock) Tick(d time.Duration) <-chan time.Time { return c.NewTicker(d).C() }

// Sleep implements clock.Clock.
func (c *Clock) Sleep(d time.Duration) { <-c.After(d) }

// NewTimer implements clock.Clock.
func (c *Clock) NewTimer(d time.Duration) clock.Timer {
	t := &timer{clock: c, c: make(chan time.Time, 1)}
	t.start(d)
	return t
}

// NewTicker implements clock.WithTicker.
func (c *Clock) NewTicker(d time.Duration) clock.Ticker {
	t := &ticker{timer: timer{clock: c, c: make(chan time.Time, 1)}}
	t.every = d
	t.start(d)
	return t
}

type timer struct {
	clock *Clock
	c     chan time.Time
	event *event
	// actor is what set it, and runs when it fires.
	actor string
	// every is the period of a ticker.
	every time.Duration
}

type ticker struct{ timer }

func (t *timer) start(d time.Duration) {
	w := t.clock.world
	t.actor = w.acting()
	t.event = w.after(d, "timer", t.fire)
}

func (t *timer) fire() {
	if !t.clock.alive() {
		return
	}
	t.clock.world.act(t.actor)
	select {
	case t.c <- time.Now():
	default:
	}
	if t.every > 0 {
		t.start(t.every)
	}
}

// C implements clock.Timer.
func (t *timer) C() <-chan time.Time { return t.c }

// Stop implements clock.Timer.
func (t *timer) Stop() bool {
	inTime := t.clock.world.stop(t.event)
	select {
	case <-t.c:
	default:
	}
	return inTime
}

// Reset implements clock.Timer.
func (t *timer) Reset(d time.Duration) bool {
	inTime := t.Stop()
	t.start(d)
	return inTime
}

// Stop implements clock.Ticker.
func (t *ticker) Stop() { t.timer.Stop() }
