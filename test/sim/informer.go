package sim

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/kind"
)

// informers are the cache of a process. Each kind has its own place in the history of the API server: the cache is stale, and kinds
// are stale by different amounts.
type informers struct {
	process *Process

	mu      sync.Mutex
	kinds   map[schema.GroupVersionKind]*informer
	indexes map[reflect.Type]map[string]client.IndexerFunc
}

var _ cache.Cache = (*informers)(nil)

func newInformers(p *Process) *informers {
	return &informers{process: p, kinds: map[schema.GroupVersionKind]*informer{}, indexes: map[reflect.Type]map[string]client.IndexerFunc{}}
}

// informer follows the objects of a kind.
type informer struct {
	of   *informers
	gvk  schema.GroupVersionKind
	kind *kind.Kind
	name string

	mu       sync.Mutex
	revision int64
	objects  map[client.ObjectKey]client.Object
	// indexed has the keys of objects by index and value.
	indexed map[string]map[string]map[client.ObjectKey]bool
	// due is set while a delivery is scheduled.
	due      bool
	handlers []toolscache.ResourceEventHandler
}

// of returns the informer of an object's kind, and lists when it is new.
func (c *informers) of(o client.Object) (*informer, error) {
	gvk, err := c.process.api.kindOf(o)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.kinds[gvk]; i != nil {
		return i, nil
	}
	i := &informer{of: c, gvk: gvk, kind: c.process.api.kinds[gvk], name: "watch " + gvk.Kind, objects: map[client.ObjectKey]client.Object{}, indexed: map[string]map[string]map[client.ObjectKey]bool{}}
	for field := range c.indexes[reflect.TypeOf(o)] {
		i.indexed[field] = map[string]map[client.ObjectKey]bool{}
	}
	list, revision, err := c.process.api.list(gvk)
	if err != nil {
		return nil, err
	}
	i.revision = revision
	for _, o := range list {
		i.put(o)
	}
	c.kinds[gvk] = i
	c.process.api.follow(i)
	return i, nil
}

func (i *informer) put(o client.Object) {
	key := client.ObjectKeyFromObject(o)
	i.drop(key)
	i.objects[key] = o
	for field, values := range i.of.indexes[reflect.TypeOf(o)] {
		for _, value := range values(o) {
			keys := i.indexed[field][value]
			if keys == nil {
				keys = map[client.ObjectKey]bool{}
				i.indexed[field][value] = keys
			}
			keys[key] = true
		}
	}
}

func (i *informer) drop(key client.ObjectKey) {
	old := i.objects[key]
	if old == nil {
		return
	}
	delete(i.objects, key)
	for field, values := range i.of.indexes[reflect.TypeOf(old)] {
		for _, value := range values(old) {
			delete(i.indexed[field][value], key)
		}
	}
}

// changed is called when the API server has changed. It schedules the delivery of what is new, after the lag of the watch.
func (i *informer) changed() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.due || !i.of.process.alive() {
		return
	}
	i.due = true
	f := i.of.process.api.faults
	i.of.process.world.soon(i.name, "watch", f.MinLag, f.MaxLag, func() { go i.deliver() }).process = i.of.process
}

// deliver applies what has happened since the last delivery, and tells the handlers.
func (i *informer) deliver() {
	f, w := i.of.process.api.faults, i.of.process.world
	if i.of.process.alive() && f.happens(w, "stalled watch", f.Stall) {
		w.soon(i.name, "stall", 0, f.MaxStall, func() { go i.deliver() }).process = i.of.process
		return
	}
	i.mu.Lock()
	i.due = false
	after := i.revision
	i.mu.Unlock()
	if !i.of.process.alive() {
		return
	}
	if f.happens(w, "relist", f.Relist) {
		i.relist()
		return
	}
	events, revision, err := i.of.process.api.eventsAfter(i.gvk, after)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", i.name, err)) // the history is longer than any lag
	}
	twice := f.happens(w, "duplicate", f.Duplicate)
	for _, e := range events {
		i.apply(e)
		if twice && e.kind != watch.Deleted { // an informer knows what it has deleted
			i.apply(e)
		}
	}
	i.mu.Lock()
	i.revision = revision
	i.mu.Unlock()
}

// relist lists the objects of the kind, and tells the handlers what is different: what happened in between is not known, and an object that
// was replaced by another one of its name looks changed.
func (i *informer) relist() {
	list, revision, err := i.of.process.api.list(i.gvk)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", i.name, err))
	}
	there := map[client.ObjectKey]bool{}
	for _, o := range list {
		there[client.ObjectKeyFromObject(o)] = true
	}
	i.mu.Lock()
	known := i.sorted(nil)
	i.mu.Unlock()
	for _, o := range known {
		if !there[client.ObjectKeyFromObject(o)] {
			i.gone(o)
		}
	}
	for _, o := range list {
		i.apply(change{watch.Modified, o})
	}
	i.mu.Lock()
	i.revision = revision
	i.mu.Unlock()
}

// gone tells the handlers of an object whose deletion was not seen.
func (i *informer) gone(o client.Object) {
	key := client.ObjectKeyFromObject(o)
	i.mu.Lock()
	i.drop(key)
	handlers := slices.Clone(i.handlers)
	i.mu.Unlock()
	for _, h := range handlers {
		h.OnDelete(toolscache.DeletedFinalStateUnknown{Key: key.String(), Obj: o})
	}
}

// change is an object as a watch shows it.
type change struct {
	kind   watch.EventType
	object client.Object
}

func (i *informer) apply(e change) {
	key := client.ObjectKeyFromObject(e.object)
	i.mu.Lock()
	old := i.objects[key]
	if e.kind == watch.Deleted {
		i.drop(key)
	} else {
		i.put(e.object)
	}
	handlers := slices.Clone(i.handlers)
	i.mu.Unlock()
	for _, h := range handlers {
		switch {
		case e.kind == watch.Deleted:
			h.OnDelete(e.object)
		case old == nil:
			h.OnAdd(e.object, false)
		default:
			h.OnUpdate(old, e.object)
		}
	}
}

// registration is that of a handler, which has seen all objects at once.
type registration struct{}

// HasSynced implements toolscache.ResourceEventHandlerRegistration.
func (registration) HasSynced() bool { return true }

// HasSyncedChecker implements toolscache.ResourceEventHandlerRegistration.
func (registration) HasSyncedChecker() toolscache.DoneChecker { return done{} }

type done struct{}

func (done) Name() string { return "simulated" }

func (done) Done() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// AddEventHandler implements cache.Informer.
func (i *informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	i.mu.Lock()
	i.handlers = append(i.handlers, h)
	all := i.sorted(nil)
	i.mu.Unlock()
	for _, o := range all {
		h.OnAdd(o, true)
	}
	return registration{}, nil
}

// AddEventHandlerWithResyncPeriod implements cache.Informer.
func (i *informer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, _ time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

// AddEventHandlerWithOptions implements cache.Informer.
func (i *informer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, _ toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

// RemoveEventHandler implements cache.Informer.
func (i *informer) RemoveEventHandler(toolscache.ResourceEventHandlerRegistration) error { return nil }

// AddIndexers implements cache.Informer.
func (i *informer) AddIndexers(toolscache.Indexers) error {
	return errors.New("indexes are added to the cache")
}

// HasSynced implements cache.Informer.
func (i *informer) HasSynced() bool { return true }

// HasSyncedChecker implements cache.Informer.
func (i *informer) HasSyncedChecker() toolscache.DoneChecker { return done{} }

// IsStopped implements cache.Informer.
func (i *informer) IsStopped() bool { return !i.of.process.alive() }

// sorted are the objects with these keys, or all, by namespace and name. It wants the lock.
func (i *informer) sorted(keys map[client.ObjectKey]bool) []client.Object {
	var out []client.Object
	if keys == nil {
		for _, o := range i.objects {
			out = append(out, o)
		}
	}
	for key := range keys {
		out = append(out, i.objects[key])
	}
	slices.SortFunc(out, func(a, b client.Object) int {
		if n := strings.Compare(a.GetNamespace(), b.GetNamespace()); n != 0 {
			return n
		}
		return strings.Compare(a.GetName(), b.GetName())
	})
	return out
}

// GetInformer implements cache.Informers.
func (c *informers) GetInformer(_ context.Context, o client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	return c.of(o)
}

// GetInformerForKind implements cache.Informers.
func (c *informers) GetInformerForKind(_ context.Context, gvk schema.GroupVersionKind, _ ...cache.InformerGetOption) (cache.Informer, error) {
	o, err := c.process.api.empty(gvk)
	if err != nil {
		return nil, err
	}
	return c.of(o)
}

// RemoveInformer implements cache.Informers.
func (c *informers) RemoveInformer(context.Context, client.Object) error { return nil }

// Start implements cache.Informers.
func (c *informers) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// WaitForCacheSync implements cache.Informers.
func (c *informers) WaitForCacheSync(context.Context) bool { return true }

// IndexField implements client.FieldIndexer. Indexes are added before the first read.
func (c *informers) IndexField(_ context.Context, o client.Object, field string, values client.IndexerFunc) error {
	t := reflect.TypeOf(o)
	if c.indexes[t] == nil {
		c.indexes[t] = map[string]client.IndexerFunc{}
	}
	c.indexes[t][field] = values
	return nil
}

// Get implements client.Reader.
func (c *informers) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	i, err := c.of(o)
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	found := i.objects[key]
	if found == nil {
		return apierrors.NewNotFound(schema.GroupResource{Group: i.gvk.Group, Resource: i.gvk.Kind}, key.Name)
	}
	copyInto(o, found)
	return nil
}

func copyInto(to, from client.Object) {
	reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from.DeepCopyObject()).Elem())
}

// List implements client.Reader.
func (c *informers) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	options := client.ListOptions{}
	options.ApplyOptions(opts)
	o, err := c.process.api.element(list)
	if err != nil {
		return err
	}
	i, err := c.of(o)
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	var keys map[client.ObjectKey]bool
	if options.FieldSelector != nil {
		for _, r := range options.FieldSelector.Requirements() {
			index := i.indexed[r.Field]
			if index == nil {
				return fmt.Errorf("%s has no index %q", i.gvk.Kind, r.Field)
			}
			keys = both(keys, index[r.Value])
		}
	}
	return fill(list, selected(i.sorted(keys), options), options.UnsafeDisableDeepCopy != nil && *options.UnsafeDisableDeepCopy)
}

func both(a, b map[client.ObjectKey]bool) map[client.ObjectKey]bool {
	out := map[client.ObjectKey]bool{}
	for key := range b {
		if a == nil || a[key] {
			out[key] = true
		}
	}
	return out
}

func selected(list []client.Object, options client.ListOptions) []client.Object {
	selector := options.LabelSelector
	if selector == nil {
		selector = labels.Everything()
	}
	return slices.DeleteFunc(list, func(o client.Object) bool {
		return options.Namespace != "" && o.GetNamespace() != options.Namespace || !selector.Matches(labels.Set(o.GetLabels()))
	})
}

// fill puts objects into a list.
func fill(list client.ObjectList, objects []client.Object, shared bool) error {
	pointer, err := meta.GetItemsPtr(list)
	if err != nil {
		return fmt.Errorf("a list of objects: %w", err)
	}
	items := reflect.ValueOf(pointer).Elem()
	out := reflect.MakeSlice(items.Type(), len(objects), len(objects))
	for i, o := range objects {
		if !shared {
			o, _ = o.DeepCopyObject().(client.Object)
		}
		out.Index(i).Set(reflect.ValueOf(o).Elem())
	}
	items.Set(out)
	return nil
}
