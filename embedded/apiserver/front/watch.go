package front

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/registry"
)

// longestWatch ends a watch that does not ask for a timeout.
const longestWatch = time.Hour

// watches tells whether the request is a watch. One of a path with a name is for the path that asks for it only.
func watches(req *http.Request, t target) bool {
	return req.Method == http.MethodGet && t.subresource == "" && (t.watch || t.name == "" && flag(req.URL.Query(), "watch"))
}

// stream is a running watch.
type stream struct {
	server    *Server
	target    target
	ask       *registry.Request
	options   registry.ListOptions
	wants     form
	include   metav1.IncludeObjectPolicy
	bookmarks bool
	// headers: the next table has column definitions, which follow the first event only.
	headers bool
	after   int64

	encoder *json.Encoder
	flush   func()
}

// watch answers a watch: events as lines of JSON, until the client leaves, the timeout, or an error.
func (s *Server) watch(w http.ResponseWriter, req *http.Request, t target, wants form) {
	query := req.URL.Query()
	st := &stream{server: s, target: t, wants: wants, headers: true}
	st.include, _ = includes(req)
	var initial []registry.Event
	var initialEnd bool
	timeout := longestWatch
	err := s.Do(func(r *registry.Registry) error {
		var err error
		if st.target.kind = r.Kind(t.resource); st.target.kind == nil || t.namespaced && !st.target.kind.Namespaced {
			return unknownResource()
		}
		if st.ask, err = st.target.request(req); err != nil {
			return err
		}
		if st.options, err = list(req); err != nil {
			return err
		}
		st.bookmarks = flag(query, "allowWatchBookmarks")
		if seconds, err := integer(query, "timeoutSeconds"); err != nil {
			return err
		} else if seconds > 0 {
			timeout = time.Duration(seconds) * time.Second
		}
		initial, initialEnd, err = st.start(r, query.Get("sendInitialEvents"))
		return err
	})
	if err != nil {
		fail(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(req.Context(), timeout)
	defer cancel()
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(http.StatusOK)
	st.encoder, st.flush = json.NewEncoder(w), func() {
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
	st.flush()
	for _, event := range initial {
		if !st.send(event) {
			return
		}
	}
	if initialEnd && !st.bookmark(map[string]string{metav1.InitialEventsAnnotationKey: "true"}) {
		return
	}
	st.flush()
	st.run(ctx)
}

// start checks the revision that the watch starts at, and returns the objects that it begins with.
func (st *stream) start(r *registry.Registry, sendInitial string) (events []registry.Event, end bool, err error) {
	revision, err := registry.ParseRevision(st.options.ResourceVersion)
	if err != nil {
		return nil, false, err
	}
	if err := st.target.kind.CheckFields(st.options.Fields); err != nil {
		return nil, false, apierrors.NewBadRequest(err.Error())
	}
	st.after = revision
	switch sendInitial {
	case "true":
		end = st.bookmarks
	case "false":
		if revision == 0 {
			st.after = r.Revision()
		}
		return nil, false, nil
	case "":
		if revision != 0 {
			return nil, false, nil
		}
	default:
		return nil, false, apierrors.NewBadRequest(fmt.Sprintf("sendInitialEvents: %q is not a boolean", sendInitial))
	}
	options := st.options
	options.Match, options.Limit, options.Continue = "", 0, ""
	found, err := r.List(st.ask, options)
	if err != nil {
		return nil, false, err
	}
	st.after = r.Revision()
	for i := range found.Items {
		events = append(events, registry.Event{Type: watch.Added, Object: &found.Items[i]})
	}
	return events, end, nil
}

// run sends events as they happen.
func (st *stream) run(ctx context.Context) {
	ticker := time.NewTicker(st.server.options.BookmarkEvery)
	defer ticker.Stop()
	for {
		events, changed, err := st.next()
		if err != nil {
			_ = st.encoder.Encode(map[string]any{"type": watch.Error, "object": statusOf(err)})
			st.flush()
			return
		}
		if changed == nil {
			return // the kind is served no more
		}
		for _, event := range events {
			if !st.send(event) {
				return
			}
		}
		if len(events) > 0 {
			st.flush()
		}
		select {
		case <-ctx.Done():
			if st.bookmarks && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				st.bookmark(nil)
				st.flush()
			}
			return
		case <-ticker.C:
			if st.bookmarks && !st.bookmark(nil) {
				return
			}
			st.flush()
		case <-changed:
		}
	}
}

// next returns the events since the last call, and a channel that is closed when there may be more; nil if the kind is gone.
func (st *stream) next() ([]registry.Event, <-chan struct{}, error) {
	s := st.server
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.registry.Kind(st.target.resource)
	if k == nil {
		return nil, nil, nil
	}
	st.target.kind, st.ask.Kind = k, k
	events, revision, err := s.registry.Events(st.ask, st.options, st.after)
	if err != nil {
		return nil, nil, err
	}
	st.after = revision
	return events, s.changed, nil
}

func (st *stream) send(event registry.Event) bool {
	value, err := st.shape(event.Object)
	return err == nil && st.encoder.Encode(map[string]any{"type": event.Type, "object": value}) == nil
}

// shape is an object as the client wants to see it.
func (st *stream) shape(object *unstructured.Unstructured) (any, error) {
	switch st.wants {
	case metadata, metadataList:
		return partial(object), nil
	case table:
	default:
		return object.Object, nil
	}
	shape, err := shaped(st.target, object, st.wants, st.server.registry.Now(), st.include)
	if err != nil {
		return nil, err
	}
	if printed, ok := shape.(*metav1.Table); ok && !st.headers {
		printed.ColumnDefinitions = nil
	}
	st.headers = false
	return shape, nil
}

// bookmark tells the client up to which revision it has seen everything.
func (st *stream) bookmark(annotations map[string]string) bool {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(st.target.kind.GroupVersionKind)
	object.SetResourceVersion(strconv.FormatInt(st.after, 10))
	object.SetAnnotations(annotations)
	value, err := st.shape(object)
	return err == nil && st.encoder.Encode(map[string]any{"type": watch.Bookmark, "object": value}) == nil
}
