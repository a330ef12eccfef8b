// Package azuretest is an Azure server for tests: one subscription in one location, behind an HTTPS handler that speaks Azure Resource
// Manager (ARM). Only the real SDK calls it, so that Microsoft's client verifies requests and responses. The provider depends only
// on its URLs.
//
//	account := azuretest.New(azuretest.Options{Clock: clock})
//	connection := azuretest.Connect(t, account)
//	client, err := armcompute.NewVirtualMachinesClient(azuretest.Subscription, connection.Credential, connection.Options)
//
// The account starts with a resource group for nodes; see New. It is stateful: resources are kept as the JSON that ARM shows, and
// long-running operations end on the account's clock. It rejects what ARM rejects: unknown fields, zones and api-versions. Tests
// can inject failures; see trouble.go.
//
// Each file has one kind of resource. Requests are routed by method and path; a new type needs a file and rows in the table of routes.
//
// Source: Azure provider specification, Azure API usage.
package azuretest

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Names of the account.
const (
	// Subscription and Tenant are the IDs of the account.
	Subscription = "00000000-0000-0000-0000-000000000001"
	Tenant       = "00000000-0000-0000-0000-00000000000a"
	// NodeResourceGroup has the instances.
	NodeResourceGroup = "MC_test_test_eastus"
	// ClusterResourceGroup has the managed cluster.
	ClusterResourceGroup = "test"
)

// Options configure the account. The zero value is valid.
type Options struct {
	// Clock is the clock of the cloud; nil for the real clock.
	Clock clock.PassiveClock
	// Location is where everything is; empty for "eastus".
	Location string
	// Takes is how long operations take on the clock; 0 for no time. Each is in progress for at least one poll.
	Takes time.Duration
	// RetryAfter is how long clients are told to wait before they ask for an operation again, in whole seconds; 0 for no time.
	RetryAfter time.Duration
	// PageSize is the number of items of a page; 0 for 50.
	PageSize int
	// Sizes are the SKUs that the location has, in any order; nil for Sizes.
	Sizes []Size
}

// Account is a subscription. Make one with New; it serves HTTP and is safe for concurrent use.
type Account struct {
	clock      clock.PassiveClock
	location   string
	takes      time.Duration
	retryAfter time.Duration
	pageSize   int
	sizes      []Size
	routes     []route

	mu         sync.Mutex
	groups     []string
	resources  map[string]*resource // by lower-case ID
	operations map[string]*operation
	running    map[string]*operation // those that have not ended
	tokens     map[string]bool
	calls      []Call
	serial     int
	trouble    trouble
	events     []event
	revision   int // of the scheduled events
	addresses  int // that were given out
}

// Call is a recorded request.
type Call struct {
	// Operation is the method and the last part of the resource type, for instance "PUT virtualMachines".
	Operation string
	// Path is the path, Query are the parameters.
	Path  string
	Query url.Values
	// Header are the headers without authorization.
	Header http.Header
	// Body is the text that was sent.
	Body string
	// At is when it came, on the clock of the account.
	At time.Time
}

// request is a request that matches a route.
type request struct {
	http *http.Request
	// names are the texts at the variables of the pattern, in their order.
	names []string
	body  []byte
}

// response is an answer: a status, headers and a JSON value; nil for no body.
type response struct {
	status int
	header http.Header
	body   any
}

// ok is an answer with status 200.
func ok(body any) *response { return &response{status: http.StatusOK, body: body} }

// ServeHTTP serves one request.
func (a *Account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	a.evict()
	answer, err := a.answer(r, body)
	serial := a.next()
	if err != nil {
		answer = refusalOf(err)
	}
	text, err := json.Marshal(answer.body) // it may have parts that operations change
	a.mu.Unlock()
	for name, values := range answer.header {
		w.Header()[name] = values
	}
	w.Header().Set("x-ms-request-id", "request-"+strconv.Itoa(serial))
	if answer.body == nil {
		w.WriteHeader(answer.status)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(answer.status)
	_, _ = w.Write(text) // the client has gone
}

// answer finds the route, records the call, injects the configured trouble, and serves the call. The account is locked.
func (a *Account) answer(r *http.Request, body []byte) (*response, error) {
	found, names, err := a.find(r)
	operation := r.Method + " " + cmp.Or(found.operation, "unknown")
	header := r.Header.Clone()
	header.Del("Authorization")
	a.calls = append(a.calls, Call{Operation: operation, Path: r.URL.Path, Query: r.URL.Query(), Header: header, Body: string(body), At: a.clock.Now()})
	if err != nil {
		return nil, err
	}
	if err := a.admit(r, found); err != nil {
		return nil, err
	}
	if err := a.hinder(operation); err != nil {
		return nil, err
	}
	if !found.open {
		if err := a.trouble.storm.throttle(); err != nil {
			return nil, err
		}
	}
	answer, err := found.serve(a, &request{http: r, names: names, body: body})
	if err == nil && !found.open {
		a.count(r.Method, answer)
	}
	return answer, err
}

// count adds the headers which say how many more requests ARM serves.
func (a *Account) count(method string, to *response) {
	if to.header == nil {
		to.header = http.Header{}
	}
	kind := map[string]string{http.MethodGet: "reads", http.MethodDelete: "deletes"}[method]
	to.header.Set("x-ms-ratelimit-remaining-subscription-"+cmp.Or(kind, "writes"), strconv.Itoa(max(0, 12000-len(a.calls))))
}

// Calls are the recorded requests of an operation, or all of them for an empty name.
func (a *Account) Calls(operation string) []Call {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(a.calls), func(c Call) bool { return operation != "" && c.Operation != operation })
}

// Forget clears the recorded requests.
func (a *Account) Forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = nil
}

// next is a unique number. The account is locked.
func (a *Account) next() int {
	a.serial++
	return a.serial
}
