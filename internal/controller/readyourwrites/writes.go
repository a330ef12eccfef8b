package readyourwrites

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Retry is how long a controller waits before it looks again at a cached object that is older than its own last
// write. The watch usually delivers the newer object first.
const Retry = 100 * time.Millisecond

// Writes remembers the last write of a controller to each object, so that a reconcile never acts on a cached object
// that does not show the write yet. The zero value is ready to use; it is safe for concurrent use. Entries go as soon
// as the cache has caught up or the object is gone, so that it holds only writes in flight.
type Writes struct {
	mu   sync.Mutex
	last map[types.NamespacedName]write
}

type write struct {
	uid     types.UID
	version string
	deleted bool
}

// Wrote records that the controller has just written obj, which carries the resource version of the answer.
func (w *Writes) Wrote(obj client.Object) {
	w.record(obj, func(e *write) { e.version = obj.GetResourceVersion() })
}

// Deleted records that the controller has just asked to delete obj, whose new resource version is not known.
func (w *Writes) Deleted(obj client.Object) {
	w.record(obj, func(e *write) { e.deleted = true })
}

func (w *Writes) record(obj client.Object, change func(*write)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[types.NamespacedName]write{}
	}
	key := client.ObjectKeyFromObject(obj)
	entry := w.last[key]
	if entry.uid != obj.GetUID() {
		entry = write{uid: obj.GetUID()}
	}
	change(&entry)
	w.last[key] = entry
}

// Stale reports whether obj, as read from the cache, is older than the last write to it.
func (w *Writes) Stale(obj client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := client.ObjectKeyFromObject(obj)
	entry, ok := w.last[key]
	if !ok {
		return false
	}
	if entry.uid == obj.GetUID() && (older(obj.GetResourceVersion(), entry.version) || entry.deleted && obj.GetDeletionTimestamp() == nil) {
		return true
	}
	delete(w.last, key)
	return false
}

// Gone forgets an object that no longer exists.
func (w *Writes) Gone(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, key)
}

// older compares two resource versions; versions that cannot be compared count as current, so that a foreign API
// server can cost a repeated write but never a stuck object.
func older(cached, written string) bool {
	if written == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached, written)
	return err == nil && order < 0
}
