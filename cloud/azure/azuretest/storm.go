package azuretest

import (
	"math/rand/v2"
	"net/http"
	"time"
)

// stormRetryAfter is what calls that a storm throttles are told to wait.
const stormRetryAfter = time.Second

// storm injects failures into a share of the calls. The account's lock guards it.
type storm struct {
	throttled, barren float64
	draw              *rand.Rand
}

// Storm throttles a share of all calls that need a token, and lets a share of the virtual machines fail for insufficient capacity after
// their request was accepted, both drawn from a seed. Shares of 0 stop it.
func (a *Account) Storm(throttled, barren float64, seed uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.trouble.storm = storm{throttled, barren, rand.New(rand.NewPCG(seed, seed))}
}

// throttles draws whether a call is throttled; nil if not.
func (s *storm) throttles() error {
	if s.draw == nil || s.draw.Float64() >= s.throttled {
		return nil
	}
	return &apiError{
		status: http.StatusTooManyRequests, code: "TooManyRequests", message: "The request is being throttled as the limit has been reached for operation type.",
		retryAfter: stormRetryAfter,
	}
}

// finds draws whether a pool has no capacity at the moment.
func (s *storm) finds(p Pool) *Refusal {
	if s.draw == nil || s.draw.Float64() >= s.barren {
		return nil
	}
	return &Refusal{Code: p.exhausted(), Message: allocationFailed, Late: true}
}
