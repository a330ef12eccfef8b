package operator

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// drain lets work in hand finish after a stop was asked for.
//
// Problem: the context of a reconcile ends the moment the process is told to stop, so its next write would fail half way through, for
// example between the launch of an instance and the record of it. Every step is repeatable, so nothing would be lost, but a rolling
// update would leave repairs behind each time.
//
// Approach: calls to the API server run on a context that ignores the stop, and only the stop: a deadline, or a cancellation while the
// process is not stopping (a lost lease above all), still ends them at once. After the grace time everything ends.
type drain struct {
	stopping context.Context // ends when the stop is asked for
	over     context.Context // ends when the grace time is over
	end      context.CancelFunc
}

// newDrain derives the grace time from the context that ends when the stop is asked for.
func newDrain(stopping context.Context, grace time.Duration) *drain {
	over, end := context.WithCancel(context.WithoutCancel(stopping))
	context.AfterFunc(stopping, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			end()
		case <-over.Done():
		}
	})
	return &drain{stopping: stopping, over: over, end: end}
}

// detach returns a context for one call, and what to call when it is done.
func (d *drain) detach(ctx context.Context) (context.Context, context.CancelFunc) {
	call, cancel := context.WithoutCancel(ctx), context.CancelFunc(nil)
	if deadline, ok := ctx.Deadline(); ok {
		call, cancel = context.WithDeadline(call, deadline)
	} else {
		call, cancel = context.WithCancel(call)
	}
	stopOwn := context.AfterFunc(ctx, func() {
		deadline := errors.Is(ctx.Err(), context.DeadlineExceeded) // which the call has as well, and reports as such
		if d.stopping.Err() == nil && !deadline {
			cancel()
		}
	})
	stopOver := context.AfterFunc(d.over, cancel)
	return call, func() {
		stopOwn()
		stopOver()
		cancel()
	}
}

// reading is detach for reads, which may be repeated: it costs nothing until the stop is asked for.
func (d *drain) reading(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return ctx, func() {}
	}
	return d.detach(ctx)
}

// client wraps inner so that its calls survive the stop for the grace time.
func (d *drain) client(inner client.Client) client.Client {
	return &drainingClient{Client: inner, drain: d}
}

// drainingClient is a client whose calls survive the stop. The embedded client answers what needs no request.
type drainingClient struct {
	client.Client
	drain *drain
}

func (c *drainingClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	ctx, done := c.drain.reading(ctx)
	defer done()
	return c.Client.Get(ctx, key, o, opts...)
}

func (c *drainingClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	ctx, done := c.drain.reading(ctx)
	defer done()
	return c.Client.List(ctx, list, opts...)
}

func (c *drainingClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	ctx, done := c.drain.detach(ctx)
	defer done()
	return c.Client.Create(ctx, o, opts...)
}

func (c *drainingClient) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	ctx, done := c.drain.detach(ctx)
	defer done()
	return c.Client.Update(ctx, o, opts...)
}

func (c *drainingClient) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	ctx, done := c.drain.detach(ctx)
	defer done()
	return c.Client.Patch(ctx, o, patch, opts...)
}

func (c *drainingClient) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	ctx, done := c.drain.detach(ctx)
	defer done()
	return c.Client.Apply(ctx, o, opts...)
}

func (c *drainingClient) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	ctx, done := c.drain.detach(ctx)
	defer done()
	return c.Client.Delete(ctx, o, opts...)
}

func (c *drainingClient) DeleteAllOf(ctx context.Context, o client.Object, opts ...client.DeleteAllOfOption) error {
	ctx, done := c.drain.detach(ctx)
	defer done()
	return c.Client.DeleteAllOf(ctx, o, opts...)
}

// Status implements client.StatusClient.
func (c *drainingClient) Status() client.SubResourceWriter { return c.SubResource("status") }

// SubResource implements client.SubResourceClientConstructor.
func (c *drainingClient) SubResource(name string) client.SubResourceClient {
	return &drainingSubResource{inner: c.Client.SubResource(name), drain: c.drain}
}

// drainingSubResource is the same for a subresource.
type drainingSubResource struct {
	inner client.SubResourceClient
	drain *drain
}

func (c *drainingSubResource) Get(ctx context.Context, o, sub client.Object, opts ...client.SubResourceGetOption) error {
	ctx, done := c.drain.reading(ctx)
	defer done()
	return c.inner.Get(ctx, o, sub, opts...)
}

func (c *drainingSubResource) Create(ctx context.Context, o, sub client.Object, opts ...client.SubResourceCreateOption) error {
	ctx, done := c.drain.detach(ctx)
	defer done()
	return c.inner.Create(ctx, o, sub, opts...)
}

func (c *drainingSubResource) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	ctx, done := c.drain.detach(ctx)
	defer done()
	return c.inner.Update(ctx, o, opts...)
}

func (c *drainingSubResource) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	ctx, done := c.drain.detach(ctx)
	defer done()
	return c.inner.Patch(ctx, o, patch, opts...)
}

func (c *drainingSubResource) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	ctx, done := c.drain.detach(ctx)
	defer done()
	return c.inner.Apply(ctx, o, opts...)
}
