package awstest

import (
	"math/rand/v2"
	"net/http"
)

// storm injects failures into a share of the calls. The account's lock guards it.
type storm struct {
	throttled, barren float64
	draw              *rand.Rand
}

// Storm throttles a share of all calls to EC2, and makes a share of a fleet's attempts fail for insufficient capacity, both
// drawn from a seed. Shares of 0 stop it.
func (a *Account) Storm(throttled, barren float64, seed uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.storm = storm{throttled, barren, rand.New(rand.NewPCG(seed, seed))}
}

// throttles draws whether a call is throttled.
func (s *storm) throttles() *apiError {
	if s.draw == nil || s.draw.Float64() >= s.throttled {
		return nil
	}
	return &apiError{status: http.StatusServiceUnavailable, code: Throttled, message: "Request limit exceeded."}
}

// finds draws whether a pool has no capacity at the moment.
func (s *storm) finds() *Refusal {
	if s.draw == nil || s.draw.Float64() >= s.barren {
		return nil
	}
	return &Refusal{"InsufficientInstanceCapacity", "We currently do not have sufficient capacity in the Availability Zone you requested."}
}
