// Package readyourwrites lets reads from the cache show what this process wrote last.
package readyourwrites

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

// Client is a client whose Get never returns an object older than this process's last write to it.
//
// Problem: several controllers of one process write the same object, each from a cache that lags behind all of them; every
// such write is a conflict, and conflicts cost the API server as much as writes. Approach: the answer to a write is the
// newest version there is, so it is kept and handed out by Get until the cache has caught up. Lists and watches are the
// cache's. Writes of other processes still conflict, as they must.
type Client struct {
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

// New wraps c, which reads from a cache and writes to the API server.
func New(c client.Client, clk clock.PassiveClock) *Client {
	return &Client{Client: c, clock: clk, written: map[objectKey]answer{}}
}

func keyOf(o client.Object, name client.ObjectKey) objectKey {
	return objectKey{kind: reflect.TypeOf(o), name: name}
}

// Get reads the newest version known to this process.
func (c *Client) Get(ctx context.Context, name client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := c.Client.Get(ctx, name, o, opts...)
	key := keyOf(o, name)
	c.mu.Lock()
	defer c.mu.Unlock()
	own, ok := c.written[key]
	if !ok {
		return err
	}
	if err == nil && own.object.GetUID() == o.GetUID() && older(o.GetResourceVersion(), own.object.GetResourceVersion()) {
		reflect.ValueOf(o).Elem().Set(reflect.ValueOf(own.object.DeepCopyObject()).Elem())
		return nil
	}
	delete(c.written, key)
	return err
}

// Create writes and remembers the answer.
func (c *Client) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return c.note(o, c.Client.Create(ctx, o, opts...))
}

// Update writes and remembers the answer.
func (c *Client) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	return c.note(o, c.Client.Update(ctx, o, opts...))
}

// Patch writes and remembers the answer.
func (c *Client) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return c.note(o, c.Client.Patch(ctx, o, patch, opts...))
}

// Status writes status and remembers the answers.
func (c *Client) Status() client.SubResourceWriter {
	return statusWriter{SubResourceWriter: c.Client.Status(), fresh: c}
}

type statusWriter struct {
	client.SubResourceWriter
	fresh *Client
}

func (s statusWriter) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	return s.fresh.note(o, s.SubResourceWriter.Update(ctx, o, opts...))
}

func (s statusWriter) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	return s.fresh.note(o, s.SubResourceWriter.Patch(ctx, o, patch, opts...))
}

// note keeps the answer to a write that succeeded, unless a later one is known already.
func (c *Client) note(o client.Object, err error) error {
	if err != nil || o.GetResourceVersion() == "" {
		return err
	}
	key := keyOf(o, client.ObjectKeyFromObject(o))
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.written[key]; !ok || known.object.GetUID() != o.GetUID() ||
		older(known.object.GetResourceVersion(), o.GetResourceVersion()) {
		kept, isObject := o.DeepCopyObject().(client.Object)
		if isObject {
			c.written[key] = answer{object: kept, at: now}
		}
	}
	c.sweep(now)
	return nil
}

// sweep forgets, at most once a minute, answers that nobody read again.
func (c *Client) sweep(now time.Time) {
	if now.Before(c.sweepAt) {
		return
	}
	c.sweepAt = now.Add(freshFor)
	for key, own := range c.written {
		if now.Sub(own.at) > freshFor {
			delete(c.written, key)
		}
	}
}
