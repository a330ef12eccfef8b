package registry

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Update replaces an object, or its status, and returns the new state. An update that changes nothing writes nothing.
func (r *Registry) Update(req *Request, content map[string]any) (*unstructured.Unstructured, error) {
	object, live, err := r.submitted(req, content)
	if err != nil {
		return nil, err
	}
	if object.GetResourceVersion() == "" && req.Kind.New == nil {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: req.Kind.Group, Kind: req.Kind.Plural}, req.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"),
		})
	}
	return r.replace(req, live, object, true)
}

// named sets or checks the name and namespace of an object that was sent to a path.
func (req *Request) named(object *unstructured.Unstructured) error {
	switch name := object.GetName(); {
	case name == "":
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", req.Name))
	case name != req.Name:
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, req.Name))
	}
	switch namespace := object.GetNamespace(); {
	case namespace == "":
		object.SetNamespace(req.Namespace)
	case namespace != req.Namespace:
		return apierrors.NewBadRequest(fmt.Sprintf("the namespace of the object (%s) does not match the namespace on the URL (%s)", namespace, req.Namespace))
	}
	return nil
}

// replace writes a new state of the live object. track is false if the fields were tracked already.
func (r *Registry) replace(req *Request, live, object *unstructured.Unstructured, track bool) (*unstructured.Unstructured, error) {
	k := req.Kind
	if uid := object.GetUID(); uid != "" && uid != live.GetUID() {
		return nil, apierrors.NewConflict(k.Resource(), req.Name, fmt.Errorf(
			"Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, live.GetUID()))
	}
	if version := object.GetResourceVersion(); version != "" && version != live.GetResourceVersion() {
		return nil, conflict(k.Resource(), req.Name)
	}
	object.SetResourceVersion(live.GetResourceVersion())
	if track {
		object = k.Track(live.DeepCopy(), object, req.Manager, req.status(), r.options.Now())
	}
	keep(object, live)
	if req.status() {
		k.PrepareStatus(object, live)
	} else {
		k.PrepareUpdate(object, live)
	}
	errs := validation.ValidateObjectMetaAccessorUpdate(object, live, field.NewPath("metadata"))
	errs = append(errs, k.ValidateFinalizers(object)...)
	if errs = append(errs, k.Validate(object, live, req.status())...); len(errs) > 0 {
		return nil, apierrors.NewInvalid(k.GroupVersionKind.GroupKind(), req.Name, errs)
	}
	return r.commit(req, live, object)
}

// keep gives the object the metadata that no update changes.
func keep(object, live *unstructured.Unstructured) {
	object.SetSelfLink("")
	object.SetUID(live.GetUID())
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
	if live, err = r.Get(req); err != nil {
		return nil, nil, err
	}
	return object, live, nil
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
