package memo_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud/aws/memo"
)

// Every sleep here is in a bubble, where it takes no time.

func TestAnswersAreRememberedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memo.New[int](clock.RealClock{}, time.Minute)
		asked := 0
		fetch := func() int {
			value, err := m.Fetch(t.Context(), "a", func(context.Context) (int, error) { asked++; return asked, nil })
			if err != nil {
				t.Fatal(err)
			}
			return value
		}
		for _, want := range []int{1, 1, 2, 2} {
			if got := fetch(); got != want {
				t.Errorf("got answer %d, want %d", got, want)
			}
			time.Sleep(40 * time.Second)
		}
		m.Delete("a")
		if got := fetch(); got != 3 {
			t.Errorf("what is forgotten is still there: %d", got)
		}
	})
}

func TestManyShareAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memo.New[int](clock.RealClock{}, time.Minute)
		asked := 0
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				value, err := m.Fetch(t.Context(), "a", func(context.Context) (int, error) {
					time.Sleep(time.Second)
					if asked++; asked == 1 {
						return 0, errors.New("the first question fails")
					}
					return asked, nil
				})
				if err == nil && value != 2 {
					t.Errorf("got %d", value)
				}
			})
		}
		all.Wait()
		if asked != 2 {
			t.Errorf("asked %d times", asked)
		}
	})
}
