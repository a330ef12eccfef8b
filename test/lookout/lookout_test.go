package lookout_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-anew/karpenter/test/lookout"
)

// A post looks once a period, and not any more once it has ended, however it ended and however often.
func TestPostLooksUntilItEnds(t *testing.T) {
	for name, byContext := range map[string]bool{"ended": false, "the context ends": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				looks := 0
				end := lookout.Post(ctx, time.Second, func(context.Context) {
					time.Sleep(300 * time.Millisecond)
					looks++
				})
				time.Sleep(3100 * time.Millisecond) // in the middle of the third look
				if byContext {
					cancel()
				}
				end()
				if looks != 3 {
					t.Errorf("%d looks in 3.1 s at one a second, want 3: the last one is waited for", looks)
				}
				time.Sleep(10 * time.Second)
				end()
				if looks != 3 {
					t.Errorf("%d looks some time after the end, want still 3", looks)
				}
			})
		})
	}
}

// Only what was so in enough looks in a row lasts, and that is said once until it stops and begins anew.
func TestStreaksBreak(t *testing.T) {
	var s lookout.Streaks
	for i, look := range []struct{ so, lasts bool }{
		{true, false}, {true, false}, {false, false}, {true, false}, {true, false}, {true, true}, {true, false}, {false, false}, {true, false}, {true, false}, {true, true},
	} {
		if got := s.Lasts("it", look.so, 3); got != look.lasts {
			t.Errorf("look %d: it lasts: %t, want %t", i, got, look.lasts)
		}
		if s.Lasts("something else", i%2 == 0, 2) {
			t.Errorf("look %d: what is so in every other look is said to last", i)
		}
	}
}
