package front

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/version"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/registry"
)

// Options configure the front.
type Options struct {
	// Version is what /version answers.
	Version version.Info
	// BookmarkEvery is the time between bookmarks of a watch that asks for them; one minute if 0.
	BookmarkEvery time.Duration
	// AfterWrite runs after every request that wrote, with the registry locked; it may write as well. May be nil.
	AfterWrite func(*registry.Registry) error
}

// Server is an http.Handler. It serializes all calls of the registry.
type Server struct {
	options Options

	mu       sync.Mutex
	registry *registry.Registry
	changed  chan struct{} // closed and replaced after every write
}

// New returns a server for the registry, which belongs to the server from then on; use Do to reach it.
func New(r *registry.Registry, options Options) *Server {
	if options.BookmarkEvery == 0 {
		options.BookmarkEvery = time.Minute
	}
	return &Server{options: options, registry: r, changed: make(chan struct{})}
}

// Do calls the function with the registry locked, and wakes watches if it wrote.
func (s *Server) Do(f func(*registry.Registry) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, catalog := s.registry.Revision(), s.registry.Catalog()
	err := f(s.registry)
	if s.options.AfterWrite != nil && s.registry.Revision() != before {
		if after := s.options.AfterWrite(s.registry); err == nil {
			err = after
		}
	}
	if s.registry.Revision() != before || s.registry.Catalog() != catalog {
		close(s.changed)
		s.changed = make(chan struct{})
	}
	return err
}

// ServeHTTP answers a request of the Kubernetes API.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	path := strings.Trim(req.URL.Path, "/")
	switch parts := strings.Split(path, "/"); {
	case path == "":
		s.paths(w, req)
	case path == "healthz", path == "livez", path == "readyz":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok"))
	case path == "version":
		respond(w, http.StatusOK, s.options.Version)
	case parts[0] == "openapi":
		s.openapi(w, req, parts[1:])
	case path == "api", path == "apis":
		s.groups(w, req, path)
	case parts[0] == "api" && len(parts) == 2, parts[0] == "apis" && len(parts) <= 3:
		s.resources(w, req, parts)
	case parts[0] == "api" || parts[0] == "apis":
		s.objects(w, req, parts)
	default:
		notFound(w)
	}
}
