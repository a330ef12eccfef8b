package console

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// maxEdit is the largest body of a request to compare an edit, in bytes.
	maxEdit = 1 << 20
	// editTimeout bounds the comparison of an edit, viewTimeout the computation of a view.
	editTimeout = 2 * time.Minute
	viewTimeout = time.Minute
	// heartbeat is how often clients that wait for changes hear that the connection is alive.
	heartbeat = 15 * time.Second
)

// api serves views as JSON.
type api struct {
	Sources
	// editing is held while an edit is compared: it may take a processor for a long time.
	editing chan struct{}

	mu sync.Mutex
	// answers are those of the present, by target; they are dropped when the revision changes.
	answers  map[string]answer
	revision uint64
}

// answer is an encoded view.
type answer struct {
	tag           string
	plain, zipped []byte
}

// serve answers with a view.
func (a *api) serve(view string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		at, err := momentOf(r)
		if err != nil {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), viewTimeout)
		defer cancel()
		revision, err := a.Views.Revision(ctx)
		if err != nil && at.IsZero() {
			a.failWith(w, err)
			return
		}
		target := r.URL.Path
		if found, ok := a.cached(target, revision); ok && at.IsZero() {
			found.write(w, r)
			return
		}
		shown, err := a.Views.Document(ctx, view, r.PathValue("name"), at)
		if err != nil {
			a.failWith(w, err)
			return
		}
		made, err := encode(shown)
		if err != nil {
			a.failWith(w, err)
			return
		}
		if at.IsZero() {
			made.tag = fmt.Sprintf(`W/"%s-%d"`, a.run, revision)
			a.keep(target, revision, made)
		}
		made.write(w, r)
	}
}

// cached is the answer that was given at the same revision.
func (a *api) cached(target string, revision uint64) (answer, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.revision != revision {
		return answer{}, false
	}
	found, ok := a.answers[target]
	return found, ok
}

// maxKept is how many answers of a revision are kept.
const maxKept = 64

func (a *api) keep(target string, revision uint64, made answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.revision != revision || a.answers == nil || len(a.answers) >= maxKept {
		a.answers, a.revision = map[string]answer{}, revision
	}
	a.answers[target] = made
}

// momentOf is the moment that a request asks for; zero for now.
func momentOf(r *http.Request) (time.Time, error) {
	for key := range r.URL.Query() {
		if key != "at" {
			return time.Time{}, fmt.Errorf("there is no parameter %q: the only one is at", key)
		}
	}
	text := r.URL.Query().Get("at")
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("parameter at is %q: it has to be a time such as 2026-01-02T15:04:05Z, with + written as %%2B", text)
	}
	return at, nil
}

func encode(shown any) (answer, error) {
	plain, err := json.Marshal(shown)
	if err != nil {
		return answer{}, fmt.Errorf("encoding the view: %w", err)
	}
	return answer{plain: plain, zipped: zip(plain)}, nil
}

// zip compresses fast: most clients are on the same host.
func zip(plain []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil
	}
	_, _ = w.Write(plain) // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

// write sends an answer, or that the client has it.
func (a answer) write(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-cache")
	h.Add("Vary", "Accept-Encoding")
	if a.tag != "" {
		h.Set("ETag", a.tag)
		if r.Header.Get("If-None-Match") == a.tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	send(w, r, a.plain, a.zipped)
}

// send sends a body, compressed if the client takes that and it is shorter.
func send(w http.ResponseWriter, r *http.Request, plain, zipped []byte) {
	body := plain
	if len(zipped) > 0 && len(zipped) < len(plain) && acceptsGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		body = zipped
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // an error means that the client has gone
}

func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		coding, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if coding == "gzip" && strings.ReplaceAll(quality, " ", "") != "q=0" {
			return true
		}
	}
	return false
}

// manifests answers with the NodePools and node classes as YAML.
func (a *api) manifests(w http.ResponseWriter, r *http.Request) {
	if at, err := momentOf(r); err != nil || !at.IsZero() {
		fail(w, http.StatusBadRequest, "manifests are those of now: leave out all parameters")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), viewTimeout)
	defer cancel()
	text, err := a.Views.Manifests(ctx)
	if err != nil {
		a.failWith(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/yaml")
	w.Header().Set("Cache-Control", "no-cache")
	send(w, r, text, nil)
}

// edit answers what manifests would change.
func (a *api) edit(w http.ResponseWriter, r *http.Request) {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		fail(w, http.StatusForbidden, "the request comes from a page of another site")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEdit))
	if err != nil {
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			fail(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the manifests are larger than %d bytes: leave out those that are not edited", maxEdit))
			return
		}
		fail(w, http.StatusBadRequest, "the body cannot be read: "+err.Error())
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), editTimeout)
	defer cancel()
	select {
	case a.editing <- struct{}{}:
		defer func() { <-a.editing }()
	case <-ctx.Done():
		fail(w, http.StatusServiceUnavailable, "another edit is being compared: retry later")
		return
	}
	diff, err := a.Views.Edit(ctx, body)
	if err != nil {
		a.failWith(w, err)
		return
	}
	made, err := encode(diff)
	if err != nil {
		a.failWith(w, err)
		return
	}
	made.write(w, r)
}

// changes sends an event whenever a view may have changed, until the client goes.
func (a *api) changes(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{}) // not every writer has one
	write := func(text string) bool {
		if _, err := io.WriteString(w, text); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	if !write("retry: 2000\n\n") {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	revisions := a.Views.Changes(ctx)
	beats := a.Clock.NewTicker(heartbeat)
	defer beats.Stop()
	for {
		text := ": heartbeat\n\n"
		select {
		case <-ctx.Done():
			return
		case <-a.Closing:
			return
		case revision, ok := <-revisions:
			if !ok {
				return
			}
			text = fmt.Sprintf("event: revision\ndata: %d\n\n", revision)
		case <-beats.C():
		}
		if !write(text) {
			return
		}
	}
}

// failWith answers with an error of a source.
func (a *api) failWith(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	switch {
	case a.NotFound != nil && errors.Is(err, a.NotFound):
		code = http.StatusNotFound
	case a.Invalid != nil && errors.Is(err, a.Invalid):
		code = http.StatusBadRequest
	case a.NotReady != nil && errors.Is(err, a.NotReady):
		code = http.StatusServiceUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		fail(w, http.StatusGatewayTimeout, "the answer takes too long: retry later, it is being computed")
		return
	case errors.Is(err, context.Canceled):
		code = http.StatusServiceUnavailable // the client has gone
	default:
		a.Failed(err)
	}
	fail(w, code, err.Error())
}

// fail answers with an error.
func fail(w http.ResponseWriter, code int, message string) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Del("ETag")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": message}) // an error means that the client has gone
}
