package console_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/console"
	"github.com/karpenter-anew/karpenter/internal/ledger"
)

// FuzzRequests sends requests of any path, query and body, and checks that each gets an answer: JSON for the API, an error in JSON with a message
// otherwise, never one of 500, and never more than 64 KiB for what is not the page.
func FuzzRequests(f *testing.F) {
	for _, seed := range []struct{ method, target, body string }{
		{"GET", "/api/v1/fleet", ""},
		{"GET", "/api/v1/fleet?at=2026-01-02T15:04:05Z", ""},
		{"GET", "/api/v1/fleet?at=2026-01-02T15:04:05%2B14:00&at=x", ""},
		{"GET", "/api/v1/fleet?at=99999-01-02T15:04:05Z", ""},
		{"GET", "/api/v1/nodes/%2e%2e%2fetc?at=", ""},
		{"GET", "/api/v1/ledger?since=1h&limit=3&kind=command", ""},
		{"GET", "/api/v1/ledger?limit=-1;a=%zz", ""},
		{"POST", "/api/v1/edit", "apiVersion: karpenter.sh/v1\nkind: NodePool\n"},
		{"POST", "/api/v1/edit", "bad"},
		{"GET", "/api/v1/manifests?at=2026-01-02T15:04:05Z", ""},
		{"DELETE", "/api/v1/fleet", ""},
		{"GET", "/../index.html", ""},
		{"GET", "/js/main.js?x", ""},
	} {
		f.Add(seed.method, seed.target, []byte(seed.body))
	}
	f.Fuzz(func(t *testing.T, method, target string, body []byte) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+target, bytes.NewReader(body))
		if err != nil || !strings.HasPrefix(target, "/") || r.URL.Path == "/api/v1/changes" { // which does not end
			return
		}
		s := &source{revision: 1}
		h := console.Handler(console.Sources{
			Views: s, Records: ledger.Memory{Ledger: ledger.New(time.Now, 1<<20, nil)}, NotFound: errNotFound, Invalid: errInvalid, Clock: clock.RealClock{}, Failed: func(err error) { t.Error(err) },
			Files: fstest.MapFS{"index.html": {Data: []byte("<title>page</title>")}},
		})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		answer, err := io.ReadAll(w.Body)
		if err != nil || w.Code >= http.StatusInternalServerError || len(answer) > 64<<10 {
			t.Fatalf("%s %s: status %d, %d bytes, %v", method, target, w.Code, len(answer), err)
		}
		if strings.HasPrefix(r.URL.Path, "/api/v1/") && w.Header().Get("Content-Type") == "application/json" && w.Code != http.StatusNotModified && method != http.MethodHead {
			var shown map[string]any
			if err := json.Unmarshal(answer, &shown); err != nil || w.Code >= http.StatusBadRequest && shown["error"] == "" {
				t.Errorf("%s %s: status %d, %q", method, target, w.Code, answer)
			}
		}
	})
}
