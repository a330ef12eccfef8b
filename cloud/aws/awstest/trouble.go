package awstest

import (
	"context"
	"net/http"
	"time"
)

// trouble is what goes wrong. The account's lock guards it.
type trouble struct {
	failures map[string][]failure
	held     map[string]chan struct{}
	late     map[string]time.Duration
	// exhausted are pools without capacity; empty fields stand for any.
	exhausted map[Pool]Refusal
	// remaining is how many more instances pools have before they run out; those that are not in it have enough.
	remaining map[Pool]int
	// hiddenReads and hiddenFor are how long new instances are not seen.
	hiddenReads int
	hiddenFor   time.Duration
}

// failure is an error for a number of calls.
type failure struct {
	err   *apiError
	times int
}

// Pool is where instances come from. A field that is empty stands for all.
type Pool struct{ InstanceType, Zone, CapacityType string }

// Refusal is why a pool has nothing.
type Refusal struct{ Code, Message string }

// Throttled is the status and code of too many calls.
const Throttled = "RequestLimitExceeded"

// Fail lets the next calls of an operation fail, a number of times; negative for always. A code that stands for a fault of
// the server has the status of one.
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

// Hold lets the calls of an operation wait until the function it returns is called.
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

// Late lets the calls of an operation take so long, in real time.
func (a *Account) Late(operation string, by time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.trouble.late == nil {
		a.trouble.late = map[string]time.Duration{}
	}
	a.trouble.late[operation] = by
}

// RunOut lets fleets find no capacity in a pool, with the usual words.
func (a *Account) RunOut(p Pool) {
	a.Refuse(p, noCapacity())
}

// Leave lets fleets find so many instances in a pool, and then no capacity. The pool has to be whole: nothing of it may be empty.
func (a *Account) Leave(p Pool, instances int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.trouble.remaining == nil {
		a.trouble.remaining = map[Pool]int{}
	}
	a.trouble.remaining[p] = instances
}

// Refuse lets fleets find a pool refused for a reason.
func (a *Account) Refuse(p Pool, why Refusal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.trouble.exhausted == nil {
		a.trouble.exhausted = map[Pool]Refusal{}
	}
	a.trouble.exhausted[p] = why
}

// noCapacity is what EC2 says of a pool that has run out.
func noCapacity() Refusal {
	return Refusal{"InsufficientInstanceCapacity", "We currently do not have sufficient capacity in the Availability Zone you requested."}
}

// Refill gives a pool its capacity back.
func (a *Account) Refill(p Pool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.trouble.exhausted, p)
	delete(a.trouble.remaining, p)
}

// Hide lets instances that are launched from now on not be seen by so many calls that read them, nor for so long.
func (a *Account) Hide(reads int, during time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.trouble.hiddenReads, a.trouble.hiddenFor = reads, during
}

// refusal is why a pool has nothing; nil if it has. The account is locked.
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

// hinder waits as long as it is told to, and returns the error that is due.
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
