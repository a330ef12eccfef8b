package operator

import (
	"net/http"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/internal/leader"
)

// fence rejects writes to the API server and to the cloud while the lease is not trusted.
type fence struct{ leader.Fence }

// watch notes the renewals among the requests that go through inner.
func (f *fence) watch(inner http.RoundTripper) http.RoundTripper { return leaseWatch{inner, f} }

// leaseWatch is the transport of the lease.
type leaseWatch struct {
	inner http.RoundTripper
	fence *fence
}

// RoundTrip implements http.RoundTripper.
func (w leaseWatch) RoundTrip(r *http.Request) (*http.Response, error) {
	asked := time.Now()
	response, err := w.inner.RoundTrip(r)
	if err == nil && writes(r) && strings.Contains(r.URL.Path, "/leases") && response.StatusCode < http.StatusMultipleChoices {
		w.fence.Renewed(asked)
	}
	return response, err
}

// WrappedRoundTripper lets the client library reach the transport that can cancel a request; it complains about one that it cannot reach.
func (w leaseWatch) WrappedRoundTripper() http.RoundTripper { return w.inner }

// guard refuses the writes among the requests for inner while the lease cannot be trusted.
func (f *fence) guard(inner http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if !writes(r) {
			return inner.RoundTrip(r)
		}
		if err := f.Refuse(time.Now()); err != nil {
			if r.Body != nil {
				_ = r.Body.Close() // which a transport owes its caller
			}
			return nil, err
		}
		return inner.RoundTrip(r)
	})
}

// writes reports whether a request changes something.
func writes(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead
}
