package shadow

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
)

// Published is the newest report, for HTTP clients. The zero value has none.
type Published struct{ report atomic.Pointer[Report] }

// Set replaces the report. It must not be changed afterwards.
func (p *Published) Set(r Report) { p.report.Store(&r) }

// Handler serves GET /report, the newest report as JSON, and /healthz and /readyz for probes. The process is ready when there is a report.
func (p *Published) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if p.report.Load() == nil {
			http.Error(w, "there is no report yet: the mirror is being filled", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("GET /report", func(w http.ResponseWriter, _ *http.Request) {
		report := p.report.Load()
		if report == nil {
			http.Error(w, "there is no report yet: the mirror is being filled", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		// An error means that the client has gone.
		_ = json.NewEncoder(w).Encode(report)
	})
	return mux
}
