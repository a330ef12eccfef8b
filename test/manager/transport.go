package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	errInjected = errors.New("injected")
	errGone     = errors.New("connection refused")
)

// transport is an http.RoundTripper that calls the API server in the process, for one client. Nothing of it waits for a socket, which would stop
// the clock of a bubble.
type transport struct {
	cluster *Cluster
	// replica is the client; nil for one without faults and delays.
	replica *Replica
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		closeBody(request)
		return nil, err
	}
	what := kindOf(request)
	if err := t.arrive(request, what); err != nil {
		closeBody(request)
		return nil, err
	}
	if t.replica != nil {
		t.cluster.traffic.count(t.replica, what)
		if refusal := t.refuse(what); refusal != nil {
			closeBody(request)
			return refused(request, refusal), nil
		}
	}
	if what.watch {
		return t.stream(request, what)
	}
	if what.acts() {
		t.cluster.leaders.acted(t.replica, what)
	}
	response, body := t.answer(request)
	if what.lease() && what.write && response.StatusCode < http.StatusMultipleChoices {
		t.cluster.leaders.wrote(t.replica, body)
	}
	if t.replica == nil {
		return response, nil
	}
	if what.write && t.chance().happens("lost answer", func(f *Faults) float64 { return f.Lose }) {
		return nil, fmt.Errorf("net/http: timeout awaiting response headers: %w", errInjected)
	}
	return response, t.replica.reachable(request.Context(), what)
}

func (t *transport) chance() *chance { return t.cluster.chance }

// arrive lets the time pass until the request is at the API server. Discovery takes none: clients hold a mutex meanwhile, and a goroutine that waits
// for a mutex stops the clock of a bubble.
func (t *transport) arrive(request *http.Request, what operation) error {
	if t.replica == nil {
		return nil
	}
	if what.resource != "" {
		delay := t.chance().between(time.Millisecond, 20*time.Millisecond)
		if t.chance().below(100) == 0 {
			delay = t.chance().between(100*time.Millisecond, 1500*time.Millisecond)
		}
		if err := sleep(request.Context(), delay); err != nil {
			return err
		}
	}
	return t.replica.reachable(request.Context(), what)
}

// refuse draws whether the request is refused, and how.
func (t *transport) refuse(what operation) *apierrors.StatusError {
	group := schema.GroupResource{Resource: what.resource}
	switch {
	case what.resource == "":
	case what.watch:
		if t.chance().happens("expired watch", func(f *Faults) float64 { return f.Expire }) {
			return apierrors.NewResourceExpired("too old resource version: injected")
		}
	case !what.write:
		if t.chance().happens("unavailable", func(f *Faults) float64 { return f.Unavailable }) {
			return apierrors.NewServiceUnavailable("injected")
		}
	case t.chance().happens("conflict", func(f *Faults) float64 { return f.Conflict }):
		return apierrors.NewConflict(group, what.name, errInjected)
	case t.chance().happens("throttling", func(f *Faults) float64 { return f.Throttle }):
		return apierrors.NewTooManyRequests("injected", 1)
	case t.chance().happens("error", func(f *Faults) float64 { return f.Refuse }):
		return apierrors.NewInternalError(errInjected)
	}
	return nil
}

// answer calls the API server and returns its whole answer.
func (t *transport) answer(request *http.Request) (*http.Response, []byte) {
	defer closeBody(request)
	w := httptest.NewRecorder()
	t.cluster.server.ServeHTTP(w, atServer(request.Context(), request))
	w.Header().Set("Date", date())
	body := w.Body.Bytes()
	response := w.Result()
	response.Request = request
	return response, body
}

// stream calls the API server in a goroutine, and returns its answer as soon as it begins. It ends when the body is closed, or the replica.
func (t *transport) stream(request *http.Request, what operation) (*http.Response, error) {
	ctx, cancel := context.WithCancel(request.Context())
	reader, writer := io.Pipe()
	w := &streamWriter{header: http.Header{}, body: writer, began: make(chan struct{})}
	go func() {
		defer cancel()
		defer closeBody(request)
		t.cluster.server.ServeHTTP(w, atServer(ctx, request))
		w.WriteHeader(http.StatusOK)
		_ = writer.CloseWithError(context.Cause(request.Context())) // io.EOF if the handler ended
	}()
	<-w.began
	body := &watchBody{PipeReader: reader, cancel: cancel, of: t, what: what, ctx: ctx}
	if t.replica != nil {
		body.release = context.AfterFunc(t.replica.ctx, func() { _ = reader.CloseWithError(errGone); cancel() })
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: body, ContentLength: -1, Request: request,
	}, nil
}

// refused is the answer to a request that has no effect.
func refused(request *http.Request, err *apierrors.StatusError) *http.Response {
	w := httptest.NewRecorder()
	status := err.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Date", date())
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(d.RetryAfterSeconds))
	}
	w.WriteHeader(int(status.Code))
	if err := json.NewEncoder(w).Encode(status); err != nil {
		panic(err)
	}
	response := w.Result()
	response.Request = request
	return response
}

func date() string { return time.Now().UTC().Format(http.TimeFormat) }

func atServer(ctx context.Context, request *http.Request) *http.Request {
	out := request.Clone(ctx)
	if out.Body == nil {
		out.Body = http.NoBody
	}
	out.RequestURI, out.RemoteAddr = request.URL.RequestURI(), "192.0.2.1:1234"
	return out
}

func closeBody(request *http.Request) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
}

// sleep waits for a time, or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watchBody ends its handler when it is closed.
type watchBody struct {
	*io.PipeReader

	cancel  context.CancelFunc
	release func() bool
	of      *transport
	what    operation
	ctx     context.Context //nolint:containedctx // that of the request
}

// Read implements io.Reader. A watch may stand still, and end.
func (b *watchBody) Read(p []byte) (int, error) {
	n, err := b.PipeReader.Read(p)
	if err != nil || b.of.replica == nil {
		return n, err
	}
	if b.of.chance().happens("stalled watch", func(f *Faults) float64 { return f.Stall }) {
		if err := sleep(b.ctx, b.of.chance().between(0, 5*time.Second)); err != nil {
			return 0, err
		}
	}
	if b.of.chance().happens("cut watch", func(f *Faults) float64 { return f.Cut }) {
		return 0, io.ErrUnexpectedEOF
	}
	return n, b.of.replica.reachable(b.ctx, b.what)
}

// Close implements io.Closer.
func (b *watchBody) Close() error {
	if b.release != nil {
		b.release()
	}
	b.cancel()
	return b.PipeReader.Close()
}

// streamWriter is an http.ResponseWriter whose status is known before its body ends.
type streamWriter struct {
	header http.Header
	body   io.Writer
	once   sync.Once
	status int
	sent   http.Header
	// began is closed once status and sent are set.
	began chan struct{}
}

// Header implements http.ResponseWriter.
func (r *streamWriter) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *streamWriter) WriteHeader(status int) {
	r.once.Do(func() {
		r.status, r.sent = status, r.header.Clone()
		r.sent.Set("Date", date())
		close(r.began)
	})
}

// Write implements http.ResponseWriter.
func (r *streamWriter) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}

// Flush implements http.Flusher.
func (*streamWriter) Flush() {}

// operation is what a request asks for.
type operation struct {
	method, resource, namespace, name string
	watch, write                      bool
}

// kindOf reads the path of a request: /api/v1/[namespaces/n/]pods/name/status. The resource of discovery is empty.
func kindOf(request *http.Request) operation {
	out := operation{
		method: request.Method, watch: request.Method == http.MethodGet && request.URL.Query().Has("watch"),
		write: request.Method != http.MethodGet,
	}
	path := strings.Trim(request.URL.Path, "/")
	parts := strings.Split(path, "/")
	switch parts[0] {
	case "api":
		parts = parts[min(2, len(parts)):]
	case "apis":
		parts = parts[min(3, len(parts)):]
	default:
		out.name = path
		return out
	}
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		out.namespace, parts = parts[1], parts[2:]
	}
	if len(parts) == 0 {
		out.name = path
		return out
	}
	out.resource = parts[0]
	if len(parts) > 1 {
		out.name = parts[1]
	}
	return out
}

// lease reports whether the operation is about the lease of the controllers.
func (o operation) lease() bool { return o.resource == "leases" && o.namespace == namespace }

// acts reports whether only a leader may do this.
func (o operation) acts() bool {
	return o.write && !o.lease() && o.resource != "events" && o.resource != "tokenreviews" && o.resource != "subjectaccessreviews"
}

func (o operation) String() string {
	switch {
	case o.resource == "":
		return "discovery " + o.name
	case o.watch:
		return "watch " + o.resource
	}
	return strings.ToLower(o.method) + " " + o.resource
}
