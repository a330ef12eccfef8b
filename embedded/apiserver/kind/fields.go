package kind

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// managers track who manages which field in requests for the object or for one of its subresources.
type managers struct {
	*managedfields.FieldManager
}

// track builds the field managers of the kind. Writes do not own the fields that they cannot change.
func (k *Kind) track() error {
	version := fieldpath.APIVersion(k.GroupVersion().String())
	reset := func(paths ...fieldpath.Path) map[fieldpath.APIVersion]fieldpath.Filter {
		return map[fieldpath.APIVersion]fieldpath.Filter{version: fieldpath.NewExcludeSetFilter(fieldpath.NewSet(paths...))}
	}
	build := func(subresource string, filter map[fieldpath.APIVersion]fieldpath.Filter) (managers, error) {
		m, err := managedfields.NewDefaultCRDFieldManager(k.typed, oneVersion{}, noDefaults{}, creator{}, k.GroupVersionKind, k.Storage, subresource, filter)
		if err != nil {
			return managers{}, fmt.Errorf("tracking the fields of %s: %w", k.GroupVersionKind, err)
		}
		return managers{m}, nil
	}
	var filter map[fieldpath.APIVersion]fieldpath.Filter
	if k.Status {
		filter = reset(fieldpath.MakePathOrDie("status"))
	}
	var err error
	if k.updates, err = build("", filter); err != nil || !k.Status {
		return err
	}
	paths := []fieldpath.Path{fieldpath.MakePathOrDie("spec")}
	switch {
	case k.New == nil:
		paths = append(paths, fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"), fieldpath.MakePathOrDie("metadata"))
	case k.Group == "" && k.Kind == "Pod":
		paths = append(paths, fieldpath.MakePathOrDie("metadata", "deletionTimestamp"), fieldpath.MakePathOrDie("metadata", "ownerReferences"))
	case k.Group == "apps" && k.Kind == "Deployment":
		paths = append(paths, fieldpath.MakePathOrDie("metadata", "labels"))
	}
	k.statuses, err = build("status", reset(paths...))
	return err
}

// Apply merges an applied configuration into the live object (server-side apply). The error is a conflict, or names the field that does not
// match the schema. now is the time of the change of ownership.
func (k *Kind) Apply(live, applied *unstructured.Unstructured, manager string, force, status bool, now time.Time) (*unstructured.Unstructured, error) {
	m := k.updates
	if status {
		m = k.statuses
	}
	before := live.GetManagedFields()
	out, err := m.Apply(live, applied, manager, force)
	if err != nil {
		return nil, err
	}
	return restamp(out, before, now)
}

// Track records in the managed fields of an updated object what the manager changed. live is the object before, an empty one for a creation.
func (k *Kind) Track(live, object *unstructured.Unstructured, manager string, status bool, now time.Time) *unstructured.Unstructured {
	m := k.updates
	if status {
		m = k.statuses
	}
	if m.FieldManager == nil {
		return object
	}
	out := m.UpdateNoErrors(k.natural(live), k.natural(object), manager)
	tracked, err := restamp(out, live.GetManagedFields(), now)
	if err != nil {
		return object
	}
	if k.New != nil {
		tracked.Object["apiVersion"], tracked.Object["kind"] = k.GroupVersion().String(), k.Kind
	}
	return tracked
}

// natural is the typed object of a built-in kind: for the library, an empty struct is something else than an empty map.
func (k *Kind) natural(object *unstructured.Unstructured) runtime.Object {
	if k.New == nil {
		return object
	}
	typed := k.typedOf(object.Object)
	typed.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	return typed
}

// restamp gives the entries that the library wrote with the time of the host the time of the caller. The library keeps the time of the others.
func restamp(out runtime.Object, before []metav1.ManagedFieldsEntry, now time.Time) (*unstructured.Unstructured, error) {
	object, ok := out.(*unstructured.Unstructured)
	if !ok {
		object = &unstructured.Unstructured{Object: toContent(out)}
	}
	fields := object.GetManagedFields()
	stamp := metav1.NewTime(now.UTC().Truncate(time.Second))
	for i, entry := range fields {
		if entry.Time == nil {
			continue // the manager took over what was there
		}
		if !slices.ContainsFunc(before, func(old metav1.ManagedFieldsEntry) bool { return sameEntry(old, entry) }) {
			fields[i].Time = &stamp
		}
	}
	slices.SortStableFunc(fields, func(a, b metav1.ManagedFieldsEntry) int {
		if a.Operation != b.Operation || a.Time == nil || b.Time == nil {
			return 0 // the library has sorted by operation
		}
		return a.Time.Compare(b.Time.Time)
	})
	object.SetManagedFields(fields)
	return object, nil
}

// sameEntry: the entry is one that was there before, with the same fields.
func sameEntry(old, entry metav1.ManagedFieldsEntry) bool {
	return old.Manager == entry.Manager && old.Operation == entry.Operation && old.APIVersion == entry.APIVersion &&
		old.Subresource == entry.Subresource && old.Time.Equal(entry.Time) &&
		old.FieldsV1 != nil && entry.FieldsV1 != nil && sameFields(old.FieldsV1, entry.FieldsV1)
}

// sameFields compares sets of fields, because their serialization has no fixed order of keys.
func sameFields(a, b *metav1.FieldsV1) bool {
	var x, y fieldpath.Set
	if x.FromJSON(a.GetRawReader()) != nil || y.FromJSON(b.GetRawReader()) != nil {
		return false
	}
	return x.Equals(&y)
}

// oneVersion converts between the versions of a custom resource: their fields are the same.
type oneVersion struct{}

// Convert is not used by the field managers.
func (oneVersion) Convert(_, _, _ any) error { return fmt.Errorf("conversion is not supported") }

// ConvertToVersion returns the object with another apiVersion.
func (oneVersion) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	object, ok := in.(*unstructured.Unstructured)
	if !ok {
		return in, nil // built-in kinds have one version
	}
	gvk, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{object.GroupVersionKind()})
	if !ok || gvk == object.GroupVersionKind() {
		return in, nil
	}
	out := object.DeepCopy()
	out.SetGroupVersionKind(gvk)
	return out, nil
}

// ConvertFieldLabel accepts every label; field selectors are checked elsewhere.
func (oneVersion) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// noDefaults: defaults are set when a request is decoded.
type noDefaults struct{}

// Default does nothing.
func (noDefaults) Default(runtime.Object) {}

// creator creates empty objects.
type creator struct{}

// New returns an empty object of the kind.
func (creator) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(gvk)
	return out, nil
}
