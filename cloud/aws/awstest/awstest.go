// Package awstest is an AWS server for tests: one account in one region, behind an HTTP handler that implements the wire protocols.
// Only the real SDK calls it, so that Amazon's client verifies requests and responses. The provider depends only on its
// URL.
//
//	account := awstest.New(awstest.Options{Clock: clock, Cluster: "test"})
//	client := ec2.NewFromConfig(awstest.Connect(t, account))
//
// The account starts with a network, images, a cluster and a role, and with the instance types and prices of the embedded
// catalog; see New. It is stateful: launched instances can be described, and they start and stop on the account's clock.
// It rejects what EC2 rejects: unknown parameters and filters, deleted templates, page sizes out of range. Tests can
// inject failures; see trouble.go.
//
// Each file has one kind of resource. Requests are routed by their target header (JSON protocols), by their path (REST) or by
// their form's Action and Version (query protocols); a new service needs a file and an entry in a table of calls.
package awstest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
)

// AccountID is the ID of the account.
const AccountID = "123456789012"

// versionEC2 and versionIAM are the API versions by which the query protocols are routed.
const (
	versionEC2 = "2016-11-15"
	versionIAM = "2010-05-08"
)

// Options configure the account. The zero value is valid.
type Options struct {
	// Clock is the clock of the cloud; nil for the real clock.
	Clock clock.PassiveClock
	// Types are the existing instance types; none for the whole catalog.
	Types []string
	// Cluster is the name of the EKS cluster; empty for "test".
	Cluster string
	// Version is the Kubernetes version of the cluster; empty for "1.34".
	Version string
	// Region is the region of the account; empty for the region of the catalog. Every region offers the same instance types with the same IDs.
	Region string
	// Shutdown is how long an instance takes to terminate; 0 for 30 seconds.
	Shutdown time.Duration
}

// Account is an account in a region. Make one with New; it serves HTTP and is safe for concurrent use.
type Account struct {
	clock    clock.PassiveClock
	region   string
	tables   map[string]map[string]call
	types    []typeInfo
	cluster  Cluster
	subnets  []*Subnet
	groups   []SecurityGroup
	images   []Image
	params   map[string]string
	reserved []*Reservation
	places   []PlacementGroup
	profiles []*Profile
	roles    []string
	network  instancetype.Limits
	storm    storm
	shutdown time.Duration

	mu        sync.Mutex
	queues    []*queue
	shifts    []Shift
	arrived   chan struct{} // closed when a message arrives
	templates []*LaunchTemplate
	instances []*Instance
	fleets    map[string]any // answers by client token
	tags      map[string]map[string]string
	serial    int
	calls     []Call
	trouble   trouble
}

// Call is a recorded request.
type Call struct {
	// Operation as the service names it, for instance CreateFleet.
	Operation string
	// Parameters are the parameters of query protocols, by their names on the wire; nil for others.
	Parameters map[string]string
	// Body is the text of JSON protocols.
	Body string
	// UserAgent is the user agent of the client.
	UserAgent string
}

// call serves an operation. It runs with the account locked.
type call func(*Account, *form) (any, error)

// apiError is an API error.
type apiError struct {
	status        int
	code, message string
	// former is the error code that the service used in its query protocol, if different.
	former string
}

func (e *apiError) Error() string { return e.code + ": " + e.message }

// refuse returns a client error.
func refuse(code, format string, args ...any) error {
	return &apiError{status: http.StatusBadRequest, code: code, message: fmt.Sprintf(format, args...)}
}

// ServeHTTP serves one request.
func (a *Account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p, f := a.route(r, body)
	a.record(Call{Operation: f.operation, Parameters: f.flat(), Body: f.body, UserAgent: r.UserAgent()})
	answer, err := a.answer(r.Context(), p, f)
	var out bytes.Buffer
	status := p.write(&out, f.operation, a.requestID(), answer, err)
	w.Header().Set("Content-Type", p.contentType)
	w.Header().Set("Content-Length", strconv.Itoa(out.Len()))
	if err != nil {
		refusal := asRefusal(err)
		w.Header().Set("X-Amzn-ErrorType", refusal.code)
		if refusal.former != "" {
			w.Header().Set("X-Amzn-Query-Error", refusal.former+";Sender")
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // the client has gone
}

// route detects the protocol and reads the request.
func (a *Account) route(r *http.Request, body []byte) (protocol, *form) {
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		service, operation, _ := strings.Cut(target, ".")
		return jsonProtocol(service), &form{operation: operation, body: string(body)}
	}
	if strings.HasPrefix(r.URL.Path, "/clusters/") {
		return restProtocol("EKS"), &form{operation: "DescribeCluster", body: strings.TrimPrefix(r.URL.Path, "/clusters/")}
	}
	if arn, ok := strings.CutPrefix(r.URL.Path, "/managedresources/"); ok {
		return restProtocol("ARC"), &form{operation: "GetManagedResource", body: arn}
	}
	f := readForm(string(body))
	switch version := f.text("Version"); version {
	case versionIAM:
		return queryProtocol("IAM", "https://iam.amazonaws.com/doc/2010-05-08/"), f
	case versionEC2:
		return ec2Protocol(), f
	default:
		return ec2Protocol(), &form{operation: "version " + version}
	}
}

// answer injects the configured trouble, and serves the call.
func (a *Account) answer(ctx context.Context, p protocol, f *form) (any, error) {
	if err := a.hinder(ctx, f.operation); err != nil {
		return nil, err
	}
	if f.operation == "ReceiveMessage" {
		a.awaitMessage(ctx, f)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.storm.throttles(); err != nil && p.service == "EC2" {
		return nil, err
	}
	serve, ok := a.tables[p.service][f.operation]
	if !ok {
		return nil, refuse("InvalidAction", "The action %s is not valid for this web service.", f.operation)
	}
	answer, err := serve(a, f)
	if err != nil {
		return nil, err
	}
	return answer, f.check()
}

func (a *Account) record(c Call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, c)
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

// id is a new ID in the format of EC2. The account is locked.
func (a *Account) id(prefix string) string { return fmt.Sprintf("%s-%017x", prefix, a.next()) }

func (a *Account) requestID() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return fmt.Sprintf("request-%d", a.next())
}

// stamp formats a time for XML.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
