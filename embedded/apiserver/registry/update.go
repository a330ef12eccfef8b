package registry

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Update replaces an object, or its status, and returns the new state. An update that changes nothing writes nothing. Some kinds are created
// by an update; created tells.
func (r *Registry) Update(req *Request, content map[string]any) (updated *unstructured.Unstructured, created bool, err error) {
	object, live, err := r.submitted(req, content)
	if apierrors.IsNotFound(err) && req.Kind.CreatedByUpdate && object != nil {
		created, err := r.Create(req, content)
		return created, true, err
	}
	if err != nil {
		return nil, false, err
	}
	if uid := object.GetUID(); uid != "" && uid != live.GetUID() {
		return nil, false, apierrors.NewConflict(req.Kind.Resource(), req.Name, fmt.Errorf(
			"Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, live.GetUID()))
	}
	req.uniqueOwners(object, "")
	object, err = r.replace(req, live, object, true)
	return object, false, err
}

// warnOfFinalizers: new finalizers of custom resources should have a domain.
func (req *Request) warnOfFinalizers(object *unstructured.Unstructured, before []string) {
	known := []string{metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents}
	for _, name := range object.GetFinalizers() {
		if req.Kind.New == nil && !strings.Contains(name, "/") && !slices.Contains(before, name) && !slices.Contains(known, name) {
			req.warn(fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers", name))
		}
	}
}

// uniqueOwners drops owner references that are there twice, with a warning.
func (req *Request) uniqueOwners(object *unstructured.Unstructured, when string) {
	var kept []metav1.OwnerReference
	var twice []string
	for _, owner := range object.GetOwnerReferences() {
		same := func(other metav1.OwnerReference) bool { return equality.Semantic.DeepEqual(owner, other) }
		if slices.ContainsFunc(kept, same) {
			twice = append(twice, string(owner.UID))
		} else {
			kept = append(kept, owner)
		}
	}
	if len(twice) == 0 {
		return
	}
	object.SetOwnerReferences(kept)
	slices.Sort(twice)
	req.warn(fmt.Sprintf(".metadata.ownerReferences contains duplicate entries%s; API server dedups owner references in 1.20+, and may reject such requests "+
		"as early as 1.24; please fix your requests; duplicate UID(s) observed: %s", when, strings.Join(slices.Compact(twice), ", ")))
}

// named sets or checks the name and namespace of an object that was sent to a path.
func (req *Request) named(object *unstructured.Unstructured) error {
	switch name := object.GetName(); {
	case name == "":
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", req.Name))
	case name != req.Name:
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, req.Name))
	}
	return req.inNamespace(object)
}

// replace writes a new state of the live object. track is false if the fields were tracked already.
func (r *Registry) replace(req *Request, live, object *unstructured.Unstructured, track bool) (*unstructured.Unstructured, error) {
	k := req.Kind
	if err := req.current(live, object); err != nil {
		return nil, err
	}
	object.SetResourceVersion(live.GetResourceVersion())
	if track && !r.options.Untracked {
		object = k.Track(live.DeepCopy(), object, req.Manager, req.status(), r.options.Now())
	}
	keep(object, live)
	if req.status() {
		k.PrepareStatus(object, live)
	} else {
		k.PrepareUpdate(object, live)
	}
	req.warnOfFinalizers(object, live.GetFinalizers())
	errs := validation.ValidateObjectMetaAccessorUpdate(object, live, field.NewPath("metadata"))
	if k.New == nil {
		errs = append(errs, errs...) // kube-apiserver checks the metadata of custom resources twice
	}
	errs = append(errs, k.ValidateFinalizers(object)...)
	if errs = append(errs, k.Validate(object, live, req.status())...); len(errs) > 0 {
		return nil, apierrors.NewInvalid(k.GroupVersionKind.GroupKind(), req.Name, errs)
	}
	return r.commit(req, live, object)
}

// current checks that the object replaces the version that it names. It names none with "" and "0".
func (req *Request) current(live, object *unstructured.Unstructured) error {
	k, version := req.Kind, object.GetResourceVersion()
	n := uint64(0)
	if version != "" {
		var err error
		if n, err = strconv.ParseUint(version, 10, 64); err != nil {
			return unnamed(fmt.Errorf("strconv.ParseUint: parsing %q: %w", version, errors.Unwrap(err)))
		}
	}
	switch {
	case n == 0 && k.Versioned:
		return apierrors.NewInvalid(schema.GroupKind{Group: k.Group, Kind: k.Plural}, req.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"),
		})
	case n != 0 && version != live.GetResourceVersion():
		return conflict(k.Resource(), req.Name)
	}
	return nil
}

// keep gives the object the metadata that no update changes.
func keep(object, live *unstructured.Unstructured) {
	object.SetSelfLink("")
	if object.GetUID() == "" {
		object.SetUID(live.GetUID())
	}
	object.SetCreationTimestamp(live.GetCreationTimestamp())
	if since := live.GetDeletionTimestamp(); since != nil {
		object.SetDeletionTimestamp(since)
	}
	if seconds := live.GetDeletionGracePeriodSeconds(); seconds != nil && object.GetDeletionTimestamp() != nil {
		object.SetDeletionGracePeriodSeconds(seconds)
	}
}

// commit stores the new state, unless it is the old one. An object that waits for nothing any more is deleted.
func (r *Registry) commit(req *Request, live, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if equality.Semantic.DeepEqual(live.Object, object.Object) {
		return live, nil
	}
	if req.DryRun {
		return object, nil
	}
	kept, err := r.toStorage(req.Kind, object)
	if err != nil {
		return nil, err
	}
	key := req.key()
	if released(kept) {
		if _, err := r.store.Delete(key, live.GetResourceVersion()); err != nil {
			return nil, storeError(key.Resource, key.Name, err)
		}
		return object, r.removed(key, kept)
	}
	if err := r.store.Update(key, kept, live.GetResourceVersion()); err != nil {
		return nil, storeError(key.Resource, key.Name, err)
	}
	if err := r.wrote(key, kept); err != nil {
		return nil, err
	}
	if now, ok := r.store.Get(key); ok {
		kept = now
	}
	return view(req.Kind, kept)
}

// released: the object is being deleted, and neither a finalizer nor a grace period holds it.
func released(object *unstructured.Unstructured) bool {
	if object.GetDeletionTimestamp() == nil || len(object.GetFinalizers()) > 0 {
		return false
	}
	if grace := object.GetDeletionGracePeriodSeconds(); grace != nil && *grace > 0 {
		return false
	}
	if object.GetKind() == "Namespace" && object.GetAPIVersion() == "v1" {
		held, _, _ := unstructured.NestedSlice(object.Object, "spec", "finalizers")
		return len(held) == 0
	}
	return true
}

// submitted decodes the object of an update, and returns it with the one that is stored.
func (r *Registry) submitted(req *Request, content map[string]any) (object, live *unstructured.Unstructured, err error) {
	if object, err = req.decode(content); err != nil {
		return nil, nil, err
	}
	if err := req.named(object); err != nil {
		return nil, nil, err
	}
	live, err = r.Get(req)
	return object, live, err
}

// Finalize replaces the finalizers in the spec of a namespace, which hold it until its content is deleted.
func (r *Registry) Finalize(req *Request, content map[string]any) (*unstructured.Unstructured, error) {
	object, live, err := r.submitted(req, content)
	if err != nil {
		return nil, err
	}
	if version := object.GetResourceVersion(); version != "" && version != live.GetResourceVersion() {
		return nil, conflict(req.Kind.Resource(), req.Name)
	}
	changed := live.DeepCopy()
	finalizers, _, _ := unstructured.NestedSlice(object.Object, "spec", "finalizers")
	spec := map[string]any{}
	if len(finalizers) > 0 {
		spec["finalizers"] = finalizers
	}
	changed.Object["spec"] = spec
	return r.commit(req, live, changed)
}
