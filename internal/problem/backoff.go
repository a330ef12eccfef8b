package problem

import (
	"hash/fnv"
	"math"
	"sync"
	"time"
)

// forgetAfter is how long after the end of a backoff the earlier failures count.
const forgetAfter = 30 * time.Minute

// backoffJitter is by which part of it a delay is extended at most.
const backoffJitter = 0.2

// Backoffs records for which nodes commands failed, by the name of the NodeClaim, or from which pools replacements failed, so that
// the next pass tries others. It is safe for concurrent use.
//
// Invariant: the same failures at the same times give the same backoffs. The jitter, which keeps nodes that failed together from being retried
// together, is computed from the name and the number of failures.
type Backoffs struct {
	mu    sync.Mutex
	known map[string]backoff
}

type backoff struct {
	failures int
	until    time.Time
}

// NewBackoffs are those of a controller that starts.
func NewBackoffs() *Backoffs { return &Backoffs{known: map[string]backoff{}} }

// Fail starts or extends the backoff of a node or pool. A failure during the backoff originates from before it and is ignored.
func (s *Backoffs) Fail(name string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.known[name]
	if now.Before(b.until) {
		return
	}
	b.failures++
	b.until = now.Add(backoffDelay(name, b.failures))
	s.known[name] = b
}

// backoffDelay is how long a node or pool is left alone after so many failures.
func backoffDelay(name string, failures int) time.Duration {
	delay := MinBackoff
	for range failures - 1 {
		if delay = min(2*delay, MaxBackoff); delay == MaxBackoff {
			return delay
		}
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	_, _ = h.Write([]byte{0, byte(failures)})
	return delay + time.Duration(float64(delay)*backoffJitter*float64(h.Sum32())/math.MaxUint32)
}

// Succeed forgets the failures of a node or pool.
func (s *Backoffs) Succeed(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, name)
}

// Active returns the nodes or pools that are in backoff.
func (s *Backoffs) Active(now time.Time) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]bool{}
	for name, b := range s.known {
		switch {
		case now.Before(b.until):
			out[name] = true
		case now.Sub(b.until) > forgetAfter:
			delete(s.known, name)
		}
	}
	return out
}

// NextEnd is when the first backoff after now ends; zero if none is active.
func (s *Backoffs) NextEnd(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first time.Time
	for _, b := range s.known {
		if b.until.After(now) && (first.IsZero() || b.until.Before(first)) {
			first = b.until
		}
	}
	return first
}
