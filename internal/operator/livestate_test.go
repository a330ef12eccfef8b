package operator

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// fakeInformer is an informer whose store a test fills.
type fakeInformer struct {
	cache.Informer
	store    toolscache.Store
	handlers []toolscache.ResourceEventHandler
}

func (f *fakeInformer) GetStore() toolscache.Store { return f.store }

func (f *fakeInformer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	f.handlers = append(f.handlers, h)
	return nil, nil //nolint:nilnil // nothing uses it
}

func (f *fakeInformer) add(t *testing.T, o client.Object) {
	t.Helper()
	if err := f.store.Add(o); err != nil {
		t.Fatal(err)
	}
	for _, h := range f.handlers {
		h.OnAdd(o, false)
	}
}

// fakeInformers has an informer for each type.
type fakeInformers map[string]*fakeInformer

func (f fakeInformers) GetInformer(_ context.Context, o client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	return f.of(o), nil
}

func (f fakeInformers) of(o client.Object) *fakeInformer {
	kind := fmt.Sprintf("%T", o)
	if f[kind] == nil {
		f[kind] = &fakeInformer{store: toolscache.NewStore(toolscache.MetaNamespaceKeyFunc)}
	}
	return f[kind]
}

func TestStateChangesWithTheCachesAndAtMostOncePerInterval(t *testing.T) {
	all, now, ready := fakeInformers{}, clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)), false
	kinds := []client.Object{&corev1.Pod{}, &v1.NodePool{}}
	l := &liveState{
		informers: all, kinds: kinds, named: namedKinds(cloud.Cloud{}, kinds), clock: now,
		ready: func() bool { return ready }, leading: func() bool { return false },
	}
	if _, err := l.State(t.Context()); !errors.Is(err, errNotReady) {
		t.Errorf("before the caches are filled: %v", err)
	}
	ready = true
	all.of(&v1.NodePool{}).add(t, &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "web"}})
	want := func(version uint64, objects int) {
		t.Helper()
		s, err := l.State(t.Context())
		if err != nil || s.Version != version || len(s.Objects) != objects || len(s.Unknown) != 1 {
			t.Errorf("version %d with %d objects, want %d with %d: %v", s.Version, len(s.Objects), version, objects, err)
		}
	}
	want(1, 1)
	if kind := l.state.Objects[0].GetObjectKind().GroupVersionKind().Kind; kind != "NodePool" {
		t.Errorf("a NodePool is of kind %q", kind)
	}
	all.of(&corev1.Pod{}).add(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "b"}})
	want(1, 1) // within the interval
	now.SetTime(now.Now().Add(leastInterval))
	want(2, 2)
	now.SetTime(now.Now().Add(stateAge - 1))
	want(2, 2) // nothing has changed
	now.SetTime(now.Now().Add(1))
	want(3, 2) // but time passes
}
