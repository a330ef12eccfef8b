package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/internal/manifest"
)

// WatchOptions are how a cluster is watched.
type WatchOptions struct {
	// SettingsNamespace is that of the settings of the controller; all if it is empty.
	SettingsNamespace string
	// ListTimeout bounds each request that lists; 0 for no limit.
	ListTimeout time.Duration
}

// Watch has the objects that a snapshot of a cluster would have, and follows their changes: each kind is listed once and watched from then on.
// Objects have the fields of a snapshot, so that changes of other fields are none. It is safe for concurrent use.
type Watch struct {
	format  *Format
	reader  *manifest.Reader
	cluster client.WithWatch
	options WatchOptions
	// background ends with the watch.
	background context.Context
	kinds      []*watchedKind
	// changes counts changes of objects, and of what is left out.
	changes atomic.Uint64
}

// Watch lists all kinds, and follows them until ctx ends. Errors are those of [Format.Capture]; kinds that may be listed and not watched are not
// followed, see [Watch.Unwatched].
func (f *Format) Watch(ctx context.Context, cluster client.WithWatch, reader *manifest.Reader, options WatchOptions) (*Watch, error) {
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, logr.Discard())) // Failure returns what reflectors log
	w := &Watch{format: f, reader: reader, cluster: cluster, options: options, background: ctx}
	for i := range f.kinds {
		w.kinds = append(w.kinds, newWatchedKind(w, i))
	}
	for _, k := range w.kinds {
		k.follow(ctx)
	}
	for _, k := range w.kinds {
		var err error
		select {
		case <-k.listed:
			err = k.unreadable()
		case err = <-k.refused:
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			cancel()
			return nil, err
		}
	}
	context.AfterFunc(ctx, cancel)
	return w, nil
}

// Changes increases whenever objects change.
func (w *Watch) Changes() uint64 { return w.changes.Load() }

// Objects are all objects, by kind, namespace and name. They are shared: none is to be changed.
func (w *Watch) Objects() []client.Object {
	var out []client.Object
	for _, k := range w.kinds {
		out = append(out, k.sortedObjects()...)
	}
	return out
}

// Absent are kinds that the cluster does not serve.
func (w *Watch) Absent() []string { return w.named(func(k *watchedKind) bool { return k.absent }) }

// Forbidden are kinds that may not be listed, although all others could.
func (w *Watch) Forbidden() []string {
	return w.named(func(k *watchedKind) bool { return k.forbidden })
}

// Unwatched are kinds that may be listed and not watched: their objects are those of the last Refresh.
func (w *Watch) Unwatched() []string {
	return w.named(func(k *watchedKind) bool { return k.unwatched })
}

func (w *Watch) named(which func(*watchedKind) bool) []string {
	var out []string
	for _, k := range w.kinds {
		k.mu.Lock()
		if which(k) {
			out = append(out, k.kind.gvk.Kind)
		}
		k.mu.Unlock()
	}
	return out
}

// Failure is why objects may be out of date; nil if they are not.
func (w *Watch) Failure() error {
	var errs []error
	for _, k := range w.kinds {
		k.mu.Lock()
		failure := k.failure
		k.mu.Unlock()
		errs = append(errs, failure, k.unreadable())
	}
	return errors.Join(errs...)
}

// Refresh lists the kinds that cannot be watched, and looks for those that were left out.
func (w *Watch) Refresh(ctx context.Context) {
	for _, k := range w.kinds {
		k.mu.Lock()
		left := k.unwatched || k.absent || k.forbidden
		k.mu.Unlock()
		if left {
			k.refresh(ctx)
		}
	}
}

// watchedKind has the objects of a kind. It is the store of a reflector of client-go, and the interface to the API server that this uses.
type watchedKind struct {
	of    *Watch
	index int
	kind  kind
	// listed is closed when the kind has been listed, or is left out. refused gets the error if that fails at first.
	listed  chan struct{}
	refused chan error
	once    sync.Once

	mu sync.Mutex
	// stop ends the reflector.
	stop    context.CancelFunc
	objects map[string]client.Object
	// broken are the errors of objects that cannot be read, by key.
	broken map[string]error
	// sorted are the objects in order; nil after a change.
	sorted                       []client.Object
	absent, forbidden, unwatched bool
	// failure is why the last request failed; nil if it did not.
	failure error
}

func newWatchedKind(w *Watch, index int) *watchedKind {
	return &watchedKind{
		of: w, index: index, kind: w.format.kinds[index], listed: make(chan struct{}), refused: make(chan error, 1),
		objects: map[string]client.Object{}, broken: map[string]error{},
	}
}

// follow starts the reflector, unless the cluster does not serve the kind.
func (k *watchedKind) follow(ctx context.Context) {
	own, stop := context.WithCancel(ctx)
	k.mu.Lock()
	k.stop = stop
	k.mu.Unlock()
	reflector := cache.NewReflectorWithOptions(&cache.ListWatch{ListWithContextFunc: k.list, WatchFuncWithContext: k.watch}, &unstructured.Unstructured{}, k, cache.ReflectorOptions{Name: "karpenter", TypeDescription: k.kind.gvk.Kind})
	go func() {
		defer stop()
		gvk := k.kind.gvk
		if _, err := k.of.cluster.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); absent(err) {
			k.leaveOut(err)
			return
		}
		reflector.RunWithContext(own)
	}()
}

// end stops following the kind.
func (k *watchedKind) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stop()
}

// listing returns an empty list of the kind and the options of all requests.
func (k *watchedKind) listing(raw *metav1.ListOptions) (*unstructured.UnstructuredList, []client.ListOption) {
	list := &unstructured.UnstructuredList{}
	gvk := k.kind.gvk
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	opts := []client.ListOption{&client.ListOptions{Raw: raw}}
	if k.kind.label != "" {
		opts = append(opts, client.HasLabels{k.kind.label}, client.InNamespace(k.of.options.SettingsNamespace))
	}
	return list, opts
}

// list lists all objects, reduced to the fields of a snapshot page by page, so that a large cluster is never in memory as a whole.
func (k *watchedKind) list(ctx context.Context, from metav1.ListOptions) (runtime.Object, error) {
	all := &unstructured.UnstructuredList{}
	next, limit := "", int64(page)
	for {
		list, opts := k.listing(&metav1.ListOptions{ResourceVersion: from.ResourceVersion, ResourceVersionMatch: from.ResourceVersionMatch})
		if next != "" {
			list, opts = k.listing(&metav1.ListOptions{}) // the token has the version
		}
		err := k.request(ctx, list, append(opts, client.Limit(limit), client.Continue(next)))
		if next != "" && apierrors.IsResourceExpired(err) {
			all, next, limit = &unstructured.UnstructuredList{}, "", 0
			continue
		}
		if err != nil {
			return nil, k.failed(ctx, err)
		}
		for i := range list.Items {
			reduced, err := k.reduce(&list.Items[i])
			if err != nil {
				return nil, k.failed(ctx, err)
			}
			all.Items = append(all.Items, *reduced)
		}
		all.SetResourceVersion(list.GetResourceVersion())
		if next = list.GetContinue(); next == "" {
			k.succeeded()
			return all, nil
		}
	}
}

func (k *watchedKind) request(ctx context.Context, list *unstructured.UnstructuredList, opts []client.ListOption) error {
	if limit := k.of.options.ListTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	return k.of.cluster.List(ctx, list, opts...)
}

// watch watches the kind, and leaves that to Refresh where it is not allowed.
func (k *watchedKind) watch(ctx context.Context, from metav1.ListOptions) (watch.Interface, error) {
	list, opts := k.listing(&from)
	events, err := k.of.cluster.Watch(ctx, list, opts...)
	initial := from.SendInitialEvents != nil && *from.SendInitialEvents
	switch {
	case err != nil && initial:
		return nil, err // the reflector lists instead
	case apierrors.IsForbidden(err):
		k.set(func() { k.unwatched = true })
		k.end()
		return nil, err
	case err != nil:
		return nil, k.failed(ctx, err)
	}
	k.succeeded()
	return watch.Filter(events, func(e watch.Event) (watch.Event, bool) {
		object, ok := e.Object.(*unstructured.Unstructured)
		if !ok || e.Type == watch.Bookmark || e.Type == watch.Error {
			return e, true
		}
		reduced, err := k.reduce(object)
		if err != nil {
			status := apierrors.NewInternalError(k.failed(ctx, err)).Status()
			return watch.Event{Type: watch.Error, Object: &status}, true
		}
		return watch.Event{Type: e.Type, Object: reduced}, true
	}), nil
}

// reduce returns the fields of an object that a snapshot has, and its resource version.
func (k *watchedKind) reduce(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	kept, err := k.kind.reduce(o.Object)
	if err != nil {
		return nil, err
	}
	out := &unstructured.Unstructured{Object: kept}
	out.SetResourceVersion(o.GetResourceVersion())
	return out, nil
}

// failed notes why a request failed. At first, that ends the watch of the cluster, or leaves the kind out.
func (k *watchedKind) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if absent(err) || apierrors.IsForbidden(err) && k.kind.optional() {
		k.leaveOut(err)
		k.end()
		return err
	}
	err = fmt.Errorf("listing objects of kind %s in %s: %w", k.kind.gvk.Kind, k.kind.gvk.GroupVersion(), err)
	k.set(func() { k.failure = err })
	select {
	case k.refused <- err:
	default:
	}
	return err
}

// leaveOut has no objects of the kind.
func (k *watchedKind) leaveOut(err error) {
	k.set(func() {
		k.absent, k.forbidden = absent(err), apierrors.IsForbidden(err)
		k.objects, k.broken, k.sorted, k.failure = map[string]client.Object{}, map[string]error{}, nil, nil
	})
	k.once.Do(func() { close(k.listed) })
}

func (k *watchedKind) succeeded() {
	k.set(func() { k.absent, k.forbidden, k.failure = false, false, nil })
}

// set changes what is known of the kind as a whole.
func (k *watchedKind) set(change func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := fmt.Sprint(k.absent, k.forbidden, k.unwatched, k.failure)
	change()
	if before != fmt.Sprint(k.absent, k.forbidden, k.unwatched, k.failure) {
		k.of.changes.Add(1)
	}
}

// refresh lists the kind again.
func (k *watchedKind) refresh(ctx context.Context) {
	listed, err := k.list(ctx, metav1.ListOptions{})
	if err != nil {
		return // failed has noted it
	}
	if list, ok := listed.(*unstructured.UnstructuredList); ok {
		items := make([]any, len(list.Items))
		for i := range list.Items {
			items[i] = &list.Items[i]
		}
		_ = k.Replace(items, list.GetResourceVersion()) // it never fails
	}
	k.mu.Lock()
	watched := !k.unwatched
	k.mu.Unlock()
	if watched { // it was left out until now
		k.follow(k.of.background)
	}
}

// sortedObjects are the objects by namespace and name.
func (k *watchedKind) sortedObjects() []client.Object {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sorted == nil {
		k.sorted = make([]client.Object, 0, len(k.objects))
		for _, o := range k.objects {
			k.sorted = append(k.sorted, o)
		}
		slices.SortFunc(k.sorted, func(a, b client.Object) int {
			return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
		})
	}
	return k.sorted
}

// unreadable is the error of an object that cannot be read; nil if all can.
func (k *watchedKind) unreadable() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var errs []error
	for _, err := range k.broken {
		errs = append(errs, err)
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}
