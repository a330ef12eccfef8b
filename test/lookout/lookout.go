// Package lookout looks at a cluster again and again while something else goes on, and tells what lasts from what shows for a moment
// between two states.
package lookout

import (
	"context"
	"sync"
	"time"
)

// Post calls look every period until ctx ends or the returned function is called, which interrupts the last look and waits for it. It may
// be called more than once.
func Post(ctx context.Context, period time.Duration, look func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var post sync.WaitGroup
	post.Go(func() {
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				look(ctx)
			}
		}
	})
	return func() {
		cancel()
		post.Wait()
	}
}

// Streaks counts in how many looks in a row things were so. The zero value has seen nothing; it is not for several goroutines.
type Streaks struct {
	seen map[string]int
}

// Lasts takes down whether something is so in this look, and reports whether that makes it so many looks in a row: once a streak.
func (s *Streaks) Lasts(what string, so bool, looks int) bool {
	if !so {
		delete(s.seen, what)
		return false
	}
	if s.seen == nil {
		s.seen = map[string]int{}
	}
	s.seen[what]++
	return s.seen[what] == looks
}
