package cluster

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// confirmAfter is how long a NodeClaim that this process created may be missing from the watch before its existence is checked.
const confirmAfter = 15 * time.Second

// Watcher keeps a Store up to date from a manager's informers, on every replica, so that a standby has the cluster state when it
// is elected leader.
type Watcher struct {
	store  *Store
	clock  clock.Clock
	cache  cache.Cache
	reader client.Reader
	ready  chan struct{}

	mu sync.Mutex
	// delivered reports for each subscribed kind whether all objects that existed at start have been applied.
	delivered map[string]func() bool
}

// NewWatcher returns a Watcher for store. clock is that of the times which are given to store.Created.
func NewWatcher(store *Store, clock clock.Clock) *Watcher {
	return &Watcher{store: store, clock: clock, ready: make(chan struct{}), delivered: map[string]func() bool{}}
}

// Register adds the watches to m.
func (f *Watcher) Register(m manager.Manager) error {
	f.cache, f.reader = m.GetCache(), m.GetAPIReader()
	return m.Add(f)
}

// NeedLeaderElection returns false: a standby keeps its Store up to date too.
func (f *Watcher) NeedLeaderElection() bool { return false }

// Ready reports whether all objects that existed at start have been applied.
func (f *Watcher) Ready() bool {
	select {
	case <-f.ready:
		return true
	default:
		return false
	}
}

// WaitReady waits until Ready; it returns false if ctx ends first.
func (f *Watcher) WaitReady(ctx context.Context) bool {
	select {
	case <-f.ready:
		return true
	case <-ctx.Done():
		return false
	}
}

// Objects returns an empty object of each kind that is watched.
func (f *Watcher) Objects() []client.Object {
	var out []client.Object
	for _, k := range f.store.kinds() {
		out = append(out, k.object)
	}
	return out
}

// Missing returns the kinds whose initial objects may not all have been applied yet, sorted.
func (f *Watcher) Missing() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, k := range f.store.kinds() {
		if delivered, subscribed := f.delivered[k.name()]; !subscribed || !delivered() {
			out = append(out, k.name())
		}
	}
	slices.Sort(out)
	return out
}

// kind is one kind of object of the cluster state, with the functions that apply and delete one.
type kind struct {
	object client.Object
	apply  func(any)
	forget func(any)
}

func (k kind) name() string { return reflect.TypeOf(k.object).Elem().Name() }

func (s *Store) kinds() []kind {
	kinds := []kind{
		{&v1.NodeClaim{}, apply(s.UpdateNodeClaim), forget(func(c *v1.NodeClaim) { s.DeleteNodeClaim(c.Name) })},
		{&v1.NodePool{}, apply(s.Pools.UpdateNodePool), forget(func(p *v1.NodePool) { s.Pools.DeleteNodePool(p.Name) })},
		{&corev1.Node{}, apply(s.UpdateNode), forget(func(n *corev1.Node) { s.DeleteNode(n.Name) })},
		{&corev1.Namespace{}, apply(s.Namespaces.Update), forget(func(n *corev1.Namespace) { s.Namespaces.Delete(n.Name) })},
		{&appsv1.DaemonSet{}, apply(s.Daemons.Update), forget(func(d *appsv1.DaemonSet) { s.Daemons.Delete(d.Namespace, d.Name) })},
		{&storagev1.StorageClass{}, apply(s.Volumes.UpdateStorageClass), forget(func(c *storagev1.StorageClass) { s.Volumes.DeleteStorageClass(c.Name) })},
		{&storagev1.CSINode{}, apply(s.Volumes.UpdateCSINode), forget(func(n *storagev1.CSINode) { s.Volumes.DeleteCSINode(n.Name) })},
		{&storagev1.VolumeAttachment{}, apply(s.Volumes.UpdateAttachment), forget(func(a *storagev1.VolumeAttachment) { s.Volumes.DeleteAttachment(a.Spec.NodeName, a.Name) })},
		{&corev1.PersistentVolume{}, apply(s.Volumes.UpdateVolume), forget(func(v *corev1.PersistentVolume) { s.Volumes.DeleteVolume(v.Name) })},
		{&corev1.PersistentVolumeClaim{}, apply(s.Volumes.UpdateVolumeClaim), forget(func(c *corev1.PersistentVolumeClaim) { s.Volumes.DeleteVolumeClaim(c.Namespace, c.Name) })},
		{&corev1.Pod{}, apply(s.applyPod), forget(func(p *corev1.Pod) { s.DeletePod(string(p.UID)) })},
	}
	if s.Devices.tracked {
		kinds = append(kinds, s.Devices.kinds()...)
	}
	if s.Volumes.drivers {
		kinds = append(kinds, s.Volumes.driverKind())
	}
	if s.PodGroups.tracked {
		kinds = append(kinds, s.PodGroups.kinds()...)
	}
	if s.DefaultSpread.enabled() {
		kinds = append(kinds, s.DefaultSpread.kinds()...)
	}
	return kinds
}

// update applies the current version of an object. If the watch has missed that an object was deleted and created again with
// the same name, the former one is deleted first.
func (k kind) update(before, now any) {
	was, isObject := before.(client.Object)
	is, stillObject := now.(client.Object)
	if isObject && stillObject && was.GetUID() != is.GetUID() {
		k.forget(before)
	}
	k.apply(now)
}

// Start subscribes to the informers, waits until they have delivered the existing objects, and then checks NodeClaims that were
// created and never delivered. It returns when ctx ends.
func (f *Watcher) Start(ctx context.Context) error {
	subscribed := []func() bool{}
	for _, k := range f.store.kinds() {
		informer, err := f.cache.GetInformer(ctx, k.object)
		if err != nil {
			return fmt.Errorf("watching %T: %w", k.object, err)
		}
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    k.apply,
			UpdateFunc: k.update,
			DeleteFunc: k.forget,
		})
		if err != nil {
			return fmt.Errorf("watching %T: %w", k.object, err)
		}
		subscribed = append(subscribed, registration.HasSynced)
		f.mu.Lock()
		f.delivered[k.name()] = registration.HasSynced
		f.mu.Unlock()
	}
	return f.follow(ctx, subscribed)
}

func (f *Watcher) follow(ctx context.Context, subscribed []func() bool) error {
	if !toolscache.WaitForCacheSync(ctx.Done(), asSynced(subscribed)...) {
		return nil
	}
	close(f.ready)
	timer := f.clock.NewTimer(confirmAfter)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-timer.C():
			f.checkUnconfirmed(ctx, now)
			timer.Reset(confirmAfter)
		}
	}
}

func asSynced(list []func() bool) []toolscache.InformerSynced {
	out := make([]toolscache.InformerSynced, len(list))
	for i, f := range list {
		out[i] = f
	}
	return out
}

// checkUnconfirmed deletes NodeClaims that were created and deleted again without any watch event.
func (f *Watcher) checkUnconfirmed(ctx context.Context, now time.Time) {
	for _, name := range f.store.Unconfirmed(now.Add(-confirmAfter)) {
		var claim v1.NodeClaim
		if err := f.reader.Get(ctx, client.ObjectKey{Name: name}, &claim); apierrors.IsNotFound(err) {
			f.store.DeleteNodeClaim(name)
		}
	}
}

func (s *Store) applyPod(pod *corev1.Pod) {
	s.Daemons.Observe(pod)
	s.UpdatePod(pod)
}

func apply[T client.Object](update func(T)) func(any) {
	return func(o any) {
		if object, ok := o.(T); ok {
			update(object)
		}
	}
}

// forget unwraps the tombstone of an object whose deletion the informer missed.
func forget[T client.Object](remove func(T)) func(any) {
	return func(o any) {
		if late, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = late.Obj
		}
		if object, ok := o.(T); ok {
			remove(object)
		}
	}
}
