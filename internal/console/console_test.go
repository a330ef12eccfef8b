package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karpenter-anew/karpenter/internal/console"
	"github.com/karpenter-anew/karpenter/internal/ledger"
)

// get answers a request; header is added to it.
func get(h http.Handler, method, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestLedgerIsServed(t *testing.T) {
	l := ledger.New(func() time.Time { return time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC) }, 1<<20, nil)
	l.Begin(ledger.Start{Run: "r"}, nil, 1)
	for _, name := range []string{"a", "b"} {
		l.Append(ledger.Record{Kind: ledger.KindNodeClaim, NodeClaim: &ledger.NodeClaimEvent{Event: ledger.Deleting, NodeClaimState: ledger.NodeClaimState{Name: name}}})
	}
	h := console.Handler(console.Sources{Prefix: console.Prefix, Records: ledger.Memory{Ledger: l}, Leading: func() bool { return true }, Failed: func(err error) { t.Error(err) }})
	query := ledger.Query{Filter: ledger.Filter{NodeClaim: "a", Kinds: []ledger.Kind{ledger.KindNodeClaim}, Since: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, Limit: 5}
	w := get(h, http.MethodGet, ledger.Path+"?"+query.Values().Encode())
	var answer ledger.Answer
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	if w.Code != http.StatusOK || !answer.Leader || len(answer.Records) != 1 || answer.Coverage.Last != 3 || !strings.Contains(string(answer.Records[0]), `"name":"a"`) {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	if err := json.Unmarshal(get(h, http.MethodGet, ledger.Path+"?limit=1").Body.Bytes(), &answer); err != nil || answer.Omitted != 2 {
		t.Errorf("a limit of 1 leaves out %d: %v", answer.Omitted, err)
	}
	for target, want := range map[string]int{
		ledger.Path + "?kind=pods": http.StatusBadRequest, ledger.Path + "?sinec=1h": http.StatusBadRequest, ledger.Path + "?since=1h": http.StatusBadRequest,
		ledger.Path + "?limit=-1": http.StatusBadRequest, "/": http.StatusNotFound,
	} {
		if w := get(h, http.MethodGet, target); w.Code != want {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	if w := get(h, http.MethodPost, ledger.Path); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
	off := console.Handler(console.Sources{Prefix: console.Prefix, Leading: func() bool { return true }})
	if w := get(off, http.MethodGet, ledger.Path); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "--ledger-memory") {
		t.Errorf("without a ledger in memory: %d %s", w.Code, w.Body)
	}
}

// reviewer is an API server that knows the token "good" of the user jane, who may read the ledger, and "other" of the user joe, who may not.
type reviewer struct {
	down  bool
	asked int
}

func (r *reviewer) ReviewToken(_ context.Context, review *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error) {
	r.asked++
	if r.down {
		return nil, errors.New("down")
	}
	user := map[string]string{"good": "jane", "other": "joe"}[review.Spec.Token]
	review.Status = authenticationv1.TokenReviewStatus{Authenticated: user != "", User: authenticationv1.UserInfo{Username: user, Groups: []string{"readers"}}}
	return review, nil
}

func (r *reviewer) ReviewAccess(_ context.Context, review *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error) {
	on := review.Spec.NonResourceAttributes
	review.Status.Allowed = review.Spec.User == "jane" && review.Spec.Groups[0] == "readers" && on.Path == ledger.Path && on.Verb == "get"
	return review, nil
}

func TestOnlyAuthorizedClientsAreAnswered(t *testing.T) {
	r, now := &reviewer{}, clocktesting.NewFakeClock(time.Now())
	served := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("secret")) })
	failed := 0
	h := console.Authorized(served, r, now, func(error) { failed++ })
	for _, tt := range []struct {
		method, path, header string
		code                 int
	}{
		{http.MethodGet, ledger.Path, "", http.StatusUnauthorized},
		{http.MethodGet, ledger.Path, "Basic Z29vZDo=", http.StatusUnauthorized},
		{http.MethodGet, ledger.Path, "Bearer ", http.StatusUnauthorized},
		{http.MethodGet, ledger.Path, "Bearer bad", http.StatusUnauthorized},
		{http.MethodGet, ledger.Path, "Bearer other", http.StatusForbidden},
		{http.MethodGet, ledger.Path, "Bearer good", http.StatusOK},
		{http.MethodGet, "/other", "Bearer good", http.StatusForbidden},
		{http.MethodPost, ledger.Path, "Bearer good", http.StatusForbidden},
	} {
		w := get(h, tt.method, tt.path, "Authorization", tt.header)
		if w.Code != tt.code || (w.Body.String() == "secret") != (tt.code == http.StatusOK) {
			t.Errorf("%s %s with %q: %d %s", tt.method, tt.path, tt.header, w.Code, w.Body)
		}
	}
	asked := r.asked
	if w := get(h, http.MethodGet, ledger.Path, "Authorization", "Bearer good"); w.Code != http.StatusOK || r.asked != asked {
		t.Errorf("a client that was admitted is reviewed again: %d", w.Code)
	}
	now.Step(time.Minute)
	r.down = true
	if w := get(h, http.MethodGet, ledger.Path, "Authorization", "Bearer good"); w.Code != http.StatusServiceUnavailable || failed != 1 {
		t.Errorf("without an API server: %d %s", w.Code, w.Body)
	}
}

// TestPermissionToReadIsNotThatOfDiscovery: Kubernetes lets all authenticated users get some non-resource URLs.
func TestPermissionToReadIsNotThatOfDiscovery(t *testing.T) {
	for _, prefix := range []string{"/api", "/apis", "/healthz", "/livez", "/readyz", "/openapi", "/version", "/metrics"} {
		if ledger.Path == prefix || strings.HasPrefix(ledger.Path, prefix+"/") {
			t.Errorf("the ledger is served at %s, which any user may get", ledger.Path)
		}
	}
}

func TestLoopback(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:8082": true, "[::1]:8082": true, "localhost:8082": true, "127.9.9.9:1": true, ":8082": false, "0.0.0.0:8082": false, "10.0.0.1:8082": false,
		"[::]:8082": false, "localhost": false,
	} {
		if got := console.OnLoopback(address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
	h := console.LocalOnly(http.NotFoundHandler())
	for host, want := range map[string]int{
		"localhost:8082": http.StatusNotFound, "127.0.0.1:1": http.StatusNotFound, "[::1]:1": http.StatusNotFound, "evil.example:8082": http.StatusForbidden,
		"localhost.evil.example": http.StatusForbidden, "": http.StatusForbidden,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("host %q: %d", host, w.Code)
		}
	}
}
