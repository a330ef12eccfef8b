// Package poll runs a check periodically during a test, and distinguishes lasting states from those between two writes.
package poll

import (
	"context"
	"sync"
	"testing"
	"time"
)

// Every calls check every period until ctx ends or stop is called. stop cancels the context of a check that runs and waits for it; it may
// be called more than once.
func Every(ctx context.Context, period time.Duration, check func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				check(ctx)
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

const (
	// untilPeriod is the time between two checks of Until, untilLimit how long it waits.
	untilPeriod, untilLimit = time.Millisecond, 30 * time.Second
)

// Until runs check every millisecond until it holds. The test fails, with what was waited for, after 30 seconds.
func Until(t testing.TB, what string, check func() bool) {
	t.Helper()
	tick := time.NewTicker(untilPeriod)
	defer tick.Stop()
	limit := time.NewTimer(untilLimit)
	defer limit.Stop()
	for !check() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("waited %s until %s", untilLimit, what)
		}
	}
}

// Streaks counts, by key, in how many consecutive checks a condition held. The zero value is empty; it is not safe for concurrent use.
type Streaks struct {
	seen map[string]int
}

// Reached records whether the condition called key holds in this check, and reports whether it now has held exactly checks times in a row:
// true once per streak.
func (s *Streaks) Reached(key string, holds bool, checks int) bool {
	if !holds {
		delete(s.seen, key)
		return false
	}
	if s.seen == nil {
		s.seen = map[string]int{}
	}
	s.seen[key]++
	return s.seen[key] == checks
}
