package poll_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-anew/karpenter/test/poll"
)

// TestEveryChecksUntilItIsStopped: checks run once per period until stop is called, even twice, or the context ends.
func TestEveryChecksUntilItIsStopped(t *testing.T) {
	for name, byContext := range map[string]bool{"stop": false, "the context ends": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				checks := 0
				stop := poll.Every(ctx, time.Second, func(context.Context) {
					time.Sleep(300 * time.Millisecond)
					checks++
				})
				time.Sleep(3100 * time.Millisecond) // in the middle of the third check
				if byContext {
					cancel()
				}
				stop()
				if checks != 3 {
					t.Errorf("%d checks in 3.1 s at one a second, want 3: the last one is waited for", checks)
				}
				time.Sleep(10 * time.Second)
				stop()
				if checks != 3 {
					t.Errorf("%d checks some time after stop, want still 3", checks)
				}
			})
		})
	}
}

// failing is a test that a check may fail, with what it says.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// TestUntil checks that a check is repeated until it holds, and fails a test if it does not within half a minute.
func TestUntil(t *testing.T) {
	for name, test := range map[string]struct {
		after time.Duration // when the check begins to hold
		took  time.Duration
		said  string
	}{
		"at once": {0, 0, ""},
		"later":   {5 * time.Second, 5 * time.Second, ""},
		"never":   {time.Hour, 30 * time.Second, "waited 30s until the list is read"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, start, done := &failing{TB: t}, time.Now(), make(chan struct{})
				go func() {
					defer close(done)
					poll.Until(f, "the list is read", func() bool { return time.Since(start) >= test.after })
				}()
				<-done
				if took := time.Since(start); took != test.took || f.said != test.said {
					t.Errorf("took %s, want %s; said %q, want %q", took, test.took, f.said, test.said)
				}
			})
		})
	}
}

// A streak is reported once, when it is long enough, until it breaks and starts over.
func TestStreaksBreak(t *testing.T) {
	var s poll.Streaks
	for i, check := range []struct{ holds, reached bool }{
		{true, false}, {true, false}, {false, false}, {true, false}, {true, false}, {true, true}, {true, false}, {false, false}, {true, false}, {true, false}, {true, true},
	} {
		if got := s.Reached("first", check.holds, 3); got != check.reached {
			t.Errorf("check %d: reached: %t, want %t", i, got, check.reached)
		}
		if s.Reached("second", i%2 == 0, 2) {
			t.Errorf("check %d: a condition that holds in every other check is reported", i)
		}
	}
}
