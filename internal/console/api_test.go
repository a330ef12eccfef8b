package console_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/console"
)

// What the source cannot answer.
var errNotFound, errInvalid = errors.New("not found"), errors.New("invalid")

// fleet is a document.
type fleet struct {
	At    time.Time
	Nodes []string
}

// source has one node, and counts how often it was asked for the fleet.
type source struct {
	console.Source
	revision uint64
	asked    int
	changes  chan uint64
	edited   string
}

func (s *source) Revision(context.Context) (uint64, error) { return s.revision, nil }

func (s *source) Document(_ context.Context, view, name string, at time.Time) (any, error) {
	if view != "fleet" {
		return nil, fmt.Errorf("%s %q: %w", view, name, errNotFound)
	}
	s.asked++
	return fleet{At: at, Nodes: []string{strings.Repeat("node", 100)}}, nil
}

func (s *source) Edit(_ context.Context, text []byte) (any, error) {
	s.edited = string(text)
	if s.edited == "bad" {
		return nil, fmt.Errorf("%w: bad", errInvalid)
	}
	return map[string]string{"kind": "Diff"}, nil
}

func (s *source) Changes(context.Context) <-chan uint64 { return s.changes }

func served(t *testing.T, s *source, prefix string) http.Handler {
	return console.Handler(console.Sources{
		Prefix: prefix, Views: s, NotFound: errNotFound, Invalid: errInvalid, Clock: clock.RealClock{}, Failed: func(err error) { t.Error(err) },
		Files: fstest.MapFS{"index.html": {Data: []byte("<title>page</title>")}, "js/main.js": {Data: []byte("export {}")}},
	})
}

func TestViewsAreAnsweredOncePerRevision(t *testing.T) {
	s := &source{revision: 7}
	h := served(t, s, "")
	first := get(h, http.MethodGet, "/api/v1/fleet", "Accept-Encoding", "br, gzip;q=0.5")
	if first.Code != http.StatusOK || first.Header().Get("Content-Encoding") != "gzip" || first.Header().Get("Vary") != "Accept-Encoding" {
		t.Fatalf("%d %v", first.Code, first.Header())
	}
	unzipped, err := gzip.NewReader(first.Body)
	if err != nil {
		t.Fatal(err)
	}
	var shown fleet
	if err := json.NewDecoder(unzipped).Decode(&shown); err != nil || len(shown.Nodes) != 1 {
		t.Fatalf("%v %+v", err, shown)
	}
	tag := first.Header().Get("ETag")
	if plain := get(h, http.MethodGet, "/api/v1/fleet"); plain.Header().Get("Content-Encoding") != "" || !strings.HasPrefix(plain.Body.String(), "{") {
		t.Errorf("a client that does not take gzip gets %v", plain.Header())
	}
	if again := get(h, http.MethodGet, "/api/v1/fleet", "If-None-Match", tag); again.Code != http.StatusNotModified || again.Body.Len() > 0 || s.asked != 1 {
		t.Errorf("a client that has the revision gets %d, and the fleet was computed %d times", again.Code, s.asked)
	}
	s.revision++
	if next := get(h, http.MethodGet, "/api/v1/fleet", "If-None-Match", tag); next.Code != http.StatusOK || s.asked != 2 || next.Header().Get("ETag") == tag {
		t.Errorf("the next revision: %d, computed %d times", next.Code, s.asked)
	}
}

func TestMomentsOfThePast(t *testing.T) {
	s := &source{}
	h := served(t, s, "")
	w := get(h, http.MethodGet, "/api/v1/fleet?at=2026-01-02T15:04:05%2B01:00")
	var shown fleet
	if err := json.Unmarshal(w.Body.Bytes(), &shown); err != nil || !shown.At.Equal(time.Date(2026, 1, 2, 14, 4, 5, 0, time.UTC)) || w.Header().Get("ETag") != "" {
		t.Errorf("%v %s %v", err, w.Body, w.Header())
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	h := served(t, &source{}, "")
	for _, tt := range []struct {
		method, target, body string
		code                 int
		says                 string
	}{
		{"GET", "/api/v1/fleet?at=yesterday", "", 400, "2026-01-02T15:04:05Z"},
		{"GET", "/api/v1/fleet?since=1", "", 400, "since"},
		{"GET", "/api/v1/manifests?at=2026-01-02T15:04:05Z", "", 400, "leave out"},
		{"GET", "/api/v1/node/a", "", 404, "node"},
		{"GET", "/api/v1/nodes", "", 404, "/api/v1/"},
		{"GET", "/no/page", "", 404, "page"},
		{"POST", "/api/v1/fleet", "", 405, "GET"},
		{"DELETE", "/", "", 405, "GET"},
		{"GET", "/api/v1/edit", "", 405, "POST"},
		{"POST", "/api/v1/edit", "bad", 400, "bad"},
		{"POST", "/api/v1/edit", strings.Repeat("x", 1<<20+1), 413, "1048576"},
		{"GET", "/api/v1/ledger", "", 404, "--ledger"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(tt.method, tt.target, strings.NewReader(tt.body)))
		var answer struct{ Error string }
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != tt.code || !strings.Contains(answer.Error, tt.says) {
			t.Errorf("%s %s: %d %s (%v)", tt.method, tt.target, w.Code, w.Body, err)
		}
	}
}

func TestEditIsComparedForTheSamePageOnly(t *testing.T) {
	s := &source{}
	h := served(t, s, "")
	r := httptest.NewRequest(http.MethodPost, "/api/v1/edit", strings.NewReader("kind: NodePool"))
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusForbidden || s.edited != "" {
		t.Errorf("a page of another site gets %d", w.Code)
	}
	r = httptest.NewRequest(http.MethodPost, "/api/v1/edit", strings.NewReader("kind: NodePool"))
	w = httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusOK || s.edited != "kind: NodePool" || !strings.Contains(w.Body.String(), `"kind":"Diff"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestPageIsServedBelowThePrefix(t *testing.T) {
	h := served(t, &source{}, console.Prefix)
	for target, kind := range map[string]string{"/console/": "text/html; charset=utf-8", "/console/js/main.js": "text/javascript; charset=utf-8"} {
		w := get(h, http.MethodGet, target)
		policy := w.Header().Get("Content-Security-Policy")
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != kind || !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'") ||
			strings.Contains(policy, "unsafe") || w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %d %v", target, w.Code, w.Header())
		}
		if again := get(h, http.MethodGet, target, "If-None-Match", w.Header().Get("ETag")); again.Code != http.StatusNotModified {
			t.Errorf("%s again: %d", target, again.Code)
		}
	}
	if w := get(h, http.MethodGet, "/"); w.Code != http.StatusNotFound {
		t.Errorf("outside of the prefix: %d", w.Code)
	}
}

func TestChangesAreStreamedUntilTheServerEnds(t *testing.T) {
	s, closing := &source{changes: make(chan uint64, 2)}, make(chan struct{})
	s.changes <- 3
	server := httptest.NewServer(console.Handler(console.Sources{Views: s, Clock: clock.RealClock{}, Closing: closing, Failed: func(err error) { t.Error(err) }}))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/changes", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	await := func(text string) {
		t.Helper()
		for lines.Scan() {
			if lines.Text() == text {
				return
			}
		}
		t.Fatalf("the stream ends before %q", text)
	}
	await("event: revision")
	await("data: 3")
	s.changes <- 4
	await("data: 4")
	close(closing)
	for lines.Scan() {
	}
	if err := lines.Err(); err != nil {
		t.Error(err)
	}
}
