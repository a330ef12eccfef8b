package sim

import (
	"time"
	"unsafe"

	"k8s.io/utils/clock"
)

// Clock is the clock of a process: the time of the bubble, and timers that are events of the world.
type Clock struct {
	world *World
	// process is the one whose clock it is; nil for none.
	process *Process
	alive   func() bool
	// skew is how far the wall clock is ahead.
	skew func() time.Duration
}

var _ clock.WithTicker = (*Clock)(nil)

// Now implements clock.PassiveClock.
func (c *Clock) Now() time.Time { return reading(time.Now(), c.skew()) }

// Since implements clock.PassiveClock.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

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

// start schedules the timer; that of a process which has crashed never fires.
func (t *timer) start(d time.Duration) {
	w := t.clock.world
	if !t.clock.alive() {
		t.event = &event{stopped: true, index: -1}
		return
	}
	t.actor = w.acting()
	t.event = w.after(d, "timer", t.fire)
	t.event.process, t.event.place = t.clock.process, place(t.actor)
}

func (t *timer) fire() {
	if !t.clock.alive() {
		return
	}
	t.clock.world.act(t.actor)
	select {
	case t.c <- t.clock.Now():
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

// reading is a time as a process reads it on a host whose wall clock is wrong: the wall clock is ahead by skew, and the monotonic clock is right,
// so that the time between two readings is. In a bubble, times have no monotonic clock, and the package time has no way to set one.
func reading(now time.Time, skew time.Duration) time.Time {
	out := now.Add(skew)
	epoch := time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix() // from which time.Time counts when it has a monotonic clock
	layout := (*struct {                                        // that of time.Time, as documented there
		wall uint64
		ext  int64
	})(unsafe.Pointer(&out)) //nolint:gosec // see above
	layout.wall = 1<<63 | uint64(out.Unix()-epoch)<<30 | uint64(out.Nanosecond()) //nolint:gosec // between 1885 and 2157
	layout.ext = now.UnixNano()
	return out
}
