// Package kind describes the kinds that an API server in memory serves: names, scope and subresources, how requests become objects
// (unknown fields, defaults, validation), which fields a request may write, and how kubectl prints them.
//
// Built-in kinds are those of k8s.io/api in the table of builtin.go. Their defaults and validation are written here, because those of
// kube-apiserver are not importable, and cover what clients and controllers rely on; doc.go of the package front lists what is missing. Kinds
// of CustomResourceDefinitions are compiled from their schemas with the libraries of k8s.io/apiextensions-apiserver.
//
// Objects are JSON values (map[string]any). Functions that return an object return one that the caller may change; arguments stay as they are
// unless the comment says otherwise.
package kind

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Kind is a served version of a resource.
type Kind struct {
	schema.GroupVersionKind
	ListKind               string
	Plural, Singular       string
	ShortNames, Categories []string
	Namespaced             bool
	// Storage is the version in which objects of the resource are stored.
	Storage schema.GroupVersion
	// Status: the subresource status exists, and only it writes the status.
	Status bool
	// Scale has the paths of the subresource scale; nil without it.
	Scale *ScalePaths
	// Generation: metadata.generation counts changes of the desired state.
	Generation bool
	// CreatedByUpdate: an update of an object that does not exist creates it.
	CreatedByUpdate bool
	// Deprecation is a warning with each answer; empty if there is none.
	Deprecation string
	// Versioned: an update must name the resource version that it replaces.
	Versioned bool
	// New returns an empty typed object of a built-in kind; nil for a custom resource.
	New func() runtime.Object
	// ValidateName returns what is wrong with a name.
	ValidateName func(name string, prefix bool) []string
	// Fields are the fields that field selectors may name besides metadata.name and metadata.namespace, as paths with dots.
	Fields []string

	// decode drops unknown fields, sets defaults, and returns the paths of the dropped fields.
	decode func(content map[string]any) (map[string]any, []string, error)
	// prune drops unknown fields of a custom resource; it changes its argument.
	prune func(content map[string]any)
	// create sets what only the server sets in a new object; it changes its argument. May be nil.
	create func(content map[string]any)
	// status, update: keep the fields of old that a write of the status or of the object cannot change; they change content. May be nil.
	updateStatus, update func(content, old map[string]any)
	// validate checks a new object, or a change if old is not nil. status tells writes of the subresource. May be nil.
	validate func(content, old map[string]any, status bool) field.ErrorList
	// typed is what server-side apply knows about the fields.
	typed managedfields.TypeConverter
	// columns print the kind; nil prints name and age.
	columns []column
	// table prints custom resources with printer columns.
	table func(objects []*unstructured.Unstructured, now time.Time) (*metav1.Table, error)
	// model is the OpenAPI schema of a custom resource.
	model map[string]any

	updates  managers // for requests for the object
	statuses managers // for requests for its status
}

// ScalePaths are the fields behind the subresource scale, as paths with dots that start with a dot.
type ScalePaths struct {
	Replicas, StatusReplicas string
	// Selector is a label selector as a string, or as an object for built-in kinds; "" for none.
	Selector string
}

// Resource is the resource of all versions of the kind.
func (k *Kind) Resource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.Plural}
}

// GVR is the resource in this version.
func (k *Kind) GVR() schema.GroupVersionResource { return k.GroupVersion().WithResource(k.Plural) }

// Decode turns what a client sent into an object of the kind: unknown fields are dropped and returned as paths, and defaults are set.
func (k *Kind) Decode(content map[string]any) (*unstructured.Unstructured, []string, error) {
	out, unknown, err := k.decode(content)
	if err != nil {
		return nil, nil, err
	}
	out["apiVersion"], out["kind"] = k.GroupVersion().String(), k.Kind
	return &unstructured.Unstructured{Object: out}, unknown, nil
}

// Convert returns a stored object of another version in this one: without the fields that it does not have, and without its defaults.
func (k *Kind) Convert(object *unstructured.Unstructured) *unstructured.Unstructured {
	out := object.DeepCopy()
	if k.prune != nil {
		k.prune(out.Object)
	}
	out.SetAPIVersion(k.GroupVersion().String())
	return out
}

// PrepareCreate resets the fields of a new object that clients cannot set.
func (k *Kind) PrepareCreate(object *unstructured.Unstructured) {
	if k.Status && k.New == nil {
		delete(object.Object, "status")
	}
	if k.Generation {
		object.SetGeneration(1)
	}
	if k.create != nil {
		k.create(object.Object)
	}
}

// PrepareUpdate restores the fields that a write of the object cannot change, and counts the generation.
func (k *Kind) PrepareUpdate(object, old *unstructured.Unstructured) {
	if k.Status {
		restore(object.Object, old.Object, "status")
	}
	if k.update != nil {
		k.update(object.Object, old.Object)
	}
	object.SetGeneration(old.GetGeneration())
	if k.Generation && !equality.Semantic.DeepEqual(k.desired(object.Object), k.desired(old.Object)) {
		object.SetGeneration(old.GetGeneration() + 1)
	}
}

// desired is the part of an object that the generation counts.
func (k *Kind) desired(content map[string]any) any {
	if _, ok := content["spec"]; ok && k.New != nil {
		if k.Kind == "Deployment" {
			metadata, _ := content["metadata"].(map[string]any)
			return []any{content["spec"], metadata["annotations"]}
		}
		return content["spec"]
	}
	if k.Group == "scheduling.k8s.io" {
		return nil // its generation stays 1
	}
	out := maps.Clone(content)
	delete(out, "metadata")
	delete(out, "status")
	return out
}

// PrepareStatus restores all that a write of the status cannot change.
func (k *Kind) PrepareStatus(object, old *unstructured.Unstructured) {
	if k.New == nil { // custom resource: nothing but the status, and who manages it
		managed, hasStatus := object.GetManagedFields(), object.Object["status"] != nil
		status := object.Object["status"]
		object.Object = runtime.DeepCopyJSON(old.Object)
		object.SetManagedFields(managed)
		delete(object.Object, "status")
		if hasStatus {
			object.Object["status"] = status
		}
		return
	}
	for key := range object.Object {
		if key != "apiVersion" && key != "kind" && key != "metadata" && key != "status" {
			restore(object.Object, old.Object, key)
		}
	}
	for key := range old.Object {
		if key != "metadata" && key != "status" {
			object.Object[key] = old.Object[key]
		}
	}
	object.SetGeneration(old.GetGeneration())
	object.SetDeletionTimestamp(old.GetDeletionTimestamp())
	object.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	if k.updateStatus != nil {
		k.updateStatus(object.Object, old.Object)
	}
}

// restore gives a field the value that it had.
func restore(content, old map[string]any, key string) {
	if v, ok := old[key]; ok {
		content[key] = v
	} else {
		delete(content, key)
	}
}

// ValidateFinalizers returns what is wrong with the names of finalizers: for built-in kinds, they have a domain or are known.
func (k *Kind) ValidateFinalizers(object *unstructured.Unstructured) field.ErrorList {
	known := []string{metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents, "kubernetes"}
	var errs field.ErrorList
	for i, name := range object.GetFinalizers() {
		if k.New != nil && !strings.Contains(name, "/") && !slices.Contains(known, name) {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "finalizers").Index(i), name,
				"name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}

// Validate returns what is wrong with the fields of a new object, or with a change if old is not nil. Metadata is not its concern.
func (k *Kind) Validate(object, old *unstructured.Unstructured, status bool) field.ErrorList {
	if k.validate == nil {
		return nil
	}
	if old == nil {
		return k.validate(object.Object, nil, status)
	}
	return k.validate(object.Object, old.Object, status)
}
