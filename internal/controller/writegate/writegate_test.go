package writegate_test

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/controller/writegate"
)

func TestBatchGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := writegate.New(clock.RealClock{})
		decided := time.Now()
		want := func(waits bool, when string) {
			t.Helper()
			if got := b.Delay("claim", decided); got > 0 != waits {
				t.Errorf("%s: waits %v", when, got)
			}
		}
		want(false, "before any batch")
		first, second := b.Begin(), b.Begin()
		want(true, "while two are written")
		first()
		want(true, "while one is written")
		second()
		want(false, "after both")
		end := b.Begin()
		time.Sleep(4999 * time.Millisecond)
		want(true, "while one is slow")
		time.Sleep(time.Millisecond)
		want(false, "when it has waited long enough")
		decided = time.Now()
		want(true, "in a later decision, while the same one is slow")
		end()
		var none *writegate.Gate
		none.Begin()()
		if none.Delay("claim", decided) != 0 {
			t.Error("nothing waits for no batch")
		}
	})
}

// TestBatchWithClockBehind: with a clock behind that of the API server, decisions have times in the future. They are delayed
// no longer than others by continuous batches.
func TestBatchWithClockBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := writegate.New(clock.RealClock{})
		defer b.Begin()()
		decided := time.Now().Add(time.Minute)
		want := func(waits bool, of types.UID, when string) {
			t.Helper()
			if got := b.Delay(of, decided); got > 0 != waits {
				t.Errorf("%s: waits %v", when, got)
			}
		}
		want(true, "a", "when it is met")
		time.Sleep(3 * time.Second)
		want(true, "b", "when another one is met")
		time.Sleep(1999 * time.Millisecond)
		want(true, "a", "before it has waited long enough")
		time.Sleep(time.Millisecond)
		want(false, "a", "when it has waited long enough")
		want(true, "b", "while b has not")
		want(false, "a", "when it is retried")
		decided = decided.Add(time.Second)
		want(true, "a", "when the next thing is decided about it")
	})
}
