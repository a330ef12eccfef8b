package awstest

import (
	"context"
	"net/http"
	"time"
)

// trouble is the injected failures. The account's lock guards it.
type trouble struct {
	failures map[string][]failure
	held     map[string]chan struct{}
	late     map[string]time.Duration
	// exhausted are pools without capacity; empty fields match any.
	exhausted map[Pool]Refusal
	// remaining is how many more instances pools have before they are exhausted; other pools are unlimited.
	remaining map[Pool]int
	// hiddenReads and hiddenFor are for how many reads and how long new instances are invisible.
	hiddenReads int
	hiddenFor   time.Duration
}

// failure is an error for a number of calls.
type failure struct {
	err   *apiError
	times int
}

// Pool is a capacity pool. An empty field matches all.
type Pool struct{ InstanceType, Zone, CapacityType string }

// Refusal is the error of a pool without capacity.
type Refusal struct{ Code, Message string }

// Throttled is the status and code of throttling.
const Throttled = "RequestLimitExceeded"

// Fail makes the next calls of an operation fail, a number of times; negative for always. The code of a server error
// has its status.
func (a *Account) Fail(operation, code, message string, times int) {
	status := http.StatusBadRequest
	switch code {
	case Throttled:
		status = http.StatusServiceUnavailable
	case "InternalError", "ServerException", "ServiceFailure":
		status = http.StatusInternalServerError
	case "UnauthorizedOperation", "AccessDenied", "AccessDeniedException":
		status = http.StatusForbidden
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.trouble.failures == nil {
		a.trouble.failures = map[string][]failure{}
	}
	a.trouble.failures[operation] = append(a.trouble.failures[operation], failure{&apiError{status: status, code: code, message: message}, times})
}

// Recover ends all failures of an operation.
func (a *Account) Recover(operation string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.trouble.failures, operation)
}

// Hold blocks the calls of an operation until the function it returns is called.
func (a *Account) Hold(operation string) (release func()) {
	gate := make(chan struct{})
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.trouble.held == nil {
		a.trouble.held = map[string]chan struct{}{}
	}
	a.trouble.held[operation] = gate
	return func() {
		a.mu.Lock()
		delete(a.trouble.held, operation)
		a.mu.Unlock()
		close(gate)
	}
}

// Late delays the calls of an operation by this much real time.
func (a *Account) Late(operation string, by time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.trouble.late == nil {
		a.trouble.late = map[string]time.Duration{}
	}
	a.trouble.late[operation] = by
}

// RunOut makes a pool fail with insufficient capacity.
func (a *Account) RunOut(p Pool) {
	a.Refuse(p, noCapacity())
}

// Leave limits a pool to this many more instances; then it has insufficient capacity. No field of the pool may be empty.
func (a *Account) Leave(p Pool, instances int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.trouble.remaining == nil {
		a.trouble.remaining = map[Pool]int{}
	}
	a.trouble.remaining[p] = instances
}

// Refuse makes a pool fail with the given error.
func (a *Account) Refuse(p Pool, why Refusal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.trouble.exhausted == nil {
		a.trouble.exhausted = map[Pool]Refusal{}
	}
	a.trouble.exhausted[p] = why
}

// noCapacity is EC2's error for an exhausted pool.
func noCapacity() Refusal {
	return Refusal{"InsufficientInstanceCapacity", "We currently do not have sufficient capacity in the Availability Zone you requested."}
}

// Refill restores the capacity of a pool.
func (a *Account) Refill(p Pool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.trouble.exhausted, p)
	delete(a.trouble.remaining, p)
}

// Hide makes new instances invisible to this many read calls, and for this long.
func (a *Account) Hide(reads int, during time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.trouble.hiddenReads, a.trouble.hiddenFor = reads, during
}

// refusal is the error of a pool; nil if it has capacity. The account is locked.
func (a *Account) refusal(p Pool) *Refusal {
	if remaining, ok := a.trouble.remaining[p]; ok && remaining <= 0 {
		why := noCapacity()
		return &why
	}
	for _, instanceType := range []string{p.InstanceType, ""} {
		for _, zone := range []string{p.Zone, ""} {
			for _, capacityType := range []string{p.CapacityType, ""} {
				if why, ok := a.trouble.exhausted[Pool{instanceType, zone, capacityType}]; ok {
					return &why
				}
			}
		}
	}
	return nil
}

// hinder waits for the injected delays, and returns the injected error.
func (a *Account) hinder(ctx context.Context, operation string) error {
	a.mu.Lock()
	gate, late := a.trouble.held[operation], a.trouble.late[operation]
	a.mu.Unlock()
	if late > 0 {
		timer := time.NewTimer(late)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
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
