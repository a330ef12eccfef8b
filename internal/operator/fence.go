package operator

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// holdLimit is how long after its last renewal a lease is trusted. A running leader releases it earlier (renewDeadline after its last attempt),
// and no other replica takes over before leaseDuration; the difference allows for requests in flight.
const holdLimit = leaseDuration - retryPeriod

// fence prevents a process from writing after it may have lost its lease.
//
// Problem: a process that was frozen (a suspended host, a stopped container) resumes as the leader, and the library retries for
// renewDeadline to renew a lease that another replica has acquired meanwhile. Work in progress would be done twice: every pending pod
// gets a second node.
//
// Approach: record when the lease was last renewed, and reject writes to the API server and to the cloud once that is too long ago.
// A renewal allows them again. Before the first renewal no write is rejected: a process that is not the leader does not write.
type fence struct {
	log     *slog.Logger // gets one line each time the fence closes; nil for none
	mu      sync.Mutex
	renewed time.Time // zero before the first time
	closed  bool      // writes have been refused since the last renewal
}

// watch notes the renewals among the requests that go through inner.
func (f *fence) watch(inner http.RoundTripper) http.RoundTripper { return leaseWatch{inner, f} }

// leaseWatch is the transport of the lease.
type leaseWatch struct {
	inner http.RoundTripper
	fence *fence
}

// RoundTrip implements http.RoundTripper. The time that counts is that of the request, not of the answer.
func (w leaseWatch) RoundTrip(r *http.Request) (*http.Response, error) {
	asked := time.Now()
	response, err := w.inner.RoundTrip(r)
	if err == nil && writes(r) && strings.Contains(r.URL.Path, "/leases") && response.StatusCode < http.StatusMultipleChoices {
		w.fence.mu.Lock()
		w.fence.renewed, w.fence.closed = asked, false
		w.fence.mu.Unlock()
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
		if err := f.refuse(time.Now()); err != nil {
			if r.Body != nil {
				_ = r.Body.Close() // which a transport owes its caller
			}
			return nil, err
		}
		return inner.RoundTrip(r)
	})
}

// refuse returns an error if writes are not allowed now; nil while the lease is trusted.
func (f *fence) refuse(now time.Time) error {
	age := f.age(now)
	if age <= holdLimit {
		return nil
	}
	err := fmt.Errorf("the lease was last renewed %s ago, another replica may have taken over", age.Round(time.Second))
	f.mu.Lock()
	first := !f.closed
	f.closed = true
	f.mu.Unlock()
	if first && f.log != nil {
		f.log.Error("not writing until the lease is renewed", logfield.Error(err))
	}
	// Every reconcile in progress fails with it, hundreds in a large cluster.
	return observe.Logged(fmt.Errorf("not writing: %w", err))
}

// age returns how long ago the lease was renewed; zero before the first time. Of the wall clock and the monotonic one, which stops while a
// host is suspended, the longer time counts.
func (f *fence) age(now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.renewed.IsZero() {
		return 0
	}
	return max(now.Sub(f.renewed), now.Round(0).Sub(f.renewed.Round(0)))
}

// writes reports whether a request changes something.
func writes(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead
}
