package loop_test

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/controller/loop"
)

func TestBatchGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := loop.NewBatch(clock.RealClock{})
		decided := time.Now()
		want := func(waits bool, when string) {
			t.Helper()
			if got := b.Wait(decided); got > 0 != waits {
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
		var none *loop.Batch
		none.Begin()()
		if none.Wait(decided) != 0 {
			t.Error("nothing waits for no batch")
		}
	})
}
