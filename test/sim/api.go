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

	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/kind"
	"github.com/karpenter-anew/karpenter/embedded/apiserver/registry"
	"github.com/karpenter-anew/karpenter/embedded/view"
)

// history is how many changes watches may lag behind.
const history = 200_000

// mostRecent is how many conversions are kept for watches that lag.
const mostRecent = 4000

// API is the API server, and the typed objects that others read from it.
type API struct {
	Registry *registry.Registry
	View     *view.View
	Scheme   *runtime.Scheme

	world  *World
	faults *Faults

	mu        sync.Mutex
	kinds     map[schema.GroupVersionKind]*kind.Kind
	mapper    *meta.DefaultRESTMapper
	followers []*informer
	// typed shares the conversion of an object among the watches of all processes.
	typed map[schema.GroupVersionKind]map[client.ObjectKey]client.Object
	// recent are conversions by resource version: watches that lag read objects that have changed since.
	recent map[string]client.Object
	// written are called after each write that changed something.
	written []writeHandler
	// called is told of each call of a process before its effect; nil for none.
	called func(verb string, o client.Object)
	// sent is told of each patch of a process before its effect; nil for none.
	sent func(client.Object, client.Patch)
}

// NewAPI returns an API server that serves the built-in kinds and the definitions.
func NewAPI(w *World, scheme *runtime.Scheme, faults *Faults, definitions ...*apiextensionsv1.CustomResourceDefinition) (*API, error) {
	uid, suffix := w.stream("uid"), w.stream("suffix")
	r, err := registry.New(registry.Options{
		Now: time.Now, History: history,
		GenericWorkload: true, Untracked: true,
		UID: func() types.UID {
			return types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", uid.Uint32(), uid.Uint64()>>16))
		},
		Suffix: func() string { return letters(suffix.Uint64()) },
	})
	if err != nil {
		return nil, fmt.Errorf("starting the API server: %w", err)
	}
	a := &API{
		Registry: r, Scheme: scheme, world: w, faults: faults,
		kinds: map[schema.GroupVersionKind]*kind.Kind{}, typed: map[schema.GroupVersionKind]map[client.ObjectKey]client.Object{},
		recent: map[string]client.Object{},
	}
	a.refresh()
	for _, d := range definitions {
		if err := a.Create(d); err != nil {
			return nil, fmt.Errorf("creating definition %s: %w", d.Name, err)
		}
	}
	a.refresh()
	a.View = view.New(r)
	return a, nil
}

func (a *API) refresh() {
	a.mapper = meta.NewDefaultRESTMapper(nil)
	for _, k := range a.Registry.Kinds() {
		gvk := k.GroupVersion().WithKind(k.Kind)
		a.kinds[gvk] = k
		scope := meta.RESTScopeRoot
		if k.Namespaced {
			scope = meta.RESTScopeNamespace
		}
		a.mapper.AddSpecific(gvk, k.GVR(), k.GroupVersion().WithResource(k.Singular), scope)
	}
}

// letters is five letters and digits, as the API server generates them.
func letters(n uint64) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	out := make([]byte, 5)
	for i := range out {
		out[i] = alphabet[n%uint64(len(alphabet))]
		n /= uint64(len(alphabet))
	}
	return string(out)
}

// Mapper maps kinds to resources.
func (a *API) Mapper() meta.RESTMapper { return a.mapper }

func (a *API) kindOf(o runtime.Object) (schema.GroupVersionKind, error) {
	gvk, err := apiutil.GVKForObject(o, a.Scheme)
	if err != nil {
		return gvk, fmt.Errorf("the kind of a %T: %w", o, err)
	}
	return gvk, nil
}

// empty is a new object of a kind.
func (a *API) empty(gvk schema.GroupVersionKind) (client.Object, error) {
	if a.kinds[gvk] == nil {
		return nil, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	o, err := a.Scheme.New(gvk)
	if err != nil {
		return nil, fmt.Errorf("a new %s: %w", gvk.Kind, err)
	}
	out, ok := o.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is no object", o)
	}
	return out, nil
}

// element is a new object of a list's kind.
func (a *API) element(list client.ObjectList) (client.Object, error) {
	gvk, err := a.kindOf(list)
	if err != nil {
		return nil, err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	return a.empty(gvk)
}

func (a *API) request(o client.Object) (*registry.Request, error) {
	gvk, err := a.kindOf(o)
	if err != nil {
		return nil, err
	}
	k := a.kinds[gvk]
	if k == nil {
		return nil, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	return &registry.Request{Kind: k, Namespace: o.GetNamespace(), Name: o.GetName(), Manager: "karpenter"}, nil
}

func (a *API) content(o client.Object) (map[string]any, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", o, err)
	}
	gvk, err := a.kindOf(o)
	if err != nil {
		return nil, err
	}
	content["apiVersion"], content["kind"] = gvk.GroupVersion().String(), gvk.Kind
	return content, nil
}

// into decodes an answer into the object that was sent. It wants the lock.
func (a *API) into(o client.Object, answer *unstructured.Unstructured) error {
	if answer.GetDeletionTimestamp() != nil { // it may be gone, and is stored as it was before
		fresh, _ := reflect.New(reflect.TypeOf(o).Elem()).Interface().(client.Object)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(answer.Object, fresh); err != nil {
			return fmt.Errorf("decoding %T: %w", o, err)
		}
		reflect.ValueOf(o).Elem().Set(reflect.ValueOf(fresh).Elem())
		return nil
	}
	gvk, err := a.kindOf(o)
	if err != nil {
		return err
	}
	found, err := a.shared(gvk, answer)
	if err != nil {
		return err
	}
	copyInto(o, found)
	return nil
}

// do makes a request while the API server is not otherwise in use, and tells watches if it changed something.
func (a *API) do(f func() error) error {
	a.mu.Lock()
	before := a.Registry.Revision()
	err := f()
	changed := a.Registry.Revision() != before
	if changed && a.world.Trace.Writes {
		a.record(before)
	}
	followers, written := slices.Clone(a.followers), slices.Clone(a.written)
	a.mu.Unlock()
	if changed {
		for _, i := range followers {
			if a.Registry.Changed(i.kind) > before {
				i.changed()
			}
		}
		for _, h := range written {
			if len(h.kinds) == 0 || slices.ContainsFunc(h.kinds, func(k *kind.Kind) bool { return a.Registry.Changed(k) > before }) {
				h.call()
			}
		}
	}
	return err
}

// record adds the writes after a revision to the trace. It wants the lock.
func (a *API) record(after int64) {
	for _, k := range a.Registry.Kinds() {
		events, _, err := a.Registry.Events(&registry.Request{Kind: k}, registry.ListOptions{}, after)
		if err != nil {
			panic(err)
		}
		for _, e := range events {
			text, err := e.Object.MarshalJSON()
			if err != nil {
				panic(err)
			}
			a.world.Trace.add(time.Now(), fmt.Sprintf("  %s %s", e.Type, text))
		}
	}
}

// Create stores an object, without delay or fault: for what is no process.
func (a *API) Create(o client.Object) error {
	return a.do(func() error {
		req, err := a.request(o)
		if err != nil {
			return err
		}
		content, err := a.content(o)
		if err != nil {
			return err
		}
		created, err := a.Registry.Create(req, content)
		if err != nil {
			return err //nolint:wrapcheck // as a client gets it
		}
		return a.into(o, created)
	})
}

// update replaces an object or a subresource.
func (a *API) update(o client.Object, subresource string) error {
	return a.do(func() error {
		req, err := a.request(o)
		if err != nil {
			return err
		}
		req.Subresource = subresource
		content, err := a.content(o)
		if err != nil {
			return err
		}
		updated, _, err := a.Registry.Update(req, content)
		if err != nil {
			return err //nolint:wrapcheck // as a client gets it
		}
		return a.into(o, updated)
	})
}

func (a *API) patch(o client.Object, subresource string, p client.Patch) error {
	data, err := p.Data(o)
	if err != nil {
		return fmt.Errorf("making a patch: %w", err)
	}
	return a.do(func() error {
		req, err := a.request(o)
		if err != nil {
			return err
		}
		req.Subresource = subresource
		patched, _, err := a.Registry.Patch(req, p.Type(), data)
		if err != nil {
			return err //nolint:wrapcheck // as a client gets it
		}
		return a.into(o, patched)
	})
}

// Delete deletes an object.
func (a *API) Delete(o client.Object, options metav1.DeleteOptions) error {
	return a.do(func() error {
		req, err := a.request(o)
		if err != nil {
			return err
		}
		if options.PropagationPolicy == nil {
			background := metav1.DeletePropagationBackground
			options.PropagationPolicy = &background
		}
		_, _, err = a.Registry.Delete(req, options)
		return err //nolint:wrapcheck // as a client gets it
	})
}

func (a *API) evict(pod client.Object, eviction *policyv1.Eviction) error {
	return a.do(func() error {
		req, err := a.request(pod)
		if err != nil {
			return err
		}
		req.Subresource = "eviction"
		return a.Registry.Evict(req, eviction) //nolint:wrapcheck // as a client gets it
	})
}

// Get reads an object.
func (a *API) Get(o client.Object) error {
	return a.do(func() error {
		req, err := a.request(o)
		if err != nil {
			return err
		}
		found, err := a.Registry.Get(req)
		if err != nil {
			return err //nolint:wrapcheck // as a client gets it
		}
		return a.into(o, found)
	})
}

// list returns the objects of a kind, which are shared, and the revision.
func (a *API) list(gvk schema.GroupVersionKind) (out []client.Object, revision int64, err error) {
	err = a.do(func() error {
		k := a.kinds[gvk]
		if k == nil {
			return &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
		}
		list, err := a.Registry.List(&registry.Request{Kind: k}, registry.ListOptions{})
		if err != nil {
			return err //nolint:wrapcheck // as a client gets it
		}
		for i := range list.Items {
			o, err := a.shared(gvk, &list.Items[i])
			if err != nil {
				return err
			}
			out = append(out, o)
		}
		revision = a.Registry.Revision()
		return nil
	})
	return out, revision, err
}

// eventsAfter returns what a watch of a kind shows after a revision.
func (a *API) eventsAfter(gvk schema.GroupVersionKind, after int64) (out []change, revision int64, err error) {
	err = a.do(func() error {
		if a.Registry.Changed(a.kinds[gvk]) <= after {
			revision = a.Registry.Revision()
			return nil
		}
		events, last, err := a.Registry.Events(&registry.Request{Kind: a.kinds[gvk]}, registry.ListOptions{}, after)
		if err != nil {
			return err //nolint:wrapcheck // as a client gets it
		}
		revision = last
		for _, e := range events {
			o, err := a.shared(gvk, e.Object)
			if err != nil {
				return err
			}
			out = append(out, change{e.Type, o})
		}
		return nil
	})
	return out, revision, err
}

// shared converts an object once. It wants the lock.
func (a *API) shared(gvk schema.GroupVersionKind, u *unstructured.Unstructured) (client.Object, error) {
	key := client.ObjectKeyFromObject(u)
	if have := a.typed[gvk][key]; have != nil && have.GetResourceVersion() == u.GetResourceVersion() && have.GetUID() == u.GetUID() {
		return have, nil
	}
	version := u.GetResourceVersion()
	if have := a.recent[version]; have != nil && client.ObjectKeyFromObject(have) == key {
		return have, nil
	}
	o, err := a.empty(gvk)
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o); err != nil {
		return nil, fmt.Errorf("decoding %s %s: %w", gvk.Kind, key, err)
	}
	if a.typed[gvk] == nil {
		a.typed[gvk] = map[client.ObjectKey]client.Object{}
	}
	a.typed[gvk][key] = o
	if len(a.recent) > mostRecent {
		clear(a.recent)
	}
	a.recent[version] = o
	return o, nil
}

// follow tells an informer of changes.
func (a *API) follow(i *informer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.followers = append(slices.DeleteFunc(a.followers, func(f *informer) bool { return !f.of.process.alive() }), i)
}

// writeHandler is called after changes of some kinds, or of all if there are none.
type writeHandler struct {
	call  func()
	kinds []*kind.Kind
}

// onWrite calls f after each change of objects like these, or of any.
func (a *API) onWrite(f func(), objects ...client.Object) {
	h := writeHandler{call: f}
	for _, o := range objects {
		gvk, err := a.kindOf(o)
		if err != nil || a.kinds[gvk] == nil {
			panic(fmt.Sprintf("%T is not served: %v", o, err))
		}
		h.kinds = append(h.kinds, a.kinds[gvk])
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.written = append(a.written, h)
}

// All returns the objects of a type, by namespace and name. They are shared and must not be changed.
func All[T any, P interface {
	*T
	client.Object
}](a *API) []P {
	gvk, err := a.kindOf(P(new(T)))
	if err != nil {
		panic(err)
	}
	list, _, err := a.list(gvk)
	if err != nil {
		panic(err)
	}
	out := make([]P, len(list))
	for i, o := range list {
		out[i], _ = o.(P)
	}
	return out
}

// transient: another actor changed the object in the meantime. The next step sees it.
func transient(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) ||
		errors.Is(err, context.Canceled)
}

// addDefinitions adds CustomResourceDefinitions to a scheme.
func addDefinitions(s *runtime.Scheme) error { return apiextensionsv1.AddToScheme(s) } //nolint:wrapcheck // the caller says what failed
