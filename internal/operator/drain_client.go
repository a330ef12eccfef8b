package operator

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// client wraps inner so that its calls survive the stop for the grace time.
func (d *drain) client(inner client.Client) client.Client {
	return &drainingClient{Client: inner, drain: d}
}

// drainingClient is a client whose calls continue after the stop. The embedded client serves methods without requests.
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
