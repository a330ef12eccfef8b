package operator

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// outagePause is the minimum time between two log lines about an outage.
const outagePause = 10 * time.Second

// outage logs when the API server stops answering and when it answers again. The client library retries in silence while connections are
// refused, so that without these lines an operator would not see why no work is done. A response of any status ends an outage.
type outage struct {
	log *slog.Logger

	mu    sync.Mutex
	since time.Time // zero while the server answers
	next  time.Time // of the next line
}

// transport watches the requests that go through inner.
func (o *outage) transport(inner http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := inner.RoundTrip(r)
		if err == nil {
			o.ended()
		} else if r.Context().Err() == nil && !errors.Is(err, context.Canceled) {
			o.failed(err)
		}
		return response, err
	})
}

// failed notes a request without an answer.
func (o *outage) failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if o.since.IsZero() {
		o.since, o.next = now, now
	}
	if now.Before(o.next) {
		return
	}
	o.next = now.Add(outagePause)
	o.log.Warn("the API server does not answer, retrying", logfield.Error(err), logfield.Duration(now.Sub(o.since).Round(time.Second)))
}

// ended notes an answer.
func (o *outage) ended() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		return
	}
	o.log.Info("the API server answers again", logfield.Duration(time.Since(o.since).Round(time.Second)))
	o.since = time.Time{}
}

// roundTripper makes a function a transport.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
