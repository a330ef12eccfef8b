package observe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// failingProvider answers every call with the same error.
type failingProvider struct{ err error }

func (p failingProvider) Create(context.Context, *v1.NodeClaim) (*v1.NodeClaim, error) {
	return nil, p.err
}
func (p failingProvider) Delete(context.Context, *v1.NodeClaim) error        { return p.err }
func (p failingProvider) Get(context.Context, string) (*v1.NodeClaim, error) { return nil, p.err }
func (p failingProvider) List(context.Context) ([]*v1.NodeClaim, error)      { return nil, p.err }
func (p failingProvider) InstanceTypes(context.Context, *v1.NodePool) ([]*cloud.InstanceType, error) {
	return nil, p.err
}

func (p failingProvider) IsDrifted(context.Context, *v1.NodeClaim) (cloud.DriftReason, error) {
	return "", p.err
}

func TestInstrumentCountsCallsAndErrors_L407(t *testing.T) {
	cause := errors.New("why")
	for _, tc := range []struct {
		err   error
		label string
	}{
		{nil, ""},
		{cause, ""},
		{fmt.Errorf("wrapped: %w", cloud.NewInsufficientCapacityError(cause)), "InsufficientCapacityError"},
		{cloud.NewNodeClaimNotFoundError(cause), "NodeClaimNotFoundError"},
		{cloud.NewNodeClassNotReadyError(cause), "NodeClassNotReadyError"},
	} {
		m := NewMetrics(prometheus.NewRegistry(), nil)
		p := Instrument(failingProvider{tc.err}, "kwok", m)
		ctx := WithController(context.Background(), "nodeclaim.lifecycle")
		_, create := p.Create(ctx, nil)
		_, get := p.Get(ctx, "")
		_, list := p.List(ctx)
		_, types := p.InstanceTypes(ctx, nil)
		_, drift := p.IsDrifted(ctx, nil)
		for _, err := range []error{create, p.Delete(ctx, nil), get, list, types, drift} {
			if !errors.Is(err, tc.err) {
				t.Errorf("the error changed from %v to %v", tc.err, err)
			}
		}
		for _, method := range []string{"Create", "Delete", "Get", "List", "GetInstanceTypes", "IsDrifted"} {
			if got := testutil.CollectAndCount(m.CloudProvider.Duration); got != 6 {
				t.Errorf("%d methods timed, want 6", got)
			}
			want := 1.0
			if tc.err == nil {
				want = 0
			}
			if got := testutil.ToFloat64(m.CloudProvider.Errors.WithLabelValues("nodeclaim.lifecycle", method, "kwok", tc.label)); got != want {
				t.Errorf("%v: %s counted %v times as %q, want %v", tc.err, method, got, tc.label, want)
			}
		}
	}
	if got := ControllerName(context.Background()); got != "" {
		t.Errorf("controller without a name: %q", got)
	}
}

func TestRequestsAreTakenApart(t *testing.T) {
	for _, tc := range []struct {
		method, path string
		want         apiResource
	}{
		{"GET", "/api/v1/nodes", apiResource{"LIST", "", "v1", "nodes", ""}},
		{"GET", "/api/v1/nodes/n", apiResource{"GET", "", "v1", "nodes", ""}},
		{"PATCH", "/api/v1/nodes/n/status", apiResource{"PATCH", "", "v1", "nodes", "status"}},
		{"POST", "/api/v1/namespaces/d/pods/p/eviction", apiResource{"CREATE", "", "v1", "pods", "eviction"}},
		{"GET", "/api/v1/namespaces/d/pods", apiResource{"LIST", "", "v1", "pods", ""}},
		{"GET", "/api/v1/namespaces/d", apiResource{"GET", "", "v1", "namespaces", ""}},
		{"PUT", "/api/v1/namespaces/d/status", apiResource{"UPDATE", "", "v1", "namespaces", "status"}},
		{"POST", "/apis/karpenter.sh/v1/nodeclaims", apiResource{"CREATE", "karpenter.sh", "v1", "nodeclaims", ""}},
		{"PUT", "/apis/karpenter.sh/v1/nodeclaims", apiResource{"CREATE", "karpenter.sh", "v1", "nodeclaims", ""}},
		{"PUT", "/apis/coordination.k8s.io/v1/namespaces/d/leases/l", apiResource{"UPDATE", "coordination.k8s.io", "v1", "leases", ""}},
		{"DELETE", "/apis/karpenter.sh/v1/nodeclaims/c", apiResource{"DELETE", "karpenter.sh", "v1", "nodeclaims", ""}},
		{"GET", "/version", apiResource{"LIST", "", "", "", ""}},
		{"GET", "/apis", apiResource{"LIST", "", "", "", ""}},
		{"GET", "/", apiResource{"LIST", "", "", "", ""}},
	} {
		if got := parseResource(tc.method, tc.path); got != tc.want {
			t.Errorf("%s %s: %+v, want %+v", tc.method, tc.path, got, tc.want)
		}
	}
}

func TestTransportCounts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }))
	m := NewAPIClientMetrics(prometheus.NewRegistry())
	client := http.Client{Transport: m.Transport(http.DefaultTransport)}
	response, err := client.Get(server.URL + "/api/v1/nodes")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	server.Close()
	if response, err := client.Get(server.URL + "/api/v1/nodes"); err == nil {
		response.Body.Close()
		t.Fatal("the closed server answered")
	}
	want := `
# HELP client_go_request_total Requests to the API server by HTTP status and method.
# TYPE client_go_request_total counter
client_go_request_total{code="429",method="GET"} 1
client_go_request_total{code="<error>",method="GET"} 1
`
	if diff := cmp.Diff(nil, testutil.CollectAndCompare(m.Requests, strings.NewReader(want))); diff != "" {
		t.Error(diff)
	}
}
