// Package registry is the core of an API server in memory: what a request does to the objects in a store.
//
// It is a deterministic state machine without goroutines, locks, clock or I/O. Time, UIDs and the random part of generated names come from
// the caller, who serializes calls. Errors are *apierrors.StatusError, as a client of kube-apiserver gets them.
package registry

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/kind"
	"github.com/karpenter-anew/karpenter/embedded/apiserver/store"
)

// Options are what the registry takes from outside.
type Options struct {
	// Now is the time of a request; it stamps creations, deletions and changes of ownership of fields.
	Now func() time.Time
	// UID returns a UID that it has not returned before.
	UID func() types.UID
	// Suffix returns the end of a name that is generated from metadata.generateName.
	Suffix func() string
	// History is the number of changes that watches can go back; at least 1.
	History int
	// GenericWorkload serves PodGroups and Workloads, as the feature gate of this name does.
	GenericWorkload bool
	// Untracked leaves metadata.managedFields out, which is most of the work of a write. Server-side apply then finds no other owner of a field.
	Untracked bool
}

// Registry serves the kinds of Kubernetes in its table, and those of CustomResourceDefinitions that are created.
type Registry struct {
	options Options
	store   *store.Store
	kinds   map[schema.GroupVersionResource]*kind.Kind
	// stored are the kinds in the version in which objects are stored.
	stored map[schema.GroupResource]*kind.Kind
	// scales is the kind of the subresource scale.
	scales *kind.Kind
	// catalog counts changes of kinds.
	catalog int64
	// collected is the revision at which Collect found nothing to do; 0 before that.
	collected int64
}

// Request is one request for objects of a kind.
type Request struct {
	Kind            *kind.Kind
	Namespace, Name string
	// Subresource is "" for the object, or status.
	Subresource string
	// Manager is the name of the field manager of a write.
	Manager string
	// Force takes fields from other managers in a server-side apply.
	Force  bool
	DryRun bool
	// FieldValidation is what to do with unknown fields: Ignore, Warn, or Strict.
	FieldValidation string
	// Warnings are for the client; methods append to them.
	Warnings []string
}

// New returns a registry with the namespaces that every cluster has.
func New(options Options) (*Registry, error) {
	r := &Registry{
		options: options, store: store.New(options.History),
		kinds: map[schema.GroupVersionResource]*kind.Kind{}, stored: map[schema.GroupResource]*kind.Kind{},
	}
	builtins, err := kind.Builtins(options.GenericWorkload)
	if err != nil {
		return nil, fmt.Errorf("building the table of kinds: %w", err)
	}
	if r.scales, err = kind.Scale(); err != nil {
		return nil, fmt.Errorf("building the kind of scales: %w", err)
	}
	for _, k := range builtins {
		r.serve(k)
	}
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, "kube-node-lease"} {
		object := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}
		req := &Request{Kind: r.stored[namespaces()], Manager: "kube-apiserver"}
		if _, err := r.Create(req, object); err != nil {
			return nil, fmt.Errorf("creating namespace %s: %w", name, err)
		}
	}
	return r, nil
}

func namespaces() schema.GroupResource { return schema.GroupResource{Resource: "namespaces"} }

func (r *Registry) serve(k *kind.Kind) {
	r.kinds[k.GVR()] = k
	if k.Storage == k.GroupVersion() {
		r.stored[k.Resource()] = k
	}
	r.catalog++
}

// Kind returns the kind that serves a resource, or nil.
func (r *Registry) Kind(gvr schema.GroupVersionResource) *kind.Kind { return r.kinds[gvr] }

// Kinds returns all served kinds, by group, version and resource.
func (r *Registry) Kinds() []*kind.Kind {
	return slices.SortedFunc(maps.Values(r.kinds), func(a, b *kind.Kind) int {
		return slices.Compare([]string{a.Group, a.Version, a.Plural}, []string{b.Group, b.Version, b.Plural})
	})
}

// Catalog is a number that changes whenever the served kinds do.
func (r *Registry) Catalog() int64 { return r.catalog }

// Revision is that of the last change, as a resource version.
func (r *Registry) Revision() int64 { return r.store.Revision() }

// Changed is the revision of the last change of objects of a kind, in any version; 0 if there was none.
func (r *Registry) Changed(k *kind.Kind) int64 { return r.store.Changed(k.Resource()) }

// Compact forgets the changes up to a revision. Watches and lists of earlier ones fail with 410 Gone from then on.
func (r *Registry) Compact(revision int64) { r.store.Compact(revision) }

// Now is the time that the registry was given.
func (r *Registry) Now() time.Time { return r.options.Now() }

func (req *Request) key() store.Key {
	return store.Key{Resource: req.Kind.Resource(), Namespace: req.Namespace, Name: req.Name}
}

func (req *Request) warn(text string) {
	if !slices.Contains(req.Warnings, text) {
		req.Warnings = append(req.Warnings, text)
	}
}

// view is a stored object in the version of the kind. It may be the stored object.
func view(k *kind.Kind, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if object.GetAPIVersion() == k.GroupVersion().String() {
		return object, nil
	}
	return k.Convert(object), nil
}

// Get returns an object. The caller must not change it.
func (r *Registry) Get(req *Request) (*unstructured.Unstructured, error) {
	object, ok := r.store.Get(req.key())
	if !ok {
		return nil, apierrors.NewNotFound(req.Kind.Resource(), req.Name)
	}
	return view(req.Kind, object)
}

// GetFrom returns an object as of a revision or later.
func (r *Registry) GetFrom(req *Request, version string) (*unstructured.Unstructured, error) {
	revision, err := ParseRevision(version)
	if err != nil {
		return nil, err
	}
	if now := r.store.Revision(); revision > now {
		return nil, tooLarge(revision, now)
	}
	return r.Get(req)
}

// decode reads the body of a write, and handles unknown fields as the request says.
func (req *Request) decode(content map[string]any) (*unstructured.Unstructured, error) {
	k := req.Kind
	sent := &unstructured.Unstructured{Object: content}
	if err := req.ofKind(sent); err != nil {
		if k.New != nil {
			gvk := sent.GroupVersionKind()
			err = fmt.Errorf("%s in version %q cannot be handled as a %s: %w", gvk.Kind, gvk.Version, k.Kind, err)
		}
		var status *apierrors.StatusError
		if errors.As(err, &status) {
			return nil, status
		}
		return nil, apierrors.NewBadRequest(err.Error())
	}
	object, unknown, err := k.Decode(content)
	if err != nil && k.New == nil {
		err = fmt.Errorf("%s in version %q cannot be handled as a %s: %w", k.Kind, k.Version, k.Kind, err)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return object, req.unknown(unknown)
}

// ofKind checks that the object is of the kind of the request. Objects of built-in kinds need not say what they are.
func (req *Request) ofKind(sent *unstructured.Unstructured) error {
	k := req.Kind
	if k.New != nil {
		return k.SameType(sent)
	}
	switch {
	case sent.GetKind() == "":
		return errors.New("Object 'Kind' is missing in the body")
	case sent.GetAPIVersion() == "":
		return errors.New("Object 'apiVersion' is missing in the body")
	case sent.GetAPIVersion() != k.GroupVersion().String():
		return fmt.Errorf("the API version in the data (%s) does not match the expected API version (%s)", sent.GetAPIVersion(), k.GroupVersion())
	case sent.GetKind() != k.Kind:
		return apierrors.NewInvalid(schema.GroupKind{Group: k.Group, Kind: sent.GetKind()}, sent.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("kind"), sent.GetKind(), "must be "+k.Kind),
		})
	}
	return nil
}

// unknown reports fields that the kind does not have.
func (req *Request) unknown(problems []string) error {
	switch {
	case len(problems) == 0 || req.FieldValidation == metav1.FieldValidationIgnore:
		return nil
	case req.FieldValidation == metav1.FieldValidationStrict:
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: strict decoding error: %s",
			req.Kind.Kind, req.Kind.Version, req.Kind.Kind, join(problems)))
	}
	for _, p := range problems {
		req.warn(p)
	}
	return nil
}

func join(problems []string) string {
	out := ""
	for i, p := range problems {
		if i > 0 {
			out += ", "
		}
		out += p
	}
	return out
}

// status: the request is for the status of the object.
func (req *Request) status() bool { return req.Subresource == "status" }

// Identify sets apiVersion and kind of a response.
func identified(k *kind.Kind, content map[string]any) map[string]any {
	content["apiVersion"], content["kind"] = k.GroupVersion().String(), k.Kind
	return content
}

func number(revision int64) string { return strconv.FormatInt(revision, 10) }
