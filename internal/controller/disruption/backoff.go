package disruption

import (
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karpenter-anew/karpenter/internal/problem"
)

// forgetAfter is how long after the end of a backoff the earlier failures count.
const forgetAfter = 30 * time.Minute

// backoffs records for which nodes commands failed, by the name of the NodeClaim, or from which pools replacements failed, so that
// the next pass tries others. It is safe for concurrent use.
type backoffs struct {
	mu    sync.Mutex
	known map[string]backoff
}

// backoffSet has the backoffs of nodes, those of nodes in commands for several nodes, and those of pools.
type backoffSet struct{ nodes, groups, pools *backoffs }

type backoff struct {
	delays wait.Backoff
	until  time.Time
}

func newBackoffs() *backoffs { return &backoffs{known: map[string]backoff{}} }

// fail starts or extends the backoff of a node or pool. A failure during the backoff originates from before it and is ignored.
func (s *backoffs) fail(name string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.known[name]
	if now.Before(b.until) {
		return
	}
	if !ok {
		// The jitter keeps nodes that failed together from being retried together.
		b.delays = wait.Backoff{Duration: problem.MinBackoff, Factor: 2, Jitter: 0.2, Cap: problem.MaxBackoff, Steps: math.MaxInt}
	}
	b.until = now.Add(b.delays.Step())
	s.known[name] = b
}

// succeed forgets the failures of a node or pool.
func (s *backoffs) succeed(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, name)
}

// active returns the nodes or pools that are in backoff.
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
