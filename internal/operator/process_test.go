package operator

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/test/logcapture"
)

func TestLease(t *testing.T) {
	base := &rest.Config{Host: "h"}
	if l, err := newLease(options.LeaderElection{Disable: true}, base); err != nil || l.enabled {
		t.Errorf("disabled: %+v, %v", l, err)
	}
	l, err := newLease(options.LeaderElection{Name: "n", Namespace: "ns"}, base)
	if err != nil || !l.enabled || l.name != "n" || l.namespace != "ns" {
		t.Errorf("named: %+v, %v", l, err)
	}
	base.QPS = 1
	if l.config.QPS != 0 {
		t.Error("the lease shares the limits of the main client")
	}
	_, err = newLease(options.LeaderElection{Name: "n"}, base)
	for _, want := range []string{"--leader-election-namespace", "LEADER_ELECTION_NAMESPACE", "--disable-leader-election"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("outside a cluster: error lacks %q: %v", want, err)
		}
	}
}

func TestLogOutput(t *testing.T) {
	var stdout, stderr bytes.Buffer
	path := filepath.Join(t.TempDir(), "log")
	for range 2 {
		out, done, err := LogOutput([]string{"stdout", path, "stderr"}, &stdout, &stderr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(out, "line\n"); err != nil {
			t.Fatal(err)
		}
		if err := done(); err != nil {
			t.Error(err)
		}
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{"stdout": stdout.String(), "stderr": stderr.String(), "file": string(file)} {
		if got != "line\nline\n" {
			t.Errorf("%s has %q", name, got)
		}
	}
	if _, _, err := LogOutput([]string{filepath.Join(path, "below")}, &stdout, &stderr); err == nil || !strings.Contains(err.Error(), "below") {
		t.Errorf("a file that cannot be opened: %v", err)
	}
}

func TestProbesBeforeTheManagerExists(t *testing.T) {
	h := probeHandler(&readiness{})
	for _, tc := range []struct {
		path string
		code int
		want string
	}{
		{"/healthz", 200, `^ok$`},
		{"/healthz?verbose", 200, `^\[\+\]ping: ok\n$`},
		{"/readyz", 500, `\[-\]manager: waiting for the API server.*\n\[-\]crd: waiting.*\n\[\+\]readyz: ok`},
		{"/readyz/readyz", 200, `^ok$`},
		{"/readyz/crd", 500, `^\[-\]crd: waiting`},
		{"/other", 404, `not found`},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, tc.path, nil))
		if w.Code != tc.code || !regexp.MustCompile(tc.want).MatchString(w.Body.String()) {
			t.Errorf("%s: %d %q, want %d %s", tc.path, w.Code, w.Body, tc.code, tc.want)
		}
	}
}

func TestMetricsEndpoint(t *testing.T) {
	own := prometheus.NewRegistry()
	prometheus.WrapRegistererWith(nil, own).MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ours"}, func() float64 { return 1 }))
	for _, tc := range []struct {
		profiling bool
		path      string
		code      int
		want      string
	}{
		{false, "/metrics", 200, "ours 1"},
		{false, "/metrics", 200, "go_goroutines"},
		{false, "/debug/pprof/", 404, ""},
		{true, "/metrics", 200, "ours 1"},
		{true, "/debug/pprof/", 200, "goroutine"},
		{true, "/debug/pprof/cmdline", 200, ""},
		{true, "/debug/pprof/heap", 200, ""},
	} {
		w, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, tc.path, nil)
		request.RemoteAddr = "127.0.0.1:4321"
		metricsHandler(own, tc.profiling, slog.New(slog.DiscardHandler)).ServeHTTP(w, request)
		if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.want) {
			t.Errorf("%s with profiling %v: %d, want %d and %q", tc.path, tc.profiling, w.Code, tc.code, tc.want)
		}
	}
}

func TestProfilesAreForLoopbackOnly(t *testing.T) {
	for from, want := range map[string]int{
		"127.0.0.1:1": 200, "[::1]:1": 200, "[::ffff:127.0.0.1]:1": 200, "10.0.0.1:1": 403, "[fd00::1]:1": 403, "nonsense": 403,
	} {
		for _, path := range []string{"", "cmdline", "heap", "symbol"} {
			w, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/debug/pprof/"+path, nil)
			request.RemoteAddr = from
			metricsHandler(prometheus.NewRegistry(), true, slog.New(slog.DiscardHandler)).ServeHTTP(w, request)
			if w.Code != want {
				t.Errorf("%q from %s: %d, want %d", path, from, w.Code, want)
			}
		}
	}
}

// aborted is the connection of a client that has disconnected.
type aborted struct{ http.ResponseWriter }

func (aborted) Write([]byte) (int, error) { return 0, errors.New("write: broken pipe") }

func TestAnAbortedScrapeIsLoggedOnce(t *testing.T) {
	own, lines := prometheus.NewRegistry(), &logcapture.Buffer{}
	for i := range 1000 {
		own.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: fmt.Sprintf("gauge_%d", i), Help: strings.Repeat("long ", 100)}))
	}
	handler := metricsHandler(own, false, slog.New(slog.NewTextHandler(lines, nil)))
	for want := 1; want <= 2; want++ {
		handler.ServeHTTP(aborted{httptest.NewRecorder()}, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if got := strings.Count(lines.String(), "level=ERROR"); got != want {
			t.Fatalf("%d errors are logged after %d scrapes", got, want)
		}
	}
}

// twice is a family that shows one series two times, which a registry refuses.
type twice struct{ desc *prometheus.Desc }

func (f twice) Describe(to chan<- *prometheus.Desc) { to <- f.desc }

func (f twice) Collect(to chan<- prometheus.Metric) {
	for range 2 {
		to <- prometheus.MustNewConstMetric(f.desc, prometheus.GaugeValue, 1)
	}
}

func TestOneBadSeriesHidesNoOther(t *testing.T) {
	own := prometheus.NewRegistry()
	own.MustRegister(twice{prometheus.NewDesc("bad", "help", nil, nil)}, prometheus.NewGauge(prometheus.GaugeOpts{Name: "good"}))
	var log strings.Builder
	w := httptest.NewRecorder()
	metricsHandler(own, false, slog.New(slog.NewTextHandler(&log, nil))).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "good 0") {
		t.Errorf("status %d", w.Code)
	}
	if !strings.Contains(log.String(), "some metrics could not be collected") || !strings.Contains(log.String(), "bad") {
		t.Errorf("the log says %q", log.String())
	}
}

func TestTakenPortIsNamed(t *testing.T) {
	taken, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	log := slog.New(slog.DiscardHandler)
	_, err = serve(options.Serving{HealthProbePort: port}, net.Listen, prometheus.NewRegistry(), &readiness{}, nil, log)
	if err == nil || !strings.Contains(err.Error(), "--health-probe-port") || !strings.Contains(err.Error(), "in use") {
		t.Errorf("error: %v", err)
	}
}

// idleGates are the settings of a provider with feature gates that have no effect.
type idleGates []string

func (idleGates) Provider() options.CloudProvider              { return options.CloudProviderKWOK }
func (idleGates) Validate(_ options.Options, _ options.Refuse) {}
func (g idleGates) GatesWithoutEffect() []string               { return g }

func TestGatesWithoutEffectAreLogged(t *testing.T) {
	for want, gates := range map[string]idleGates{"Future": {"Future"}, "": nil} {
		var log bytes.Buffer
		warnOfGates(options.Options{CloudProvider: options.CloudProviderKWOK, Providers: []any{gates}}, slog.New(slog.NewTextHandler(&log, nil)))
		if got := log.String(); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%v: logged %q", gates, got)
		}
	}
}

func TestDefaultSpreadIsLogged(t *testing.T) {
	t.Attr("covers", "N209")
	const text = "podTopologySpread: {defaultConstraints: [{maxSkew: 2, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}]}"
	for config, want := range map[string]string{"": "", text: "topology.kubernetes.io/zone maxSkew 2 ScheduleAnyway"} {
		parsed, err := options.ParseSchedulerConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		var o options.Options
		o.Scheduling.Config = parsed
		var log bytes.Buffer
		logDefaultSpread(o, slog.New(slog.NewTextHandler(&log, nil)))
		if got := log.String(); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: logged %q", config, got)
		}
	}
}
