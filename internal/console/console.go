// Package console serves what the controller knows to people and programs, read-only, over HTTP.
//
//	GET /console/api/v1/ledger   records of the decision ledger, as ledger.Answer. Parameters: those of ledger.Query.
//
// It does not authenticate: the caller wraps the handler, unless it listens on the loopback interface only.
package console

import (
	"encoding/json"
	"net"
	"net/http"
	"net/netip"

	"github.com/karpenter-anew/karpenter/internal/ledger"
)

// Sources are what is served.
type Sources struct {
	// Ledger has the decisions; nil if they are not recorded in memory.
	Ledger *ledger.Ledger
	// Leading reports whether the process is the leader, which alone decides.
	Leading func() bool
	// Failed hears about answers that could not be made.
	Failed func(error)
}

// Handler serves the sources.
func Handler(s Sources) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+ledger.Path, s.ledger)
	return mux
}

// ledger answers with records.
func (s Sources) ledger(w http.ResponseWriter, r *http.Request) {
	if s.Ledger == nil {
		http.Error(w, "no decisions are kept in memory: --ledger-memory of the controller is 0", http.StatusNotFound)
		return
	}
	query, err := ledger.ParseQuery(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := s.Ledger.Answer(query)
	if err != nil {
		s.Failed(err)
		http.Error(w, "the records cannot be read, see the log of the controller", http.StatusInternalServerError)
		return
	}
	answer.Leader = s.Leading()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	// An error means that the client has gone.
	_ = json.NewEncoder(w).Encode(answer)
}

// OnLoopback reports whether an address to listen on, HOST:PORT, is reachable from this host, or this pod, only.
func OnLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && loopback(host)
}

// LocalOnly refuses requests for other hosts than the loopback interface: a page of another site, whose name resolves to it, must not read
// what is served there without authentication.
func LocalOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if !loopback(host) {
			http.Error(w, "this address is served to the loopback interface only: use kubectl port-forward", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
