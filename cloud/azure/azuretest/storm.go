package azuretest

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"time"
)

// stormRetryAfter is what calls that a storm throttles are told to wait.
const stormRetryAfter = time.Second

// storm injects failures into a share of the calls. The account's lock guards it.
type storm struct {
	throttled, failing float64
	// throttles and launches draw separately, so that which launches fail does not depend on how often clients poll.
	throttles, launches *rand.Rand
	// failures counts failed launches by error code, requested all launches.
	failures  map[string]int
	requested int
}

// Storm throttles a share of all calls that need a token, and lets a share of the new virtual machines fail because of capacity or quota, both
// drawn from a seed. Which error it is depends on what was requested: see capacityErrors. An error says nothing about the next launch of the same pool;
// RunOut takes capacity for good. Shares of 0 stop it.
func (a *Account) Storm(throttled, failing float64, seed uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.trouble.storm = storm{
		throttled: throttled, failing: failing, failures: map[string]int{},
		throttles: rand.New(rand.NewPCG(seed, 1)), launches: rand.New(rand.NewPCG(seed, 2)),
	}
}

// StormFailures counts the launches since Storm, and those that it let fail, by error code.
func (a *Account) StormFailures() (requested int, failed map[string]int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.trouble.storm.requested, maps.Clone(a.trouble.storm.failures)
}

// throttle draws whether a call is throttled; nil if not.
func (s *storm) throttle() error {
	if s.throttles == nil || s.throttles.Float64() >= s.throttled {
		return nil
	}
	return &apiError{
		status: http.StatusTooManyRequests, code: "TooManyRequests", message: "The request is being throttled as the limit has been reached for operation type.",
		retryAfter: stormRetryAfter,
	}
}

// capacityError is an error about capacity or quota.
type capacityError struct {
	code string
	// zonal errors are those of launches in a zone. priority is that of the launches which can have the error; empty for both.
	zonal    bool
	priority string
	// late errors come after the request was accepted.
	late bool
	// weight is how often it is drawn beside the others.
	weight int
}

// capacityErrors are the errors of a storm. Errors that make all spot capacity or a whole size unavailable are rarer than those of one zone, as they
// are on Azure.
func capacityErrors() []capacityError {
	return []capacityError{
		{code: "ZonalAllocationFailed", zonal: true, late: true, weight: 8},
		{code: "OverconstrainedZonalAllocationRequest", zonal: true, late: true, weight: 4},
		{code: "SkuNotAvailable", weight: 3},
		{code: "AllocationFailed", late: true, weight: 2},
		{code: "OverconstrainedAllocationRequest", late: true, weight: 2},
		{code: codeQuota, priority: "Regular", weight: 2},
		{code: codeQuota, priority: "Spot", weight: 1},
	}
}

// fails draws whether a new virtual machine fails; nil if not.
func (a *Account) fails(p Pool) *Refusal {
	s := &a.trouble.storm
	if s.launches == nil {
		return nil
	}
	s.requested++
	draw, which := s.launches.Float64(), s.launches.Float64()
	if draw >= s.failing {
		return nil
	}
	var possible []capacityError
	sum := 0
	for _, one := range capacityErrors() {
		if (!one.zonal || p.Zone != "") && (one.priority == "" || one.priority == p.Priority) {
			possible, sum = append(possible, one), sum+one.weight
		}
	}
	at := int(which * float64(sum))
	for _, one := range possible {
		if at -= one.weight; at < 0 {
			s.failures[one.code]++
			return &Refusal{Code: one.code, Message: a.capacityMessage(one.code, p), Late: one.late}
		}
	}
	return nil
}

// capacityMessage is the message of an error of a storm.
func (a *Account) capacityMessage(code string, p Pool) string {
	switch code {
	case codeQuota:
		size, _ := a.sizeOf(p.Size)
		quota := quotas(size, p.Priority)[0]
		used := a.used(quota)
		return a.quotaMessage(quota, used, used, size.VCPUs)
	case "SkuNotAvailable":
		return "The requested size for resource is currently not available in location '" + a.location + "'. Please try another size or deploy to a different location or zones."
	case "OverconstrainedZonalAllocationRequest", "OverconstrainedAllocationRequest":
		return "Allocation failed. VM(s) with the following constraints cannot be allocated, because the condition is too restrictive. Please remove some constraints and try again."
	default:
		return allocationFailed
	}
}
