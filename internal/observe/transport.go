package observe

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// APIClientMetrics describes requests to the API server. They are separate from Metrics because the client exists first: the labels
// that the cloud provider adds to Metrics are available only once a client can read them.
type APIClientMetrics struct {
	// Duration has labels verb, group, version, kind, subresource.
	Duration *prometheus.HistogramVec
	// Requests has labels code, method.
	Requests *prometheus.CounterVec

	definitions []Definition
}

// NewAPIClientMetrics defines the metrics and registers them. It panics when reg has one of the names already.
func NewAPIClientMetrics(reg prometheus.Registerer) *APIClientMetrics {
	b := NewMetricBuilder(reg)
	m := &APIClientMetrics{
		Duration: b.Histograms("client_go_request_duration_seconds",
			"Time until the API server responded to a request.", prometheus.ExponentialBuckets(0.001, 1.5, 20), "verb", "group", "version", "kind", "subresource"),
		Requests: b.Counters("client_go_request_total",
			"Requests to the API server by HTTP status and method.", "code", "method"),
	}
	m.definitions = b.Definitions()
	return m
}

// Definitions lists the metrics by name.
func (m *APIClientMetrics) Definitions() []Definition { return slices.Clone(m.definitions) }

// Transport wraps the transport of an API client so that its requests are counted.
func (m *APIClientMetrics) Transport(inner http.RoundTripper) http.RoundTripper {
	return &instrumentedTransport{inner: inner, metrics: m}
}

// instrumentedTransport counts requests.
type instrumentedTransport struct {
	inner   http.RoundTripper
	metrics *APIClientMetrics
}

// RoundTrip implements http.RoundTripper.
func (t *instrumentedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	start := time.Now()
	response, err := t.inner.RoundTrip(request)
	r := parseResource(request.Method, request.URL.Path)
	t.metrics.Duration.WithLabelValues(r.verb, r.group, r.version, r.kind, r.subresource).Observe(time.Since(start).Seconds())
	code := "<error>"
	if err == nil {
		code = strconv.Itoa(response.StatusCode)
	}
	t.metrics.Requests.WithLabelValues(code, request.Method).Inc()
	return response, err
}

// WrappedRoundTripper lets the client library find the transport it made.
func (t *instrumentedTransport) WrappedRoundTripper() http.RoundTripper { return t.inner }

// apiResource is the resource of a request to the Kubernetes API. kind is the plural resource name, as in the path.
type apiResource struct{ verb, group, version, kind, subresource string }

// parseResource parses the path of a request: /api/v1/... or /apis/<group>/<version>/..., optionally below a namespace, then the
// resource, a name and a subresource. Paths of another form have a verb only.
func parseResource(method, path string) apiResource {
	var out apiResource
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	switch {
	case len(parts) >= 2 && parts[0] == "api":
		out.version, parts = parts[1], parts[2:]
	case len(parts) >= 3 && parts[0] == "apis":
		out.group, out.version, parts = parts[1], parts[2], parts[3:]
	default:
		parts = nil
	}
	if len(parts) >= 3 && parts[0] == "namespaces" && !namespaceSubresource(parts[2]) {
		parts = parts[2:]
	}
	named := len(parts) >= 2
	if len(parts) >= 1 {
		out.kind = parts[0]
	}
	if len(parts) >= 3 {
		out.subresource = parts[2]
	}
	out.verb = verb(method, named)
	return out
}

// namespaceSubresource distinguishes /namespaces/<name>/status from /namespaces/<name>/<resource>.
func namespaceSubresource(part string) bool { return part == "status" || part == "finalize" }

// verb maps HTTP methods to API verbs.
func verb(method string, named bool) string {
	switch {
	case method == http.MethodPost, method == http.MethodPut && !named:
		return "CREATE"
	case method == http.MethodPut:
		return "UPDATE"
	case method == http.MethodGet && !named:
		return "LIST"
	default:
		return method
	}
}
