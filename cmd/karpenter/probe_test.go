package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/command"
)

// TestProbeWaitsForEndpoints: an endpoint may fail for a while, as that of a controller that has just started.
func TestProbeWaitsForEndpoints(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/broken":
			http.Error(w, "[-]crd: no definition of NodePool", http.StatusInternalServerError)
		case r.URL.Path == "/slow":
			<-r.Context().Done()
		case r.URL.Path == "/empty", r.URL.Path == "/late" && asked.Add(1) == 1:
		default:
			_, _ = w.Write([]byte("ok"))
		}
	}))
	defer server.Close()
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{server.URL + "/readyz", server.URL + "/late"}, command.ExitOK, server.URL + "/readyz: ok, 2 bytes\n" + server.URL + "/late: ok, 2 bytes\n"},
		{[]string{"--timeout=50ms", server.URL + "/broken"}, command.ExitFailed, "within 50ms: status 500 Internal Server Error: [-]crd: no definition of NodePool"},
		{[]string{"--timeout=50ms", server.URL + "/empty"}, command.ExitFailed, "the body is empty"},
		{[]string{"--timeout=50ms", server.URL + "/slow"}, command.ExitFailed, "deadline exceeded"},
		{[]string{"--timeout=50ms", "http://127.0.0.1:1/readyz"}, command.ExitFailed, "connection refused"},
		{[]string{"--timeout=0s", server.URL}, command.ExitUsage, "--timeout is 0s; it must be above 0s"},
		{[]string{"karpenter:8080/metrics"}, command.ExitUsage, `"karpenter:8080/metrics" is not the URL of an endpoint; want one such as http://127.0.0.1:8081/readyz`},
		{nil, command.ExitUsage, `missing argument: "karpenter probe" needs <url>`},
	} {
		var out bytes.Buffer
		if code := run(append([]string{"probe"}, tc.args...), os.LookupEnv, command.Streams{Out: &out, Err: &out}); code != tc.code || !strings.Contains(out.String(), tc.want) {
			t.Errorf("probe %v ends with %d and %q, want %d and %q", tc.args, code, out.String(), tc.code, tc.want)
		}
	}
}
