// Package readyourwrites is a client whose reads show what this process wrote last, although its cache lags behind.
//
// Source: spec shared rules, write discipline.
package readyourwrites

import (
	"context"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

// Retry is how long a controller waits before it reads an object again whose deletion is pending. The watch usually delivers the
// deletion first.
const Retry = 100 * time.Millisecond

// The cache normally lags by milliseconds, but by minutes after an outage of the API server. These bound how long a write is
// remembered whose object is not read again.
const (
	// writeTTL is for responses: a controller that acts on an older version gets a conflict.
	writeTTL = time.Minute
	// deletionTTL is for deletions: a controller that does not know of one might launch an instance for a NodeClaim that is being
	// deleted.
	deletionTTL = time.Hour
)

// Client is a client whose Get never returns an object older than the last write of this process to it.
//
// Problem: several controllers of one process write the same object, each from a cache that lags behind all of them. Every such
// write is a conflict, and conflicts cost the API server as much as writes. Approach: the response to a write is the newest
// version there is, so Get returns it until the cache has caught up. The response to a deletion has no object: DeletionPending
// reports it instead. Lists and watches show the cache. Writes of other processes still conflict, as they must.
//
// It is safe for concurrent use.
type Client struct {
	client.Client

	// mu makes the comparison with the last write and the update after it one step.
	mu     sync.Mutex
	writes *ttlcache.Cache[objectKey, write]
}

type objectKey struct {
	kind reflect.Type
	name client.ObjectKey
}

// write is the last write to an object.
type write struct {
	uid types.UID
	// object is the response; nil when there was only a deletion.
	object client.Object
	// deleted is set after a deletion, until a response shows it.
	deleted bool
}

// New wraps c, which reads from a cache and writes to the API server.
func New(c client.Client, clk clock.PassiveClock) *Client {
	return &Client{Client: c, writes: ttlcache.New[objectKey, write](clk, writeTTL)}
}

func keyOf(o client.Object, name client.ObjectKey) objectKey {
	return objectKey{kind: reflect.TypeOf(o), name: name}
}

// Get reads the newest version that this process knows.
func (c *Client) Get(ctx context.Context, name client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := c.Client.Get(ctx, name, o, opts...)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	key := keyOf(o, name)
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.writes.Get(key)
	switch {
	case !ok:
	case err == nil && last.supersedes(o):
		reflect.ValueOf(o).Elem().Set(reflect.ValueOf(last.object.DeepCopyObject()).Elem())
	case err == nil && last.deletionPending(o):
	default:
		c.writes.Delete(key)
	}
	return err
}

// DeletionPending reports whether this process has deleted the object and the version given does not show it. A controller that
// acted on that version would treat an object that is on its way out as one that stays.
func (c *Client) DeletionPending(o client.Object) bool {
	last, ok := c.writes.Get(keyOf(o, client.ObjectKeyFromObject(o)))
	return ok && last.deletionPending(o)
}

// Create writes and remembers the response.
func (c *Client) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return c.remember(o, c.Client.Create(ctx, o, opts...))
}

// Update writes and remembers the response.
func (c *Client) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	return c.remember(o, c.Client.Update(ctx, o, opts...))
}

// Patch writes and remembers the response.
func (c *Client) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return c.remember(o, c.Client.Patch(ctx, o, patch, opts...))
}

// Delete deletes and remembers that. An object without a UID is deleted only.
func (c *Client) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	if err := c.Client.Delete(ctx, o, opts...); err != nil || o.GetUID() == "" {
		return err
	}
	key := keyOf(o, client.ObjectKeyFromObject(o))
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.writes.Get(key)
	if !ok || last.uid != o.GetUID() {
		last = write{uid: o.GetUID()}
	}
	last.deleted = true
	c.writes.SetWithTTL(key, last, deletionTTL)
	return nil
}

// Status writes status and remembers the responses.
func (c *Client) Status() client.SubResourceWriter {
	return statusWriter{SubResourceWriter: c.Client.Status(), client: c}
}

type statusWriter struct {
	client.SubResourceWriter
	client *Client
}

func (s statusWriter) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	return s.client.remember(o, s.SubResourceWriter.Update(ctx, o, opts...))
}

func (s statusWriter) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	return s.client.remember(o, s.SubResourceWriter.Patch(ctx, o, patch, opts...))
}

// remember keeps the response to a write that succeeded, unless a later one is known already.
func (c *Client) remember(o client.Object, err error) error {
	if err != nil || o.GetResourceVersion() == "" {
		return err
	}
	response, isObject := o.DeepCopyObject().(client.Object)
	if !isObject {
		return nil
	}
	key := keyOf(o, client.ObjectKeyFromObject(o))
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.writes.Get(key)
	switch {
	case !ok || last.uid != o.GetUID():
		last = write{uid: o.GetUID()}
	case last.object != nil && !older(last.object, o):
		return nil
	}
	last.object = response
	if last.deleted = last.deletionPending(o); last.deleted {
		c.writes.SetWithTTL(key, last, deletionTTL)
	} else {
		c.writes.Set(key, last)
	}
	return nil
}

// supersedes reports whether the response to the write is newer than a version that was read.
func (w write) supersedes(read client.Object) bool {
	return w.object != nil && w.uid == read.GetUID() && older(read, w.object)
}

func (w write) deletionPending(read client.Object) bool {
	return w.deleted && w.uid == read.GetUID() && read.GetDeletionTimestamp() == nil
}

// older compares resource versions. Versions that cannot be compared count as current, so that another API server can cost a
// repeated write but never a stuck object.
func older(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order < 0
}
