// Package view lets the components of a cluster in the same process read and write the objects of a registry as Go types.
//
// A component takes steps: it reads, and writes what is due. While it does, it has the registry for itself, so that writes do not conflict.
// Reading an object again that has not changed costs no conversion.
package view

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/kind"
	"github.com/karpenter-anew/karpenter/embedded/apiserver/registry"
)

// View is a registry as a component sees it. It is used by one goroutine at a time, which has the registry for itself.
type View struct {
	registry *registry.Registry
	manager  string
	*cache
}

// cache is what several views of a registry share.
type cache struct {
	kinds map[reflect.Type]*kind.Kind
	typed map[*kind.Kind]map[string]cached
	lists map[*kind.Kind]list
}

// list is what List returned, and the revision of the last change of the kind before that.
type list struct {
	changed int64
	objects any
}

type cached struct {
	version string
	object  any
}

// New returns a view of the built-in kinds of a registry.
func New(r *registry.Registry) *View {
	c := &cache{kinds: map[reflect.Type]*kind.Kind{}, typed: map[*kind.Kind]map[string]cached{}, lists: map[*kind.Kind]list{}}
	for _, k := range r.Kinds() {
		if k.New != nil {
			c.kinds[reflect.TypeOf(k.New())] = k
		}
	}
	return &View{registry: r, cache: c}
}

// As is the same view, whose writes have this field manager.
func (v *View) As(manager string) *View { return &View{v.registry, manager, v.cache} }

// Now is the time of the registry.
func (v *View) Now() time.Time { return v.registry.Now() }

// Revision is that of the last change.
func (v *View) Revision() int64 { return v.registry.Revision() }

// Object is a pointer to an API type.
type Object[T any] interface {
	*T
	client.Object
}

// List returns all objects of a type, by namespace and name. They must not be changed.
func List[T any, P Object[T]](v *View) ([]P, error) {
	k := v.kinds[reflect.TypeFor[P]()]
	if k == nil {
		return nil, fmt.Errorf("%T is no built-in kind", P(nil))
	}
	changed := v.registry.Changed(k)
	if last, ok := v.lists[k]; ok && last.changed == changed {
		if objects, ok := last.objects.([]P); ok {
			return slices.Clone(objects), nil
		}
	}
	items, err := v.registry.List(&registry.Request{Kind: k}, registry.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", k.Plural, err)
	}
	known, next := v.typed[k], make(map[string]cached, len(items.Items))
	out := make([]P, 0, len(items.Items))
	for i := range items.Items {
		item := &items.Items[i]
		key, version := identify(item)
		entry, ok := known[key]
		if !ok || entry.version != version {
			object := P(new(T))
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, object); err != nil {
				return nil, fmt.Errorf("reading %s %s: %w", k.Kind, key, err)
			}
			entry = cached{version, object}
		}
		next[key] = entry
		if object, ok := entry.object.(P); ok {
			out = append(out, object)
		}
	}
	v.typed[k], v.lists[k] = next, list{changed, out}
	return slices.Clone(out), nil
}

// identify returns the namespace/name and the resource version. It reads the metadata in place: the methods of an Unstructured search it each time.
func identify(item *unstructured.Unstructured) (key, version string) {
	metadata, _ := item.Object["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	version, _ = metadata["resourceVersion"].(string)
	return namespace + "/" + name, version
}

// Create creates an object.
func (v *View) Create(o client.Object) error {
	req, content, err := v.request(o, "")
	if err != nil {
		return err
	}
	if _, err := v.registry.Create(req, content); err != nil {
		return fmt.Errorf("creating %s %s: %w", req.Kind.Kind, o.GetName(), err)
	}
	return nil
}

// Update replaces an object.
func (v *View) Update(o client.Object) error { return v.update(o, "") }

// UpdateStatus replaces the status of an object.
func (v *View) UpdateStatus(o client.Object) error { return v.update(o, "status") }

func (v *View) update(o client.Object, subresource string) error {
	req, content, err := v.request(o, subresource)
	if err != nil {
		return err
	}
	if _, _, err := v.registry.Update(req, content); err != nil {
		return fmt.Errorf("updating %s %s: %w", req.Kind.Kind, o.GetName(), err)
	}
	return nil
}

// Delete deletes an object. Pods get their own grace period if none is given.
func (v *View) Delete(o client.Object, grace *int64) error {
	req, _, err := v.request(o, "")
	if err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	if _, _, err := v.registry.Delete(req, metav1.DeleteOptions{GracePeriodSeconds: grace, PropagationPolicy: &background}); err != nil {
		return fmt.Errorf("deleting %s %s: %w", req.Kind.Kind, o.GetName(), err)
	}
	return nil
}

// Bind assigns a pod to a node.
func (v *View) Bind(pod *corev1.Pod, node string) error {
	req, _, err := v.request(pod, "binding")
	if err != nil {
		return err
	}
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: node},
	}
	if err := v.registry.Bind(req, binding); err != nil {
		return fmt.Errorf("binding pod %s to node %s: %w", pod.Name, node, err)
	}
	return nil
}

// request is a request about an object, and its content.
func (v *View) request(o client.Object, subresource string) (*registry.Request, map[string]any, error) {
	k := v.kinds[reflect.TypeOf(o)]
	if k == nil {
		return nil, nil, fmt.Errorf("%T is no built-in kind", o)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, nil, fmt.Errorf("writing %s %s: %w", k.Kind, o.GetName(), err)
	}
	content["apiVersion"], content["kind"] = k.GroupVersion().String(), k.Kind
	return &registry.Request{Kind: k, Namespace: o.GetNamespace(), Name: o.GetName(), Subresource: subresource, Manager: v.manager}, content, nil
}
