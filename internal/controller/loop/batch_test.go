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
		want := func(waits bool, when string) {
			t.Helper()
			if got := b.Wait(); got > 0 != waits {
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
		time.Sleep(1999 * time.Millisecond)
		want(true, "while one is slow")
		time.Sleep(time.Millisecond)
		want(false, "while one takes too long")
		end()
		defer b.Begin()()
		want(true, "in the next one")
		var none *loop.Batch
		none.Begin()()
		if none.Wait() != 0 {
			t.Error("nothing waits for no batch")
		}
	})
}
