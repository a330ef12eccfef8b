// Package store keeps the objects of an API server in memory, with one revision counter for all resources and a bounded history of changes.
//
// It is a deterministic state machine without goroutines, locks, clock or I/O: the caller serializes calls. Objects are immutable: the
// store takes over what is written and hands out the same values to all readers, which must not change them.
package store

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// ErrExists is returned by Create for a key that is taken.
	ErrExists = errors.New("object exists")
	// ErrNotFound is returned for a key without an object.
	ErrNotFound = errors.New("object not found")
	// ErrConflict is returned when the object has another revision than the caller expects.
	ErrConflict = errors.New("object has been modified")
	// ErrCompacted is returned for revisions older than the history.
	ErrCompacted = errors.New("revision has been compacted")
	// ErrFuture is returned for revisions that the store has not reached.
	ErrFuture = errors.New("revision is in the future")
)

// Key identifies an object. Namespace is "" for objects of the cluster.
type Key struct {
	Resource        schema.GroupResource
	Namespace, Name string
}

// path orders the objects of a resource as etcd does: by the bytes of namespace/name.
func (k Key) path() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Event is a change of an object. Object is nil after a deletion, and Previous before a creation. The resource version of Object is the
// revision of the event; Previous has an earlier one.
type Event struct {
	Key      Key
	Revision int64
	Object   *unstructured.Unstructured
	Previous *unstructured.Unstructured
}

// Store holds objects by resource.
type Store struct {
	revision  int64
	compacted int64 // events up to this revision are gone
	limit     int
	history   []Event
	resources map[schema.GroupResource]*table
}

// table has the objects of a resource and their paths in order.
type table struct {
	paths   []string
	objects map[string]entry
	// changed is the revision of the last change.
	changed int64
}

type entry struct {
	key    Key
	object *unstructured.Unstructured
}

// New returns an empty store at revision 1 that remembers at least the last history changes, and at most twice as many.
func New(history int) *Store {
	return &Store{revision: 1, compacted: 1, limit: max(history, 1), resources: map[schema.GroupResource]*table{}}
}

// Revision is that of the last change.
func (s *Store) Revision() int64 { return s.revision }

// Changed is the revision of the last change of a resource; 0 if there was none.
func (s *Store) Changed(resource schema.GroupResource) int64 {
	if t := s.resources[resource]; t != nil {
		return t.changed
	}
	return 0
}

// Oldest is the oldest revision that Events and ListAt accept.
func (s *Store) Oldest() int64 { return s.compacted }

// Get returns the object, or false.
func (s *Store) Get(key Key) (*unstructured.Unstructured, bool) {
	t := s.resources[key.Resource]
	if t == nil {
		return nil, false
	}
	e, ok := t.objects[key.path()]
	return e.object, ok
}

// Create adds an object and sets its resource version. The store owns the object from then on.
func (s *Store) Create(key Key, object *unstructured.Unstructured) error {
	if _, ok := s.Get(key); ok {
		return fmt.Errorf("creating %v: %w", key, ErrExists)
	}
	s.put(key, object, nil)
	return nil
}

// Update replaces the object that has the given revision and sets its resource version. The store owns the object from then on.
func (s *Store) Update(key Key, object *unstructured.Unstructured, revision string) error {
	old, err := s.at(key, revision)
	if err != nil {
		return fmt.Errorf("updating %v: %w", key, err)
	}
	s.put(key, object, old)
	return nil
}

// Delete removes the object that has the given revision, and returns its last state with the revision of the deletion.
func (s *Store) Delete(key Key, revision string) (*unstructured.Unstructured, error) {
	old, err := s.at(key, revision)
	if err != nil {
		return nil, fmt.Errorf("deleting %v: %w", key, err)
	}
	s.revision++
	t, path := s.resources[key.Resource], key.path()
	t.changed = s.revision
	delete(t.objects, path)
	i := sort.SearchStrings(t.paths, path)
	t.paths = slices.Delete(t.paths, i, i+1)
	s.record(Event{Key: key, Revision: s.revision, Previous: old})
	return WithRevision(old, s.revision), nil
}

// WithRevision is the object with another resource version. It shares everything but the metadata with the original.
func WithRevision(object *unstructured.Unstructured, revision int64) *unstructured.Unstructured {
	content := make(map[string]any, len(object.Object))
	for k, v := range object.Object {
		content[k] = v
	}
	old, _ := content["metadata"].(map[string]any)
	metadata := make(map[string]any, len(old)+1)
	for k, v := range old {
		metadata[k] = v
	}
	metadata["resourceVersion"] = strconv.FormatInt(revision, 10)
	content["metadata"] = metadata
	return &unstructured.Unstructured{Object: content}
}

func (s *Store) at(key Key, revision string) (*unstructured.Unstructured, error) {
	old, ok := s.Get(key)
	switch {
	case !ok:
		return nil, ErrNotFound
	case old.GetResourceVersion() != revision:
		return nil, ErrConflict
	}
	return old, nil
}

func (s *Store) put(key Key, object, old *unstructured.Unstructured) {
	s.revision++
	object.SetResourceVersion(strconv.FormatInt(s.revision, 10))
	t := s.resources[key.Resource]
	if t == nil {
		t = &table{objects: map[string]entry{}}
		s.resources[key.Resource] = t
	}
	t.changed = s.revision
	path := key.path()
	if old == nil {
		t.paths = slices.Insert(t.paths, sort.SearchStrings(t.paths, path), path)
	}
	t.objects[path] = entry{key: key, object: object}
	s.record(Event{Key: key, Revision: s.revision, Object: object, Previous: old})
}

// record appends to the history. It drops half of it at once, so that a change costs constant time on average.
func (s *Store) record(e Event) {
	s.history = append(s.history, e)
	if len(s.history) > 2*s.limit {
		s.Compact(s.history[len(s.history)-s.limit-1].Revision)
	}
}

// Compact forgets the changes up to and including a revision.
func (s *Store) Compact(revision int64) {
	revision = min(revision, s.revision)
	if revision <= s.compacted {
		return
	}
	s.compacted = revision
	s.history = slices.Clone(s.history[s.after(revision):])
}

// after is the index of the first change after a revision.
func (s *Store) after(revision int64) int {
	return sort.Search(len(s.history), func(i int) bool { return s.history[i].Revision > revision })
}

// List returns the objects of a resource in the order of namespace and name, those of one namespace if it is not "".
func (s *Store) List(resource schema.GroupResource, namespace string) []*unstructured.Unstructured {
	t := s.resources[resource]
	if t == nil {
		return nil
	}
	paths := t.paths
	if namespace != "" {
		// '0' follows '/' in the order of bytes.
		from, to := sort.SearchStrings(paths, namespace+"/"), sort.SearchStrings(paths, namespace+"0")
		paths = paths[from:to]
	}
	out := make([]*unstructured.Unstructured, 0, len(paths))
	for _, path := range paths {
		out = append(out, t.objects[path].object)
	}
	return out
}

// ListAt returns what List returned when the store was at the given revision.
func (s *Store) ListAt(resource schema.GroupResource, namespace string, revision int64) ([]*unstructured.Unstructured, error) {
	events, err := s.Events(revision)
	if err != nil {
		return nil, err
	}
	then := map[string]*unstructured.Unstructured{}
	for _, object := range s.List(resource, namespace) {
		then[Key{Namespace: object.GetNamespace(), Name: object.GetName()}.path()] = object
	}
	for _, e := range slices.Backward(events) {
		if e.Key.Resource != resource || namespace != "" && e.Key.Namespace != namespace {
			continue
		}
		if e.Previous == nil {
			delete(then, e.Key.path())
		} else {
			then[e.Key.path()] = e.Previous
		}
	}
	paths := make([]string, 0, len(then))
	for path := range then {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	out := make([]*unstructured.Unstructured, 0, len(paths))
	for _, path := range paths {
		out = append(out, then[path])
	}
	return out, nil
}

// Events returns the changes after a revision, of all resources. The caller must not change the slice.
func (s *Store) Events(after int64) ([]Event, error) {
	switch {
	case after < s.compacted:
		return nil, fmt.Errorf("revision %d: %w; the oldest is %d", after, ErrCompacted, s.compacted)
	case after > s.revision:
		return nil, fmt.Errorf("revision %d: %w; the current one is %d", after, ErrFuture, s.revision)
	}
	return slices.Clip(s.history[s.after(after):]), nil
}
