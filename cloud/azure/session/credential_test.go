package session_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud/azure/environment"
	"github.com/karpenter-anew/karpenter/cloud/azure/session"
	"github.com/karpenter-anew/karpenter/cloud/azure/settings"
)

// TestTokensAreUsedForTwoHours at most.
func TestTokensAreUsedForTwoHours(t *testing.T) {
	for _, test := range []struct{ life, refresh, wantLife, wantRefresh time.Duration }{
		{time.Hour, 0, time.Hour, 0},
		{time.Hour, 30 * time.Minute, time.Hour, 30 * time.Minute},
		{2 * time.Hour, 119 * time.Minute, 2 * time.Hour, 119 * time.Minute},
		{24 * time.Hour, 0, 2 * time.Hour, 0},
		{24 * time.Hour, 12 * time.Hour, 2 * time.Hour, 115 * time.Minute},
		{24 * time.Hour, time.Hour, 2 * time.Hour, time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			token, err := session.Limit(&credential{life: test.life, refresh: test.refresh}, clock.RealClock{}).GetToken(t.Context(), policy.TokenRequestOptions{})
			if err != nil || token.Token != "secret-token" {
				t.Fatal(token, err)
			}
			refresh := time.Duration(0)
			if !token.RefreshOn.IsZero() {
				refresh = time.Until(token.RefreshOn)
			}
			if life := time.Until(token.ExpiresOn); life != test.wantLife || refresh != test.wantRefresh {
				t.Errorf("%+v: the token ends in %v and is renewed in %v", test, life, refresh)
			}
		})
	}
	refused := errors.New("refused")
	if _, err := session.Limit(&credential{get: func(context.Context) error { return refused }}, clock.RealClock{}).GetToken(t.Context(), policy.TokenRequestOptions{}); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}

// TestCheck checks that the start fails after five seconds without a token, and that the check asks for the token of the clients.
func TestCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		where := options(nil).Environment
		silent := &credential{get: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		start := time.Now()
		err := session.Check(t.Context(), silent, &where)
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != 5*time.Second || !strings.Contains(err.Error(), manager) {
			t.Errorf("%v after %v", err, took)
		}
		good := &credential{life: time.Hour}
		if err := session.Check(t.Context(), good, &where); err != nil || len(good.options.Scopes) != 1 || good.options.Scopes[0] != scope || !good.options.EnableCAE {
			t.Errorf("%v: asked for %+v", err, good.options)
		}
	})
}

// TestOpen opens a session with the credential that the environment describes.
func TestOpen(t *testing.T) {
	for name, value := range map[string]string{
		"AZURE_TENANT_ID": "tenant", "AZURE_CLIENT_ID": "client", "AZURE_CLIENT_SECRET": "secret", "AZURE_TOKEN_CREDENTIALS": "EnvironmentCredential",
	} {
		t.Setenv(name, value)
	}
	refuse := false
	azure := &transport{answer: func(r *http.Request) *http.Response {
		switch {
		case r.URL.Host != "login.own.example":
			return respond(http.StatusOK, `{}`)
		case strings.HasSuffix(r.URL.Path, "/openid-configuration"):
			const at = "https://login.own.example/tenant"
			return respond(http.StatusOK, `{"token_endpoint":"`+at+`/oauth2/v2.0/token","authorization_endpoint":"`+at+`/oauth2/v2.0/authorize","issuer":"`+at+`/v2.0"}`)
		case refuse:
			return respond(http.StatusUnauthorized, `{"error":"invalid_client"}`)
		default:
			return respond(http.StatusOK, `{"token_type":"Bearer","expires_in":86399,"ext_expires_in":86399,"access_token":"from-login"}`)
		}
	}}
	s, err := session.Open(t.Context(), options(azure))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.VirtualMachines.Get(t.Context(), "rg", "v", nil); err != nil {
		t.Fatal(err)
	}
	if got := azure.last(t, manager).Header.Get("Authorization"); got != "Bearer from-login" || azure.count("login.microsoft.com") != 0 {
		t.Errorf("the token is %q; requests: %d", got, len(azure.requests))
	}
	named := options(azure)
	named.Environment.Cloud = environment.PublicCloud
	if _, err := session.Open(t.Context(), named); err != nil || azure.count("login.microsoft.com") != 0 {
		t.Errorf("a cloud with its own authority and the name of the public cloud: %v, %d requests to Microsoft's directory", err, azure.count("login.microsoft.com"))
	}
	refuse = true
	if _, err := session.Open(t.Context(), options(azure)); err == nil || !strings.Contains(err.Error(), "getting an access token for https://"+manager) {
		t.Errorf("got %v", err)
	}
}

const server = "tokens.own.example"

// withGalleries are options with shared image galleries.
func withGalleries(azure *transport) session.Options {
	o := options(azure)
	o.Settings = &settings.Settings{
		ProvisionMode: settings.ModeScriptless, UseSIG: true, SIGSubscriptionID: "images", SIGAccessTokenServerURL: "http://" + server + "/issue?code=hidden",
	}
	return o
}

// TestGalleryTokens checks which requests have a token for shared galleries, and when it is replaced.
func TestGalleryTokens(t *testing.T) {
	token := func(name string, life, refresh time.Duration) string {
		body := `{"Token":"` + name + `","ExpiresOn":"` + time.Now().Add(life).Format(time.RFC3339Nano) + `"`
		if refresh != 0 {
			body += `,"RefreshOn":"` + time.Now().Add(refresh).Format(time.RFC3339Nano) + `"`
		}
		return body + "}"
	}
	synctest.Test(t, func(t *testing.T) {
		issued := ""
		azure := &transport{answer: func(r *http.Request) *http.Response {
			if r.URL.Host == server {
				return respond(http.StatusOK, issued)
			}
			return respond(http.StatusOK, `{}`)
		}}
		s := open(t, withGalleries(azure))
		for _, step := range []struct {
			issue    string
			wait     time.Duration
			want     string
			requests int
		}{
			{token("first", time.Hour, 0), 0, "first", 1},
			{"", 54 * time.Minute, "first", 1}, // without a time of renewal, it is used until five minutes before its end
			{token("second", 2*time.Hour, 90*time.Minute), 2 * time.Minute, "second", 2},
			{"", 33 * time.Minute, "second", 2}, // the times of a token are from when the test began
			{token("third", 24*time.Hour, 0), time.Minute, "third", 3},
		} {
			time.Sleep(step.wait)
			issued = step.issue
			if _, err := s.VirtualMachines.Get(t.Context(), "rg", "v", nil); err != nil {
				t.Fatal(err)
			}
			if got := azure.last(t, manager).Header.Get("x-ms-authorization-auxiliary"); got != "Bearer "+step.want || azure.count(server) != step.requests {
				t.Errorf("want %s after %d requests, got %q after %d", step.want, step.requests, got, azure.count(server))
			}
		}
		query := azure.last(t, server).URL.Query()
		if diff := cmp.Diff(map[string][]string{"scope": {scope}, "code": {"hidden"}}, map[string][]string(query)); diff != "" {
			t.Errorf("the query (-want +got)\n%s", diff)
		}
		if r := azure.last(t, server); r.Header.Get("Authorization") != "" || !strings.HasPrefix(r.UserAgent(), "karpenter-aks/v1.2.3-alp ") {
			t.Errorf("the headers are %v", r.Header)
		}
		for _, call := range calls() {
			if err := call.make(t.Context(), s); err != nil {
				t.Errorf("%s: %v", call.name, err)
			}
			_, has := azure.last(t, manager).Header[http.CanonicalHeaderKey("x-ms-authorization-auxiliary")]
			if want := strings.HasPrefix(call.name, "VirtualMachines"); has != want {
				t.Errorf("%s: a token for galleries: %v", call.name, has)
			}
		}
	})
}

// TestGalleryTokensAreOnlyForVirtualMachines that the provider creates, with images of these galleries.
func TestGalleryTokensAreOnlyForVirtualMachines(t *testing.T) {
	for _, mode := range []settings.ProvisionMode{settings.ModeScriptless, settings.ModeBootstrappingClient, settings.ModeAKSMachine, settings.ModeAKSMachineBatch} {
		for _, sig := range []bool{false, true} {
			azure := &transport{answer: func(*http.Request) *http.Response {
				return respond(http.StatusOK, `{"Token":"t","ExpiresOn":"2200-01-01T00:00:00Z"}`)
			}}
			o := withGalleries(azure)
			o.Settings.ProvisionMode, o.Settings.UseSIG = mode, sig
			if _, err := open(t, o).VirtualMachines.Get(t.Context(), "rg", "v", nil); err != nil {
				t.Fatal(err)
			}
			if want := sig && !mode.CreatesAKSMachines(); azure.count(server) > 0 != want || azure.last(t, manager).Header.Get("x-ms-authorization-auxiliary") != "" != want {
				t.Errorf("mode %s, galleries %v: %d requests for tokens", mode, sig, azure.count(server))
			}
		}
	}
	o := withGalleries(nil)
	o.Settings.SIGAccessTokenServerURL = "hidden"
	if _, err := session.New(&credential{}, o); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("got %v", err)
	}
}

// TestFailuresOfTheTokenServer fail the call, without a request for a virtual machine, and without the address, which may hold a secret.
func TestFailuresOfTheTokenServer(t *testing.T) {
	for _, test := range []struct {
		status   int
		body     string
		requests int
	}{
		{http.StatusForbidden, "", 1},
		{http.StatusNoContent, "", 1},
		{http.StatusOK, "<html>", 1},
		{http.StatusOK, "{}", 1},
		{http.StatusServiceUnavailable, "", 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			azure := &transport{answer: func(*http.Request) *http.Response { return respond(test.status, test.body) }}
			_, err := open(t, withGalleries(azure)).VirtualMachines.Get(t.Context(), "rg", "v", nil)
			if err == nil || strings.Contains(err.Error(), "hidden") || azure.count(manager) != 0 || azure.count(server) != test.requests {
				t.Errorf("status %d %q: %d requests, %v", test.status, test.body, azure.count(server), err)
			}
		})
	}
	o := withGalleries(nil)
	o.Transport, o.Settings.SIGAccessTokenServerURL = nil, "http://127.0.0.1:1/issue?code=hidden"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t, o).VirtualMachines.Get(ctx, "rg", "v", nil); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "hidden") {
		t.Errorf("got %v", err)
	}
}

// TestSilentTokenServers checks that a server which does not answer fails calls after 30 seconds, and that those which wait for it can be canceled.
func TestSilentTokenServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := withGalleries(nil)
		o.Transport = silent{}
		s, start := open(t, o), time.Now()
		call := func(ctx context.Context, want time.Duration) {
			_, err := s.VirtualMachines.Get(ctx, "rg", "v", nil)
			if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != want {
				t.Errorf("%v after %v, want %v", err, took, want)
			}
		}
		var calls sync.WaitGroup
		calls.Go(func() { call(t.Context(), 30*time.Second) })
		synctest.Wait()
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			call(ctx, 5*time.Second)
		})
		calls.Wait()
	})
}

// silent is a server that does not answer.
type silent struct{}

// Do implements policy.Transporter.
func (silent) Do(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestRedirects checks that a server that another one redirects to gets no token.
func TestRedirects(t *testing.T) {
	seen := map[string]string{}
	second := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen[r.URL.Path] = r.Header.Get("x-ms-authorization-auxiliary") + r.Header.Get("Authorization")
	}))
	defer second.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/there":
			http.Redirect(w, r, second.URL+"/other", http.StatusTemporaryRedirect)
		case "/here":
			http.Redirect(w, r, "/same", http.StatusTemporaryRedirect)
		default:
			seen[r.URL.Path] = r.Header.Get("x-ms-authorization-auxiliary") + r.Header.Get("Authorization")
		}
	}))
	defer first.Close()
	client := session.HTTPClient()
	for _, path := range []string{"/there", "/here"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.Replace(first.URL, "127.0.0.1", "localhost", 1)+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "a")
		r.Header.Set("x-ms-authorization-auxiliary", "b")
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]string{"/other": "", "/same": "ba"}, seen); diff != "" {
		t.Errorf("tokens that servers saw (-want +got)\n%s", diff)
	}
}
