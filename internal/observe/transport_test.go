package observe

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

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
