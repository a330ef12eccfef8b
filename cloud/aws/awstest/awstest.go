// Package awstest is a small AWS for tests: one account in one region, behind an HTTP handler that speaks the real wire
// protocols. It is driven by the real SDK and nothing else, so that what is sent and what is read is proven by Amazon's own
// client. The provider knows nothing of it but the URL.
//
//	account := awstest.New(awstest.Options{Clock: clock, Cluster: "test"})
//	client := ec2.NewFromConfig(awstest.Connect(t, account))
//
// The account starts with a network, images, a cluster and a role, and with the instance types and prices of the embedded
// catalogue; see New. It holds state: what is launched is found, ends, and takes its time to do so on the account's clock.
// It refuses what EC2 refuses: parameters and filters that do not exist, templates that are gone, sizes of pages out of
// range. And it can be made to fail; see trouble.go.
//
// One file holds one kind of thing. Requests are routed by their target header (JSON protocols), by their path (REST) or by
// their form's Action and Version (query protocols); a service more is a file more and an entry in a table of calls.
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

// AccountID is the number of the account.
const AccountID = "123456789012"

// versionEC2 and versionIAM tell the query protocols apart.
const (
	versionEC2 = "2016-11-15"
	versionIAM = "2010-05-08"
)

// Options choose what there is. The zero value is ready.
type Options struct {
	// Clock is what time it is in the cloud; nil for the real clock.
	Clock clock.PassiveClock
	// Types are the instance types that there are; none for all of the catalogue.
	Types []string
	// Cluster is the name of the EKS cluster; empty for "test".
	Cluster string
	// Version is the cluster's version of Kubernetes; empty for "1.34".
	Version string
	// Region is the region of the account; empty for the region of the catalog. Every region offers the same instance types with the same IDs.
	Region string
	// Shutdown is how long an instance takes to end; 0 for half a minute.
	Shutdown time.Duration
}

// Account is an account in a region. Make one with New; it serves HTTP and may be used from many goroutines.
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

// Call is a request that came in.
type Call struct {
	// Operation as the service names it, for instance CreateFleet.
	Operation string
	// Parameters are those of query protocols, by their names on the wire; nil for others.
	Parameters map[string]string
	// Body is the text of JSON protocols.
	Body string
	// UserAgent is what the client says it is.
	UserAgent string
}

// call serves an operation. It runs with the account locked.
type call func(*Account, *form) (any, error)

// apiError is a refusal.
type apiError struct {
	status        int
	code, message string
	// former is the code that the service had in its query protocol, where it is another one.
	former string
}

func (e *apiError) Error() string { return e.code + ": " + e.message }

// refuse is a refusal of the caller's fault.
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

// route finds the protocol and reads the request.
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

// answer makes the trouble that is asked for, and serves the call.
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

// Calls are the requests so far of an operation, or all of them for an empty name.
func (a *Account) Calls(operation string) []Call {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(a.calls), func(c Call) bool { return operation != "" && c.Operation != operation })
}

// Forget drops the record of requests.
func (a *Account) Forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = nil
}

// next is a number that was not there before. The account is locked.
func (a *Account) next() int {
	a.serial++
	return a.serial
}

// id is a new id in the form of EC2. The account is locked.
func (a *Account) id(prefix string) string { return fmt.Sprintf("%s-%017x", prefix, a.next()) }

func (a *Account) requestID() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return fmt.Sprintf("request-%d", a.next())
}

// stamp is a time as XML has it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
