package operator

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/test/logcapture"
)

// reviewing is an API server that knows the tokens of prometheus, who may get metrics, and of tenant, who may not.
func reviewing() *fake.Clientset {
	c := &fake.Clientset{}
	c.AddReactor("create", "tokenreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenReview).DeepCopy()
		user := review.Spec.Token
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: user == "prometheus" || user == "tenant", User: authenticationv1.UserInfo{Username: user}}
		return true, review, nil
	})
	c.AddReactor("create", "subjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
		on := review.Spec.NonResourceAttributes
		review.Status.Allowed = review.Spec.User == "prometheus" && on.Path == "/metrics" && on.Verb == "get"
		return true, review, nil
	})
	return c
}

// TestMetricsAreSecuredOnRequest asks both ports of a process with --secure-metrics.
func TestMetricsAreSecuredOnRequest(t *testing.T) {
	lines := &logcapture.Buffer{}
	log := slog.New(slog.NewTextHandler(lines, nil))
	o := options.Serving{SecureMetrics: true, EnableProfiling: true}
	e, err := serve(o, net.Listen, prometheus.NewRegistry(), &readiness{}, func() (authorization, error) {
		return authorization{client: reviewing(), clock: clock.RealClock{}, log: log}, nil
	}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	port := func(endpoint string) string {
		t.Helper()
		match := regexp.MustCompile(`serving ` + endpoint + `".*:(\d+)`).FindStringSubmatch(lines.String())
		if match == nil {
			t.Fatalf("no address of %s in %s", endpoint, lines.String())
		}
		return match[1]
	}
	type answer struct {
		code int
		body string
		tls  uint16
	}
	get := func(config *tls.Config, url, token string) (answer, error) {
		t.Helper()
		transport := &http.Transport{TLSClientConfig: config}
		defer transport.CloseIdleConnections()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			return answer{}, err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		out := answer{code: response.StatusCode, body: string(body)}
		if response.TLS != nil {
			out.tls = response.TLS.Version
		}
		return out, err
	}
	metrics := "https://127.0.0.1:" + port("metrics")
	for _, tc := range []struct {
		path, token string
		code        int
	}{
		{"/metrics", "", http.StatusUnauthorized},
		{"/metrics", "stranger", http.StatusUnauthorized},
		{"/metrics", "tenant", http.StatusForbidden},
		{"/metrics", "prometheus", http.StatusOK},
		{"/debug/pprof/heap", "", http.StatusUnauthorized},
		{"/debug/pprof/heap", "prometheus", http.StatusForbidden},
	} {
		got, err := get(&tls.Config{InsecureSkipVerify: true}, metrics+tc.path, tc.token)
		if err != nil {
			t.Fatal(err)
		}
		if got.code != tc.code || strings.Contains(got.body, "go_goroutines") != (tc.code == http.StatusOK) || got.tls != tls.VersionTLS13 {
			t.Errorf("%s with token %q: %d, TLS %x", tc.path, tc.token, got.code, got.tls)
		}
	}
	if _, err := get(&tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}, metrics+"/metrics", "prometheus"); err == nil {
		t.Error("TLS 1.2 is accepted")
	}
	if got, err := get(nil, strings.Replace(metrics, "https", "http", 1)+"/metrics", "prometheus"); err == nil && got.code == http.StatusOK {
		t.Errorf("metrics are served without TLS: %s", got.body)
	}
	if got, err := get(nil, "http://127.0.0.1:"+port("health probes")+"/healthz", ""); err != nil || got.body != "ok" {
		t.Errorf("the kubelet sends no token to probes: %+v, %v", got, err)
	}
}
