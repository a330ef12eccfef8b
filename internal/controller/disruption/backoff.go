package disruption

import (
	"math/rand/v2"
	"sync"
	"time"
)

// The bounds of how long a node is left alone after a command for it failed; the time doubles with every further failure.
const minBackoff, maxBackoff = 20 * time.Second, 15 * time.Minute

// forgotten is how long after the end of a rest the failures before it count.
const forgetAfter = 30 * time.Minute

// setbacks remembers for which nodes commands failed, by the name of the NodeClaim, or from which pools replacements did,
// so that the next pass tries others. It is safe for concurrent use.
type backoffs struct {
	mu    sync.Mutex
	known map[string]backoff
}

type backoff struct {
	failures int
	until    time.Time
}

func newBackoffs() *backoffs { return &backoffs{known: map[string]backoff{}} }

// fail lets a node or pool rest. What fails while it rests has been begun before, and adds nothing.
func (s *backoffs) fail(name string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.known[name]
	if now.Before(b.until) {
		return
	}
	rest := min(minBackoff<<min(b.failures, 10), maxBackoff)
	// Nodes that failed together do not come back together.
	rest += time.Duration(rand.Int64N(int64(rest/5) + 1)) //nolint:gosec // no secret
	s.known[name] = backoff{failures: b.failures + 1, until: now.Add(rest)}
}

// succeed forgets the failures of a node or pool.
func (s *backoffs) succeed(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, name)
}

// resting are those that are to be left alone now.
func (s *backoffs) active(now time.Time) map[string]bool {
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
