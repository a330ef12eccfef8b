package awstest

import (
	"math/rand/v2"
	"net/http"
)

// storm is bad weather: a share of what is asked fails. The account's lock guards it.
type storm struct {
	throttled, barren float64
	draw              *rand.Rand
}

// Storm lets a share of all calls to EC2 be refused as too many, and a share of a fleet's attempts find no capacity in their pool, both
// drawn from a seed. Shares of 0 end it.
func (a *Account) Storm(throttled, barren float64, seed uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.storm = storm{throttled, barren, rand.New(rand.NewPCG(seed, seed))}
}

// throttles draws whether a call is refused.
func (s *storm) throttles() *apiError {
	if s.draw == nil || s.draw.Float64() >= s.throttled {
		return nil
	}
	return &apiError{status: http.StatusServiceUnavailable, code: Throttled, message: "Request limit exceeded."}
}

// finds draws whether a pool has nothing at this moment.
func (s *storm) finds() *Refusal {
	if s.draw == nil || s.draw.Float64() >= s.barren {
		return nil
	}
	return &Refusal{"InsufficientInstanceCapacity", "We currently do not have sufficient capacity in the Availability Zone you requested."}
}
