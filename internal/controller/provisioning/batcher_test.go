package provisioning

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// waitOnce runs one Wait while script triggers, and reports how long it took and whether it was triggered.
func waitOnce(t *testing.T, script func(b *Batcher)) (took time.Duration, triggered bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := NewBatcher(clock.RealClock{}, time.Second, 10*time.Second)
		var told sync.WaitGroup
		told.Go(func() { script(b) })
		start := time.Now()
		triggered = b.Wait(t.Context())
		took = time.Since(start)
		told.Wait()
	})
	return took, triggered
}

func TestBatchWindows(t *testing.T) {
	t.Attr("covers", "L001 L002 L003 L004 L005")
	every := func(pause time.Duration, n int, id func(int) string) func(*Batcher) {
		return func(b *Batcher) {
			for i := range n {
				b.Trigger(id(i))
				time.Sleep(pause) // of the bubble's clock: no real time passes
			}
		}
	}
	same := func(int) string { return "pod" }
	for _, c := range []struct {
		name      string
		script    func(*Batcher)
		took      time.Duration
		triggered bool
	}{
		{"a single trigger leads to a pass after the idle duration", every(0, 1, same), time.Second, true},
		{"the same pod does not extend the window", every(400*time.Millisecond, 5, same), time.Second, true},
		{"another pod restarts the idle timer", every(900*time.Millisecond, 3, strconv.Itoa), 2800 * time.Millisecond, true},
		{"the window never exceeds the maximum", every(500*time.Millisecond, 40, strconv.Itoa), 10 * time.Second, true},
		{"without a trigger the wait ends after a second", func(*Batcher) {}, time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			took, triggered := waitOnce(t, c.script)
			if took != c.took || triggered != c.triggered {
				t.Errorf("waited %v, triggered %v; want %v, %v", took, triggered, c.took, c.triggered)
			}
		})
	}
}

// passesOf runs passes that take no time for elements that arrive at these times, and returns when the passes start.
func passesOf(t *testing.T, arrivals []time.Duration) []time.Duration {
	t.Helper()
	var out []time.Duration
	synctest.Test(t, func(t *testing.T) {
		b := NewBatcher(clock.RealClock{}, time.Second, 10*time.Second)
		start := time.Now()
		var told sync.WaitGroup
		told.Go(func() {
			for i, at := range arrivals {
				time.Sleep(time.Until(start.Add(at)))
				b.Trigger(strconv.Itoa(i))
			}
		})
		for until := arrivals[len(arrivals)-1] + 20*time.Second; time.Since(start) < until; {
			if b.Wait(t.Context()) {
				out = append(out, time.Since(start))
			}
		}
		told.Wait()
	})
	return out
}

func TestWindowsAdaptToTheRhythmOfArrivals(t *testing.T) {
	const s = time.Second
	every := func(pause time.Duration, n int) []time.Duration {
		out := make([]time.Duration, n)
		for i := range out {
			out[i] = time.Duration(i) * pause
		}
		return out
	}
	for _, c := range []struct {
		name     string
		arrivals []time.Duration
		passes   []time.Duration
	}{
		{"single elements wait for the idle duration", every(4*s, 3), []time.Duration{s, 5 * s, 9 * s}},
		{
			"intervals just above the idle duration lead to long windows", every(1500*time.Millisecond, 12),
			[]time.Duration{s, 11500 * time.Millisecond, 18500 * time.Millisecond},
		},
		{
			"intervals below the idle duration leave it as it is", every(500*time.Millisecond, 22),
			[]time.Duration{10 * s, 11500 * time.Millisecond},
		},
		{
			"a pause restores the idle duration",
			[]time.Duration{0, 1500 * time.Millisecond, 3 * s, 8 * s},
			[]time.Duration{s, 5 * s, 9 * s},
		},
		{
			"the idle duration grows to a quarter of the longest window",
			[]time.Duration{0, 1900 * time.Millisecond, 4300 * time.Millisecond, 6900 * time.Millisecond},
			[]time.Duration{s, 3900 * time.Millisecond, 6800 * time.Millisecond, 7900 * time.Millisecond},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := passesOf(t, c.arrivals); !slices.Equal(got, c.passes) {
				t.Errorf("passes at %v, want %v", got, c.passes)
			}
		})
	}
}

// TestRemindersSayNothingOfArrivals: pods that are known keep windows open for each other, but no window waits longer because of them.
func TestRemindersSayNothingOfArrivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBatcher(clock.RealClock{}, time.Second, 10*time.Second)
		b.Trigger("new")
		for i := range 5 {
			start := time.Now()
			if !b.Wait(t.Context()) || time.Since(start) != time.Second {
				t.Errorf("window %d took %s, want a second", i, time.Since(start))
			}
			if got, want := b.lastWindow(), (window{arrived: i == 0}); got != want {
				t.Errorf("window %d closed as %+v, want %+v", i, got, want)
			}
			time.Sleep(500 * time.Millisecond)
			b.Remind(strconv.Itoa(i))
		}
	})
}

func TestTriggersBetweenWindowsAreNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBatcher(clock.RealClock{}, time.Second, 10*time.Second)
		b.Trigger("first")
		b.Wait(t.Context())
		b.Trigger("second") // while a pass is running
		time.Sleep(time.Minute)
		if !b.Wait(t.Context()) {
			t.Error("a trigger that arrived during a pass was lost")
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBatcher(clock.RealClock{}, time.Hour, time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		b.Trigger("pod")
		if b.Wait(ctx) {
			t.Error("a window that was cut short counts as triggered")
		}
	})
}
