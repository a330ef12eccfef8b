package azuretest

import (
	"net/http"
	"time"
)

// NICReservation is how long Azure keeps a network interface for a virtual machine that failed.
const NICReservation = 180 * time.Second

// trouble is the injected failures. The account's lock guards it.
type trouble struct {
	failures map[string][]failure
	// refusals are the errors of pools; empty fields match any. remaining is how many more virtual machines pools can have.
	refusals  map[Pool]Refusal
	remaining map[Pool]int
	// limits are vCPUs by the name of the usage.
	limits map[string]int
	// graphLag is for how long Resource Graph does not know what changed.
	graphLag time.Duration
	// ghosts are deleted resources that Resource Graph still knows.
	ghosts []*resource
	// reservation is for how long a network interface is kept for a virtual machine that failed.
	reservation time.Duration
	// storm fails a share of the calls.
	storm storm
}

// failure is an error for a number of calls.
type failure struct {
	err   *apiError
	times int
}

// Pool is a capacity pool. An empty field matches all, also virtual machines without a zone.
type Pool struct {
	// Size is the name of a SKU, Zone the number of a zone, Priority Spot or Regular.
	Size, Zone, Priority string
}

// Refusal is the error of a pool.
type Refusal struct {
	Code, Message string
	// Late lets the request be accepted: the operation fails then, in an answer with status 200.
	Late bool
}

// Fail makes the next calls of an operation fail, a number of times; negative for always. The operation is a method and the last
// part of a type, for instance "PUT virtualMachines".
func (a *Account) Fail(operation string, status int, code, message string, times int) {
	a.fail(operation, &apiError{status: status, code: code, message: message}, times)
}

// Throttle refuses the next calls of an operation with status 429, a number of times; negative for always.
func (a *Account) Throttle(operation string, retryAfter time.Duration, times int) {
	a.fail(operation, &apiError{
		status: http.StatusTooManyRequests, code: "TooManyRequests", message: "The request is being throttled as the limit has been reached for operation type.", retryAfter: retryAfter,
	}, times)
}

func (a *Account) fail(operation string, err *apiError, times int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.trouble.failures == nil {
		a.trouble.failures = map[string][]failure{}
	}
	a.trouble.failures[operation] = append(a.trouble.failures[operation], failure{err, times})
}

// Recover ends all failures of an operation.
func (a *Account) Recover(operation string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.trouble.failures, operation)
}

// RunOut takes the capacity of a pool: operations fail late, with ZonalAllocationFailed in a zone and AllocationFailed without.
func (a *Account) RunOut(p Pool) { a.Refuse(p, Refusal{Late: true}) }

// Refuse makes a pool fail with the given error. An empty code is that of a pool without capacity.
func (a *Account) Refuse(p Pool, why Refusal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.trouble.refusals == nil {
		a.trouble.refusals = map[Pool]Refusal{}
	}
	a.trouble.refusals[p] = why
}

// Leave limits a pool to this many more virtual machines; then it has no capacity. The pool must say size and priority; without a
// zone it is the one of regional placement.
func (a *Account) Leave(p Pool, instances int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.trouble.remaining == nil {
		a.trouble.remaining = map[Pool]int{}
	}
	a.trouble.remaining[p] = instances
}

// Refill restores the capacity of a pool.
func (a *Account) Refill(p Pool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.trouble.refusals, p)
	delete(a.trouble.remaining, p)
}

// Limit sets a quota in vCPUs: of a family by its name, of all with "cores", of spot with "lowPriorityCores".
func (a *Account) Limit(usage string, vCPUs int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.trouble.limits == nil {
		a.trouble.limits = map[string]int{}
	}
	a.trouble.limits[usage] = vCPUs
}

// LagGraph delays what Resource Graph knows about resources that are created or deleted from now on.
func (a *Account) LagGraph(by time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.trouble.graphLag = by
}

// ReserveNICs keeps the network interfaces of virtual machines that fail from now on reserved for that long, usually NICReservation.
func (a *Account) ReserveNICs(during time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.trouble.reservation = during
}

// hinder returns the injected error of an operation. The account is locked.
func (a *Account) hinder(operation string) error {
	due := a.trouble.failures[operation]
	if len(due) == 0 {
		return nil
	}
	err := due[0].err
	if due[0].times > 0 {
		if due[0].times--; due[0].times == 0 {
			a.trouble.failures[operation] = due[1:]
		}
	}
	return err
}

// refusal is the error of a pool; nil if it has capacity. The account is locked.
func (a *Account) refusal(p Pool) *Refusal {
	if remaining, limited := a.trouble.remaining[p]; limited && remaining <= 0 {
		return &Refusal{Code: p.exhausted(), Message: allocationFailed, Late: true}
	}
	for _, size := range []string{p.Size, ""} {
		for _, zone := range []string{p.Zone, ""} {
			for _, priority := range []string{p.Priority, ""} {
				why, refused := a.trouble.refusals[Pool{size, zone, priority}]
				if !refused {
					continue
				}
				if why.Code == "" {
					why.Code, why.Message = p.exhausted(), allocationFailed
				}
				return &why
			}
		}
	}
	return a.fails(p)
}

const allocationFailed = "Allocation failed. We do not have sufficient capacity for the requested VM size in this region."

// exhausted is the code of a pool without capacity.
func (p Pool) exhausted() string {
	if p.Zone == "" {
		return "AllocationFailed"
	}
	return "ZonalAllocationFailed"
}

// consume takes the capacity of a virtual machine. The account is locked.
func (a *Account) consume(p Pool) {
	if _, limited := a.trouble.remaining[p]; limited {
		a.trouble.remaining[p]--
	}
}
