package azuretest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// operation is a long-running operation.
type operation struct {
	id string
	// due is when it ends, polls how many polls it is in progress at least.
	due   time.Time
	polls int
	// finish runs once when it ends; its error fails the operation.
	finish func() error
	ended  bool
	err    *apiError
}

// operationRoutes are those which poll.
func operationRoutes() []route {
	return []route{
		{method: http.MethodGet, pattern: "/subscriptions/{}/providers/Microsoft.Test/operations/{}", operation: "operations", serve: pollOperation},
		{method: http.MethodGet, pattern: "/subscriptions/{}/providers/Microsoft.Test/results/{}", operation: "results", serve: pollResult},
	}
}

// begin starts an operation, and adds the headers that lead to it. The account is locked.
func (a *Account) begin(r *request, to *response, finish func() error) *response {
	id, _ := a.start(finish)
	if to.header == nil {
		to.header = http.Header{}
	}
	a.follow(r, to, id)
	return to
}

// start starts an operation. The account is locked.
func (a *Account) start(finish func() error) (string, *operation) {
	id := fmt.Sprintf("operation-%06d", a.next())
	o := &operation{id: id, due: a.clock.Now().Add(a.takes), polls: 1, finish: finish}
	a.operations[id], a.running[id] = o, o
	return id, o
}

// follow adds the headers that lead to an operation.
func (a *Account) follow(r *request, to *response, id string) {
	base := baseURL(r.http) + "/subscriptions/" + Subscription + "/providers/Microsoft.Test/"
	to.header.Set("Azure-AsyncOperation", base+"operations/"+id)
	to.header.Set("Location", base+"results/"+id)
	a.pace(to.header)
}

// pace says when the next poll is to come, at once unless the account says otherwise: clients wait for retry-after-ms if it is there, and
// otherwise for Retry-After.
func (a *Account) pace(header http.Header) {
	if a.retryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(int(a.retryAfter.Seconds())))
		return
	}
	header.Set("Retry-After", "3")
	header.Set("retry-after-ms", "1")
}

// settle ends an operation that is due, and was polled often enough if this is a poll. The account is locked.
func (a *Account) settle(o *operation, polled bool) {
	if polled {
		o.polls--
	}
	if o.ended || o.polls >= 0 && polled || a.clock.Now().Before(o.due) {
		return
	}
	o.ended = true
	delete(a.running, o.id)
	if o.finish == nil {
		return
	}
	if err := o.finish(); err != nil {
		o.err = asAPIError(err)
	}
}

// Settle ends all operations that are due on the clock, as if they had been polled.
func (a *Account) Settle() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(a.running)) {
		a.settle(a.running[id], false)
	}
}

// pollOperation serves the URL of Azure-AsyncOperation. A failed operation is an answer with status 200.
func pollOperation(a *Account, r *request) (*response, error) {
	o := a.operations[r.names[1]]
	if o == nil {
		return nil, refuse(http.StatusNotFound, "OperationNotFound", "The operation '%s' was not found.", r.names[1])
	}
	a.settle(o, true)
	answer := ok(map[string]any{"status": "InProgress"})
	switch {
	case !o.ended:
		answer.header = http.Header{}
		a.pace(answer.header)
	case o.err != nil:
		answer.body = map[string]any{"status": "Failed", "error": o.err.body()}
	default:
		answer.body = map[string]any{"status": "Succeeded"}
	}
	return answer, nil
}

// pollResult serves the URL of Location.
func pollResult(a *Account, r *request) (*response, error) {
	o := a.operations[r.names[1]]
	if o == nil {
		return nil, refuse(http.StatusNotFound, "OperationNotFound", "The operation '%s' was not found.", r.names[1])
	}
	a.settle(o, true)
	if !o.ended {
		answer := &response{status: http.StatusAccepted, header: http.Header{}}
		answer.header.Set("Location", baseURL(r.http)+r.http.URL.String())
		a.pace(answer.header)
		return answer, nil
	}
	if o.err != nil {
		return nil, o.err
	}
	return &response{status: http.StatusNoContent}, nil
}
