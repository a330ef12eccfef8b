package ttlcache_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

// Every sleep here is in a bubble, where it takes no time.

func TestEntriesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := ttlcache.New[string, int](clock.RealClock{}, time.Minute)
		start := time.Now()
		c.Set("a", 1)
		time.Sleep(30 * time.Second)
		c.Set("b", 2)
		for _, check := range []struct {
			at   time.Duration
			want map[string]int
			left time.Duration // of b
		}{
			{30 * time.Second, map[string]int{"a": 1, "b": 2}, time.Minute},
			{time.Minute - 1, map[string]int{"a": 1, "b": 2}, 30*time.Second + 1},
			{time.Minute, map[string]int{"b": 2}, 30 * time.Second},
			{90 * time.Second, map[string]int{}, 0},
		} {
			time.Sleep(time.Until(start.Add(check.at)))
			if got := c.All(); !maps.Equal(got, check.want) {
				t.Errorf("after %v: %v, want %v", check.at, got, check.want)
			}
			for _, key := range []string{"a", "b", "c"} {
				got, ok := c.Get(key)
				if want, wantOK := check.want[key]; got != want || ok != wantOK {
					t.Errorf("%s after %v: %d, %v", key, check.at, got, ok)
				}
			}
			if _, left := c.GetWithTTL("b"); left != check.left {
				t.Errorf("b expires in %v after %v, want %v", left, check.at, check.left)
			}
		}
	})
}

func TestLoadedValuesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := ttlcache.New[string, int](clock.RealClock{}, time.Minute)
		calls := 0
		load := func() int {
			value, err := c.GetOrLoad(t.Context(), "a", func(context.Context) (int, error) { calls++; return calls, nil })
			if err != nil {
				t.Fatal(err)
			}
			return value
		}
		for _, want := range []int{1, 1, 2, 2} {
			if got := load(); got != want {
				t.Errorf("got %d, want %d", got, want)
			}
			time.Sleep(40 * time.Second)
		}
		c.Delete("a")
		if got := load(); got != 3 {
			t.Errorf("a deleted entry is still there: %d", got)
		}
	})
}

func TestCallersShareOneLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := ttlcache.New[string, int](clock.RealClock{}, time.Minute)
		calls := 0
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				value, err := c.GetOrLoad(t.Context(), "a", func(context.Context) (int, error) {
					time.Sleep(time.Second)
					if calls++; calls == 1 {
						return 0, errors.New("the first call fails")
					}
					return calls, nil
				})
				if err == nil && value != 2 {
					t.Errorf("got %d", value)
				}
			})
		}
		all.Wait()
		if calls != 2 {
			t.Errorf("%d calls", calls)
		}
	})
}

func TestSetWithTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := ttlcache.New[string, int](clock.RealClock{}, time.Minute)
		c.SetWithTTL("a", 1, time.Hour)
		time.Sleep(time.Hour - time.Nanosecond)
		if _, ok := c.Get("a"); !ok {
			t.Error("it expired before its own TTL")
		}
		time.Sleep(time.Nanosecond)
		if _, ok := c.Get("a"); ok {
			t.Error("it did not expire")
		}
	})
}

func TestExpiredEntriesAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := ttlcache.New[int, bool](clock.RealClock{}, time.Minute)
		for i := range 1000 {
			c.Set(i, true)
			time.Sleep(time.Second)
		}
		if got := c.Len(); got > 120 {
			t.Errorf("%d entries in memory, want those of two minutes at most", got)
		}
	})
}
