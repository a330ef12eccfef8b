package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/karpenter-anew/karpenter/internal/options"
)

// endpointsTimeout bounds how long requests may take once the endpoints close.
const endpointsTimeout = 2 * time.Second

// endpoints are the HTTP servers of the process. They answer from before the API server is reached until after the lease is released,
// so that liveness never depends on anything but the process.
type endpoints struct {
	servers []*http.Server
	log     *slog.Logger
}

// serve opens both ports, or returns an error with the port that is in use.
func serve(o options.Serving, own prometheus.Gatherer, ready *readiness, log *slog.Logger) (*endpoints, error) {
	e := &endpoints{log: log}
	for _, s := range []struct {
		name, flag string
		port       int
		handler    http.Handler
	}{
		{"metrics", "--metrics-port (METRICS_PORT)", o.MetricsPort, metricsHandler(own, o.EnableProfiling, log)},
		{"health probes", "--health-probe-port (HEALTH_PROBE_PORT)", o.HealthProbePort, probeHandler(ready)},
	} {
		listener, err := net.Listen("tcp", ":"+strconv.Itoa(s.port))
		if err != nil {
			e.close()
			return nil, fmt.Errorf("serving %s: %w; choose another port with %s", s.name, err, s.flag)
		}
		log.Info("serving "+s.name, "address", listener.Addr().String())
		e.start(listener, s.handler)
	}
	return e, nil
}

// start answers requests until close.
func (e *endpoints) start(listener net.Listener, handler http.Handler) {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 16}
	e.servers = append(e.servers, server)
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			e.log.Error("an endpoint stopped", "address", listener.Addr().String(), "error", err)
		}
	}()
}

// close ends the servers; requests in hand may finish for a moment.
func (e *endpoints) close() {
	ctx, cancel := context.WithTimeout(context.Background(), endpointsTimeout)
	defer cancel()
	for _, s := range e.servers {
		if err := s.Shutdown(ctx); err != nil {
			_ = s.Close()
		}
	}
}

// metricsHandler serves our metrics and those of the libraries, and profiles on request. One series that cannot be shown, of one object
// among thousands, takes no other with it.
func metricsHandler(own prometheus.Gatherer, profiling bool, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(prometheus.Gatherers{ctrlmetrics.Registry, own}, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, ErrorLog: scrapeLog{log},
	}))
	if profiling {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// scrapeLog logs what a scrape could not show.
type scrapeLog struct{ log *slog.Logger }

// Println implements promhttp.Logger.
func (l scrapeLog) Println(v ...any) {
	l.log.Error("some metrics could not be collected", "error", fmt.Sprint(v...))
}
