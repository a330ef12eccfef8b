// Package console serves what people look at, read-only, over HTTP: views as JSON, and a web page that shows them.
//
// Below a prefix, /console in the controller:
//
//	GET  /api/v1/fleet, node/NAME, pending, moves, cost, pools   views, at another moment with ?at=TIME
//	GET  /api/v1/timeline    the moments that can be asked for
//	GET  /api/v1/manifests   NodePools and node classes as YAML
//	POST /api/v1/edit        what the manifests in the body would change; nothing is applied
//	GET  /api/v1/changes     server-sent events: the revision, whenever views may have changed
//	GET  /api/v1/ledger      records of the decision ledger, as ledger.Answer. Parameters: those of ledger.Query.
//	GET  /                   the page
//
// docs/reference/console.md has the fields. It does not authenticate: the caller wraps the handler, unless it listens on the loopback interface
// only.
package console

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/ledger"
)

// Prefix is the path below which a controller serves the console. It is not /api: the ClusterRole system:discovery of Kubernetes lets all
// authenticated users get the non-resource URLs /api/*, so that a permission to get these paths would mean nothing.
const Prefix = "/console"

// Source has the views.
type Source interface {
	// Document returns a view to encode as JSON: one of those above, by the first word of its path; name is the rest of the path. A zero time means now.
	Document(ctx context.Context, view, name string, at time.Time) (any, error)
	// Manifests are the NodePools and node classes as YAML.
	Manifests(ctx context.Context) ([]byte, error)
	// Edit is what manifests would change. It applies nothing.
	Edit(ctx context.Context, manifests []byte) (any, error)
	// Revision changes whenever a view of the present may have changed.
	Revision(ctx context.Context) (uint64, error)
	// Changes sends the revision whenever it may have changed, until ctx ends. The first value is sent at once.
	Changes(ctx context.Context) <-chan uint64
}

// Sources are what is served.
type Sources struct {
	// Prefix is the path below which everything is, such as Prefix; empty for the root.
	Prefix string
	// Views are computed when they are asked for; nil serves the ledger only.
	Views Source
	// NotFound and Invalid are what errors of Views wrap when there is no such object, and when a question cannot be answered as it is asked.
	// NotReady is what they wrap while nothing can be answered yet.
	NotFound, Invalid, NotReady error
	// Files are the page; nil for none.
	Files fs.FS
	// Records have the decisions; nil if there are none.
	Records ledger.Records
	// Leading reports whether the process is the leader, which alone decides; nil for no process that decides.
	Leading func() bool
	// Failed hears about answers that could not be made.
	Failed func(error)
	// Clock is for heartbeats.
	Clock clock.WithTicker
	// Closing ends streams when the server ends; nil for never.
	Closing <-chan struct{}

	// run tells answers of different processes apart.
	run string
}

// Handler serves the sources.
func Handler(s Sources) http.Handler {
	s.run = rand.Text()[:8]
	mux := http.NewServeMux()
	handle := func(method, name string, h http.HandlerFunc) {
		mux.Handle(s.Prefix+"/api/v1/"+name, only(method, h))
	}
	handle(http.MethodGet, "ledger", s.ledger)
	mux.HandleFunc(s.Prefix+"/api/", func(w http.ResponseWriter, _ *http.Request) {
		fail(w, http.StatusNotFound, "there is no such view: the API is below "+s.Prefix+"/api/v1/, see docs/reference/console.md")
	})
	if s.Views != nil {
		a := &api{Sources: s, editing: make(chan struct{}, 1)}
		for _, view := range []string{"fleet", "pending", "moves", "cost", "pools", "timeline"} {
			handle(http.MethodGet, view, a.serve(view))
		}
		handle(http.MethodGet, "node/{name}", a.serve("node"))
		handle(http.MethodGet, "manifests", a.manifests)
		handle(http.MethodPost, "edit", a.edit)
		handle(http.MethodGet, "changes", a.changes)
	}
	if s.Files != nil {
		mux.Handle(s.Prefix+"/", only(http.MethodGet, http.StripPrefix(s.Prefix, &page{files: s.Files, loaded: map[string]answer{}})))
	}
	return secured(mux)
}

// only refuses other methods.
func only(method string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method {
			w.Header().Set("Allow", method)
			fail(w, http.StatusMethodNotAllowed, "the console is read-only: this path takes "+method+" only")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ledger answers with records.
func (s Sources) ledger(w http.ResponseWriter, r *http.Request) {
	if s.Records == nil {
		message := "there is no ledger here: give its directory or the address of a controller with --ledger"
		if s.Leading != nil {
			message = "no decisions are kept in memory: --ledger-memory of the controller is 0"
		}
		fail(w, http.StatusNotFound, message)
		return
	}
	query, err := ledger.ParseQuery(r.URL.Query())
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	records, cover, err := s.Records.Read(r.Context(), query.Filter)
	if err != nil {
		s.Failed(err)
		fail(w, http.StatusInternalServerError, "the records cannot be read, see the log: "+err.Error())
		return
	}
	answer := query.Answer(records, cover)
	answer.Leader = s.Leading == nil || s.Leading()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
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
			fail(w, http.StatusForbidden, "this address is served to the loopback interface only: use kubectl port-forward")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
