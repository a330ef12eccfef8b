package registry

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/kind"
	"github.com/karpenter-anew/karpenter/embedded/apiserver/store"
)

// cleanupFinalizer holds a CustomResourceDefinition that is being deleted until its objects are.
const cleanupFinalizer = apiextensionsv1.CustomResourceCleanupFinalizer

func definitions() schema.GroupResource {
	return schema.GroupResource{Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions"}
}

// wrote follows up on a write: CustomResourceDefinitions change the served kinds.
func (r *Registry) wrote(key store.Key, object *unstructured.Unstructured) error {
	if key.Resource != definitions() {
		return nil
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, definition); err != nil {
		return apierrors.NewInternalError(fmt.Errorf("reading definition %s: %w", key.Name, err))
	}
	if definition.DeletionTimestamp != nil {
		return r.cleanUp(definition)
	}
	kinds, err := kind.FromDefinition(definition)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("serving definition %s: %w", key.Name, err))
	}
	r.withdraw(key.Name)
	for _, k := range kinds {
		r.serve(k)
	}
	if k, ok := storedKind(definition, kinds); ok {
		r.stored[k.Resource()] = k
	}
	return r.establish(key, definition)
}

// storedKind is the kind in the version in which objects are stored.
func storedKind(definition *apiextensionsv1.CustomResourceDefinition, kinds []*kind.Kind) (*kind.Kind, bool) {
	i := slices.IndexFunc(kinds, func(k *kind.Kind) bool { return k.Storage == k.GroupVersion() })
	if i < 0 || len(definition.Spec.Versions) == 0 {
		return nil, false
	}
	return kinds[i], true
}

// withdraw stops serving the kinds of a definition.
func (r *Registry) withdraw(name string) {
	for gvr, k := range r.kinds {
		if k.New == nil && k.Plural+"."+k.Group == name {
			delete(r.kinds, gvr)
			delete(r.stored, k.Resource())
			r.catalog++
		}
	}
}

// establish writes the status of a definition that is served. kube-apiserver does it a moment later.
func (r *Registry) establish(key store.Key, definition *apiextensionsv1.CustomResourceDefinition) error {
	before := definition.DeepCopy()
	status := &definition.Status
	status.AcceptedNames = definition.Spec.Names
	now := metav1.NewTime(r.options.Now().UTC())
	for _, c := range []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, Reason: "NoConflicts", Message: "no conflicts found"},
		{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue, Reason: "InitialNamesAccepted", Message: "the initial names have been accepted"},
	} {
		c.LastTransitionTime = now
		if !slices.ContainsFunc(status.Conditions, func(old apiextensionsv1.CustomResourceDefinitionCondition) bool { return old.Type == c.Type }) {
			status.Conditions = append(status.Conditions, c)
		}
	}
	for _, v := range definition.Spec.Versions {
		if v.Storage && !slices.Contains(status.StoredVersions, v.Name) {
			status.StoredVersions = append(status.StoredVersions, v.Name)
		}
	}
	return r.rewrite(key, before, definition)
}

// rewrite stores a changed definition.
func (r *Registry) rewrite(key store.Key, before, after *apiextensionsv1.CustomResourceDefinition) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(after)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	old, err := runtime.DefaultUnstructuredConverter.ToUnstructured(before)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if runtimeEqual(old, content) {
		return nil
	}
	object, _, err := r.stored[definitions()].Decode(content)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if err := r.store.Update(key, object, before.ResourceVersion); err != nil {
		return storeError(key.Resource, key.Name, err)
	}
	return nil
}

// cleanUp deletes the objects of a definition that is being deleted, and the definition when none is left.
func (r *Registry) cleanUp(definition *apiextensionsv1.CustomResourceDefinition) error {
	resource := schema.GroupResource{Group: definition.Spec.Group, Resource: definition.Spec.Names.Plural}
	k := r.stored[resource]
	for _, object := range r.store.List(resource, "") {
		if k == nil || object.GetDeletionTimestamp() != nil {
			continue
		}
		req := &Request{Kind: k, Namespace: object.GetNamespace(), Name: object.GetName()}
		if _, _, err := r.Delete(req, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	key := store.Key{Resource: definitions(), Name: definition.Name}
	live, ok := r.store.Get(key)
	if !ok || len(r.store.List(resource, "")) > 0 || !slices.Contains(live.GetFinalizers(), cleanupFinalizer) {
		return nil
	}
	changed := live.DeepCopy()
	changed.SetFinalizers(slices.DeleteFunc(changed.GetFinalizers(), func(f string) bool { return f == cleanupFinalizer }))
	if len(changed.GetFinalizers()) > 0 {
		return storeErrorOrNil(key, r.store.Update(key, changed, live.GetResourceVersion()))
	}
	if _, err := r.store.Delete(key, live.GetResourceVersion()); err != nil {
		return storeError(key.Resource, key.Name, err)
	}
	return r.removed(key, live)
}

func storeErrorOrNil(key store.Key, err error) error {
	if err == nil {
		return nil
	}
	return storeError(key.Resource, key.Name, err)
}

// removed follows up on a deletion: of a definition, or of the last object of one that waits for it.
func (r *Registry) removed(key store.Key, last *unstructured.Unstructured) error {
	if key.Resource == definitions() {
		r.withdraw(last.GetName())
		return nil
	}
	object, ok := r.store.Get(store.Key{Resource: definitions(), Name: key.Resource.Resource + "." + key.Resource.Group})
	if !ok || object.GetDeletionTimestamp() == nil || len(r.store.List(key.Resource, "")) > 0 {
		return nil
	}
	return r.wrote(store.Key{Resource: definitions(), Name: object.GetName()}, object)
}
