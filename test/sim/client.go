package sim

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// processClient is the client of a process: it reads from the cache, and its writes are calls that take time and may fail.
type processClient struct {
	client.Client // nil: what is not implemented here is not used

	process *Process
}

// call makes a call of the API server: the request is on its way for a while, then it has its effect, then the response is on its way.
func (c *processClient) call(ctx context.Context, verb string, o client.Object, f func() error) error {
	p := c.process
	if !p.alive() {
		return errCrashed
	}
	gvk, _ := p.api.kindOf(o)
	name := fmt.Sprintf("%s %s %s/%s", verb, gvk.Kind, o.GetNamespace(), o.GetName())
	if o.GetName() == "" {
		name = fmt.Sprintf("%s %s %s*", verb, gvk.Kind, o.GetGenerateName())
	}
	if p.replica != nil && changes(verb) {
		if err := p.replica.refuse(name); err != nil {
			return err
		}
	}
	faults := p.api.faults
	p.world.observe(name, o)
	p.world.pause(name, "request", faults.MinCall, faults.MaxCall)
	if !p.alive() {
		return errCrashed
	}
	if err := ctx.Err(); err != nil {
		return err //nolint:wrapcheck // as a client returns it
	}
	fault := faults.draw(p.world, verb, gvk.Kind)
	if fault.jump {
		p.jump()
	}
	if fault.handover {
		p.depose()
	}
	if fault.refuse != nil {
		return fault.refuse(gvk, o)
	}
	if fault.crashBefore {
		p.Crash()
		return errCrashed
	}
	if p.api.called != nil {
		p.api.called(verb, o)
	}
	if p.replica != nil && changes(verb) {
		p.replica.holds(name)
	}
	err := f()
	if fault.crashAfter {
		p.Crash()
		return errCrashed
	}
	p.pause(name+" answered", "response", faults.MinCall, faults.MaxCall)
	if !p.alive() {
		return errCrashed
	}
	if fault.lose && err == nil {
		return apierrors.NewTimeoutError("the answer was lost", 1)
	}
	return err
}

// Get implements client.Reader.
func (c *processClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if !c.process.alive() {
		return errCrashed
	}
	err := c.process.cache.Get(ctx, key, o, opts...)
	if err == nil {
		c.process.world.observe("get", o)
	}
	return err
}

// List implements client.Reader.
func (c *processClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if !c.process.alive() {
		return errCrashed
	}
	return c.process.cache.List(ctx, list, opts...)
}

// Create implements client.Writer.
func (c *processClient) Create(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
	return c.call(ctx, "create", o, func() error { return c.process.api.Create(o) })
}

// Update implements client.Writer.
func (c *processClient) Update(ctx context.Context, o client.Object, _ ...client.UpdateOption) error {
	return c.call(ctx, "update", o, func() error { return c.process.api.update(o, "") })
}

// Patch implements client.Writer.
func (c *processClient) Patch(ctx context.Context, o client.Object, p client.Patch, _ ...client.PatchOption) error {
	return c.call(ctx, "patch", o, func() error { return c.patched(o, "", p) })
}

func (c *processClient) patched(o client.Object, subresource string, p client.Patch) error {
	if c.process.api.sent != nil {
		c.process.api.sent(o, p)
	}
	return c.process.api.patch(o, subresource, p)
}

// Delete implements client.Writer.
func (c *processClient) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	options := client.DeleteOptions{}
	options.ApplyOptions(opts)
	return c.call(ctx, "delete", o, func() error { return c.process.api.Delete(o, *options.AsDeleteOptions()) })
}

// Status implements client.StatusClient.
func (c *processClient) Status() client.SubResourceWriter {
	return subresource{client: c, name: "status"}
}

// SubResource implements client.SubResourceClientConstructor.
func (c *processClient) SubResource(name string) client.SubResourceClient {
	return subresource{client: c, name: name}
}

// Scheme implements client.Client.
func (c *processClient) Scheme() *runtime.Scheme { return c.process.api.Scheme }

// RESTMapper implements client.Client.
func (c *processClient) RESTMapper() meta.RESTMapper { return c.process.api.Mapper() }

// GroupVersionKindFor implements client.Client.
func (c *processClient) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return c.process.api.kindOf(o)
}

// IsObjectNamespaced implements client.Client.
func (c *processClient) IsObjectNamespaced(o runtime.Object) (bool, error) {
	gvk, err := c.process.api.kindOf(o)
	if err != nil {
		return false, err
	}
	k := c.process.api.kinds[gvk]
	return k != nil && k.Namespaced, nil
}

type subresource struct {
	client.SubResourceClient // nil

	client *processClient
	name   string
}

// Create implements client.SubResourceWriter: evictions.
func (s subresource) Create(ctx context.Context, o, sub client.Object, _ ...client.SubResourceCreateOption) error {
	eviction, ok := sub.(*policyv1.Eviction)
	if _, isPod := o.(*corev1.Pod); !ok || !isPod {
		return errors.New("only evictions are simulated")
	}
	return s.client.call(ctx, "evict", o, func() error { return s.client.process.api.evict(o, eviction) })
}

// Update implements client.SubResourceWriter.
func (s subresource) Update(ctx context.Context, o client.Object, _ ...client.SubResourceUpdateOption) error {
	return s.client.call(ctx, "update "+s.name+" of", o, func() error { return s.client.process.api.update(o, s.name) })
}

// Patch implements client.SubResourceWriter.
func (s subresource) Patch(ctx context.Context, o client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.client.call(ctx, "patch "+s.name+" of", o, func() error { return s.client.patched(o, s.name, p) })
}

// liveReader reads from the API server.
type liveReader struct{ client *processClient }

// Get implements client.Reader.
func (l liveReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	fresh, _ := reflect.New(reflect.TypeOf(o).Elem()).Interface().(client.Object)
	fresh.SetNamespace(key.Namespace)
	fresh.SetName(key.Name)
	if err := l.client.call(ctx, "get", fresh, func() error { return l.client.process.api.Get(fresh) }); err != nil {
		return err
	}
	reflect.ValueOf(o).Elem().Set(reflect.ValueOf(fresh).Elem())
	return nil
}

// List implements client.Reader.
func (l liveReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	options := client.ListOptions{}
	options.ApplyOptions(opts)
	o, err := l.client.process.api.element(list)
	if err != nil {
		return err
	}
	return l.client.call(ctx, "list", o, func() error {
		gvk, err := l.client.process.api.kindOf(o)
		if err != nil {
			return err
		}
		all, revision, err := l.client.process.api.list(gvk)
		if err != nil {
			return err
		}
		list.SetResourceVersion(fmt.Sprint(revision))
		if all, err = byField(all, options.FieldSelector); err != nil {
			return fmt.Errorf("listing %s: %w", gvk.Kind, err)
		}
		return fill(list, selected(all, options), false)
	})
}

// byField keeps the pods of a node, by which controllers list from the API server.
func byField(all []client.Object, selector fields.Selector) ([]client.Object, error) {
	if selector == nil {
		return all, nil
	}
	node, single := selector.RequiresExactMatch("spec.nodeName")
	if len(selector.Requirements()) != 1 || !single {
		return nil, fmt.Errorf("by field %s: not simulated", selector)
	}
	return slices.DeleteFunc(slices.Clone(all), func(o client.Object) bool {
		pod, isPod := o.(*corev1.Pod)
		return !isPod || pod.Spec.NodeName != node
	}), nil
}
