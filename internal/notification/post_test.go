package notification

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// serve starts a webhook that passes on what it receives.
func serve(t *testing.T, start func(http.Handler) *httptest.Server, code int) (*httptest.Server, <-chan received) {
	t.Helper()
	got := make(chan received, 16)
	server := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s: %v", r.Method, err)
		}
		got <- received{header: r.Header, body: string(body)}
		w.WriteHeader(code)
	}))
	t.Cleanup(server.Close)
	return server, got
}

func next(t *testing.T, got <-chan received) received {
	t.Helper()
	select {
	case r := <-got:
		return r
	case <-time.After(10 * time.Second):
		t.Fatal("nothing is received")
		return received{}
	}
}

func TestDocumentsAreSigned(t *testing.T) {
	server, got := serve(t, httptest.NewServer, http.StatusNoContent)
	b := newBench(t, server.URL, nil)
	b.run()
	b.Plan(planIn(opsv1alpha1.PlanProposed, "every disruption has to be approved"))
	r := next(t, got)
	// Judged by the library of the standard, whose tolerance of time is five minutes.
	judge := func(secret, body string) error {
		webhook, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		return webhook.Verify([]byte(body), r.header)
	}
	if err := judge(b.secret, r.body); err != nil {
		t.Errorf("the signature is not valid: %v", err)
	}
	if judge(secretOf('x'), r.body) == nil || judge(b.secret, strings.Replace(r.body, "node-1", "node-9", 1)) == nil {
		t.Error("the signature is valid for another secret or another body")
	}
	if agent, kind := r.header.Get("User-Agent"), r.header.Get("Content-Type"); agent != "karpenter/1.2.3" || kind != "application/json" {
		t.Errorf("%s, %s", agent, kind)
	}
	var document Document
	if err := json.Unmarshal([]byte(r.body), &document); err != nil {
		t.Fatal(err)
	}
	want := Document{
		Version: Version, ID: r.header.Get("webhook-id"), Type: options.PlanProposed, Timestamp: document.Timestamp, Cluster: "blue", Data: Data{
			Plan: &Plan{
				Name: "drifted-1a2b3c4d5e", UID: "uid-1", Phase: "Proposed", OperationsPolicy: "production", Asks: "every disruption has to be approved",
				Replacements: 1, Evictions: 4, Risk: 2, ExpiresAt: time.Date(2027, 3, 2, 8, 0, 0, 0, time.UTC),
			},
			Method: "drift", Reason: "Drifted", Action: "replace", NodeCount: 2, NodePools: []string{"default"}, SavingsPerHour: "-0.250000",
			Nodes: []Node{{Name: "node-1", NodeClaim: "default-1"}, {Name: "node-2", NodeClaim: "default-2"}},
			Cause: "Because", Message: "every disruption has to be approved",
		},
	}
	if diff := cmp.Diff(want, document); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// While a secret is replaced, both sign; the files are read for each attempt.
func TestSecretsAreReplacedWhileItRuns(t *testing.T) {
	server, got := serve(t, httptest.NewServer, http.StatusOK)
	b := newBench(t, server.URL, nil)
	b.run()
	write(t, b.options.SecretFile, secretOf('n')+"\n"+b.secret)
	b.Command(commandThat(ledger.CommandFailed), "")
	r := next(t, got)
	for _, secret := range []string{secretOf('n'), b.secret} {
		webhook, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := webhook.Verify([]byte(r.body), r.header); err != nil {
			t.Error(err)
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere, leaked := serve(t, httptest.NewServer, http.StatusOK)
	asked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		asked <- struct{}{}
	}))
	defer server.Close()
	b := newBench(t, server.URL, nil)
	f := b.post(t.Context(), message{id: "msg_1", body: []byte("{}")})
	<-asked
	if f == nil || !f.final || !strings.Contains(f.err.Error(), "redirects are not followed") {
		t.Errorf("%+v", f)
	}
	if len(leaked) != 0 {
		t.Error("the message went to another host")
	}
}

// The certificate of the server is signed by no authority that is trusted.
func TestCertificatesAreVerified(t *testing.T) {
	server, got := serve(t, httptest.NewTLSServer, http.StatusOK)
	b := newBench(t, server.URL, nil)
	f := b.post(t.Context(), message{id: "msg_1", body: []byte("{}")})
	if f == nil || f.reason != "connection" || !strings.Contains(f.err.Error(), "certificate") || len(got) != 0 {
		t.Errorf("%+v", f)
	}
	b.client = newClient(server.Client().Transport) // which trusts it
	if f := b.post(t.Context(), message{id: "msg_1", body: []byte("{}")}); f != nil {
		t.Errorf("%+v", f)
	}
}

func TestErrorsHaveNoURL(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close() // refuses connections
	b := newBench(t, server.URL+"/services/topsecret", nil)
	for name, text := range map[string]string{"refused": server.URL + "/services/topsecret", "invalid": "https://ho st/topsecret", "bad escape": "https://host/%zz/topsecret"} {
		write(t, b.options.URLFile, text)
		if f := b.post(t.Context(), message{id: "msg_1"}); f == nil || strings.Contains(f.err.Error(), "topsecret") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestLongAnswersAreNotRead(t *testing.T) {
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	b := newBench(t, server.URL, nil)
	if f := b.post(t.Context(), message{id: "msg_1", body: []byte("{}")}); f != nil {
		t.Errorf("%+v", f)
	}
	b.client.CloseIdleConnections()
	<-ended
}
