package provisioning

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// window runs one Wait while script triggers, and reports how long it took and whether it was triggered.
func window(t *testing.T, script func(b *Batcher)) (took time.Duration, triggered bool) {
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
				time.Sleep(pause)
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
			took, triggered := window(t, c.script)
			if took != c.took || triggered != c.triggered {
				t.Errorf("waited %v, triggered %v; want %v, %v", took, triggered, c.took, c.triggered)
			}
		})
	}
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
