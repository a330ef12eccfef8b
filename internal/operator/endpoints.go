package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// endpointsTimeout bounds how long requests may take once the endpoints close.
const endpointsTimeout = 2 * time.Second

// endpoints are the HTTP servers of the process. They answer from before the API server is reached until after the lease is released,
// so that liveness never depends on anything but the process.
type endpoints struct {
	servers []*http.Server
	log     *slog.Logger
	// closing is closed before the servers end; nil for servers without streams.
	closing chan struct{}
}

// serve opens both ports, or returns an error with the port that is in use. guard makes what secures metrics, if the options ask for it. Probes are
// not secured: the kubelet sends no token.
func serve(o options.Serving, listen func(network, address string) (net.Listener, error), own prometheus.Gatherer, ready *readiness, guard func() (authorization, error), log *slog.Logger) (*endpoints, error) {
	e := &endpoints{log: log}
	for _, s := range []struct {
		name, flag string
		port       int
		handler    http.Handler
		secure     bool
	}{
		{"metrics", "--metrics-port (METRICS_PORT)", o.MetricsPort, metricsHandler(own, o.EnableProfiling, log), o.SecureMetrics},
		{"health probes", "--health-probe-port (HEALTH_PROBE_PORT)", o.HealthProbePort, probeHandler(ready), false},
	} {
		listener, err := listen("tcp", ":"+strconv.Itoa(s.port))
		if err != nil {
			e.close()
			return nil, fmt.Errorf("serving %s: %w; choose another port with %s", s.name, err, s.flag)
		}
		if s.secure {
			if s.handler, listener, err = protected(guard, s.name, s.handler, listener); err != nil {
				_ = listener.Close()
				e.close()
				return nil, err
			}
		}
		log.Info("serving "+s.name, logfield.Address(listener.Addr().String()))
		e.start(listener, s.handler)
	}
	return e, nil
}

func protected(guard func() (authorization, error), name string, handler http.Handler, listener net.Listener) (http.Handler, net.Listener, error) {
	a, err := guard()
	if err != nil {
		return nil, listener, err
	}
	return a.protect(name, handler, listener)
}

// start answers requests until close.
func (e *endpoints) start(listener net.Listener, handler http.Handler) {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 16}
	e.servers = append(e.servers, server)
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			e.log.Error("an endpoint stopped", logfield.Address(listener.Addr().String()), logfield.Error(err))
		}
	}()
}

// close ends the servers; requests in hand may finish for a moment.
func (e *endpoints) close() {
	if e.closing != nil {
		close(e.closing)
	}
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
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) {
		promhttp.HandlerFor(prometheus.Gatherers{ctrlmetrics.Registry, own}, promhttp.HandlerOpts{
			ErrorHandling: promhttp.ContinueOnError, ErrorLog: &scrapeLog{log: log},
		}).ServeHTTP(w, r)
	})
	if profiling {
		mux.HandleFunc("/debug/pprof/", loopbackOnly(pprof.Index))
		mux.HandleFunc("/debug/pprof/cmdline", loopbackOnly(pprof.Cmdline))
		mux.HandleFunc("/debug/pprof/profile", loopbackOnly(pprof.Profile))
		mux.HandleFunc("/debug/pprof/symbol", loopbackOnly(pprof.Symbol))
		mux.HandleFunc("/debug/pprof/trace", loopbackOnly(pprof.Trace))
	}
	return mux
}

// loopbackOnly refuses requests from other hosts and pods: profiles show memory contents, and taking them costs CPU time.
// Connections of kubectl port-forward come from the loopback interface.
func loopbackOnly(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if from, err := netip.ParseAddrPort(r.RemoteAddr); err != nil || !from.Addr().Unmap().IsLoopback() {
			http.Error(w, "profiles are served on the loopback interface only: use kubectl port-forward", http.StatusForbidden)
			return
		}
		next(w, r)
	}
}

// scrapeLog logs the first error of one scrape: when the client disconnects, each metric family that follows has the same error.
type scrapeLog struct {
	log    *slog.Logger
	logged bool
}

// Println implements promhttp.Logger.
func (l *scrapeLog) Println(v ...any) {
	if !l.logged {
		l.log.Error("some metrics could not be collected", logfield.Error(errors.New(fmt.Sprint(v...))))
	}
	l.logged = true
}
