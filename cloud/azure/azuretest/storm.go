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
	throttled, failing float64
	draw               *rand.Rand
}

// Storm throttles a share of all calls that need a token, and lets a share of the virtual machines fail after their request was accepted, both
// drawn from a seed. The failure is an internal one: one for capacity makes all larger sizes of a family unavailable for an hour, and there are
// few families here. RunOut takes capacity. Shares of 0 stop it.
func (a *Account) Storm(throttled, failing float64, seed uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.trouble.storm = storm{throttled, failing, rand.New(rand.NewPCG(seed, seed))}
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

// fails draws whether a virtual machine fails; nil if not.
func (s *storm) fails() *Refusal {
	if s.draw == nil || s.draw.Float64() >= s.failing {
		return nil
	}
	return &Refusal{Code: "InternalExecutionError", Message: "An internal execution error occurred. Please retry later.", Late: true}
}
