package session_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-anew/karpenter/cloud/azure/session"
)

// TestHTTPClient compares the limits of connections with those of the specification: they decide how long a controller waits for a network
// that lost its packets.
func TestHTTPClient(t *testing.T) {
	sent, ok := session.HTTPClient().Transport.(*http.Transport)
	if !ok {
		t.Fatal("not a transport of net/http")
	}
	if sent.MaxIdleConns != 100 || sent.MaxIdleConnsPerHost != 100 || sent.IdleConnTimeout != 90*time.Second || sent.TLSHandshakeTimeout != 10*time.Second || !sent.ForceAttemptHTTP2 {
		t.Errorf("connections: %+v", sent)
	}
	if sent.HTTP2.SendPingTimeout != 30*time.Second || sent.HTTP2.PingTimeout != 10*time.Second || sent.Proxy == nil {
		t.Errorf("HTTP/2: %+v", sent.HTTP2)
	}
}

// TestLog checks that requests are logged if the settings say so, and without what is secret in them.
func TestLog(t *testing.T) {
	for _, test := range []struct {
		enabled bool
		level   slog.Level
		lines   int
	}{{true, slog.LevelDebug, 2}, {true, slog.LevelInfo, 0}, {false, slog.LevelDebug, 0}} {
		var out bytes.Buffer
		ctx := log.IntoContext(t.Context(), logr.FromSlogHandler(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: test.level})))
		status := []int{http.StatusServiceUnavailable, http.StatusOK}
		azure := &transport{answer: func(r *http.Request) *http.Response {
			if r.URL.Host == server {
				return respond(http.StatusOK, `{"Token":"gallery-secret","ExpiresOn":"2200-01-01T00:00:00Z"}`)
			}
			next := status[0]
			status = status[1:]
			return respond(next, `{"name":"secret-body"}`, "x-ms-request-id", "id-of-request", "Retry-After-Ms", "1")
		}}
		o := withGalleries(azure)
		o.Settings.EnableAzureSDKLogging = test.enabled
		if _, err := open(t, o).VirtualMachines.Get(ctx, "rg", "v", nil); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if strings.Count(text, "\n") != test.lines || strings.Contains(text, "secret") || strings.Contains(text, "hidden") || strings.Contains(text, "api-version") {
			t.Errorf("%+v: logged %s", test, text)
		}
		for _, want := range []string{`"GET ` + manager + `/subscriptions/sub/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/v"`, "azure-status-code=503", "azure-status-code=200", "azure-request-id=id-of-request", "duration="} {
			if test.lines > 0 && !strings.Contains(text, want) {
				t.Errorf("%s is missing in %s", want, text)
			}
		}
	}
}

// lost is a transport whose connections break.
type lost struct{}

// Do implements policy.Transporter.
func (lost) Do(*http.Request) (*http.Response, error) { return nil, errors.New("connection reset") }

func TestLogOfFailures(t *testing.T) {
	var out bytes.Buffer
	ctx := log.IntoContext(t.Context(), logr.FromSlogHandler(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	o := options(nil)
	o.Transport, o.Settings.EnableAzureSDKLogging = lost{}, true
	ctx = withoutRetries(ctx)
	if _, err := open(t, o).VirtualMachines.Get(ctx, "rg", "v", nil); err == nil || !strings.Contains(out.String(), `error="connection reset"`) {
		t.Errorf("%v: logged %s", err, out.String())
	}
}

// withoutRetries makes calls fail at once.
func withoutRetries(ctx context.Context) context.Context {
	return policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1})
}
