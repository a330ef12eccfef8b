package loop

import (
	"context"
	"reflect"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// freshFor bounds how long a write is remembered that nobody reads again. The cache is normally behind by milliseconds.
const freshFor = time.Minute

// Fresh is a client whose Get never returns an object older than this process's last write to it.
//
// Problem: several controllers of one process write the same object, each from a cache that lags behind all of them; every
// such write is a conflict, and conflicts cost the API server as much as writes. Approach: the answer to a write is the
// newest version there is, so it is kept and handed out by Get until the cache has caught up. Lists and watches are the
// cache's. Writes of other processes still conflict, as they must.
type Fresh struct {
	client.Client
	clock clock.PassiveClock

	mu      sync.Mutex
	written map[objectKey]answer
	sweepAt time.Time
}

type objectKey struct {
	kind reflect.Type
	name client.ObjectKey
}

type answer struct {
	object client.Object
	at     time.Time
}

// NewFresh wraps c, which reads from a cache and writes to the API server.
func NewFresh(c client.Client, clk clock.PassiveClock) *Fresh {
	return &Fresh{Client: c, clock: clk, written: map[objectKey]answer{}}
}

func keyOf(o client.Object, name client.ObjectKey) objectKey {
	return objectKey{kind: reflect.TypeOf(o), name: name}
}

// Get reads the newest version known to this process.
func (f *Fresh) Get(ctx context.Context, name client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := f.Client.Get(ctx, name, o, opts...)
	key := keyOf(o, name)
	f.mu.Lock()
	defer f.mu.Unlock()
	own, ok := f.written[key]
	if !ok {
		return err
	}
	if err == nil && own.object.GetUID() == o.GetUID() && older(o.GetResourceVersion(), own.object.GetResourceVersion()) {
		reflect.ValueOf(o).Elem().Set(reflect.ValueOf(own.object.DeepCopyObject()).Elem())
		return nil
	}
	delete(f.written, key)
	return err
}

// Create writes and remembers the answer.
func (f *Fresh) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return f.note(o, f.Client.Create(ctx, o, opts...))
}

// Update writes and remembers the answer.
func (f *Fresh) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	return f.note(o, f.Client.Update(ctx, o, opts...))
}

// Patch writes and remembers the answer.
func (f *Fresh) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return f.note(o, f.Client.Patch(ctx, o, patch, opts...))
}

// Status writes status and remembers the answers.
func (f *Fresh) Status() client.SubResourceWriter {
	return freshStatus{SubResourceWriter: f.Client.Status(), fresh: f}
}

type freshStatus struct {
	client.SubResourceWriter
	fresh *Fresh
}

func (s freshStatus) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	return s.fresh.note(o, s.SubResourceWriter.Update(ctx, o, opts...))
}

func (s freshStatus) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	return s.fresh.note(o, s.SubResourceWriter.Patch(ctx, o, patch, opts...))
}

// note keeps the answer to a write that succeeded, unless a later one is known already.
func (f *Fresh) note(o client.Object, err error) error {
	if err != nil || o.GetResourceVersion() == "" {
		return err
	}
	key := keyOf(o, client.ObjectKeyFromObject(o))
	now := f.clock.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, ok := f.written[key]; !ok || known.object.GetUID() != o.GetUID() ||
		older(known.object.GetResourceVersion(), o.GetResourceVersion()) {
		kept, isObject := o.DeepCopyObject().(client.Object)
		if isObject {
			f.written[key] = answer{object: kept, at: now}
		}
	}
	f.sweep(now)
	return nil
}

// sweep forgets, at most once a minute, answers that nobody read again.
func (f *Fresh) sweep(now time.Time) {
	if now.Before(f.sweepAt) {
		return
	}
	f.sweepAt = now.Add(freshFor)
	for key, own := range f.written {
		if now.Sub(own.at) > freshFor {
			delete(f.written, key)
		}
	}
}
