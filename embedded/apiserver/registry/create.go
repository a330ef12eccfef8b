package registry

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/kind"
	"github.com/karpenter-anew/karpenter/embedded/apiserver/store"
)

// maxPrefix is how much of metadata.generateName is kept: names have at most 63 characters, 5 of which are generated.
const maxPrefix = 58

// Create stores a new object and returns it.
func (r *Registry) Create(req *Request, content map[string]any) (*unstructured.Unstructured, error) {
	object, err := req.decode(content)
	if err != nil {
		return nil, err
	}
	if err := req.inNamespace(object); err != nil {
		return nil, err
	}
	req.uniqueOwners(object, "")
	empty := &unstructured.Unstructured{Object: identified(req.Kind, map[string]any{})}
	if !r.options.Untracked {
		object = req.Kind.Track(empty, object, req.Manager, false, r.options.Now())
	}
	return r.create(req, object)
}

// inNamespace sets or checks the namespace of an object that was sent to a namespace.
func (req *Request) inNamespace(object *unstructured.Unstructured) error {
	switch {
	case !req.Kind.Namespaced:
		object.SetNamespace("")
	case req.Namespace == "":
		return apierrors.NewBadRequest("an empty namespace may not be set during creation")
	case object.GetNamespace() == "":
		object.SetNamespace(req.Namespace)
	case object.GetNamespace() != req.Namespace:
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// create stores an object whose fields are tracked.
func (r *Registry) create(req *Request, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	k := req.Kind
	if object.GetResourceVersion() != "" {
		return nil, unnamed(errors.New("resourceVersion should not be set on objects to be created"))
	}
	if k.Namespaced {
		if err := r.checkNamespace(k, req.Namespace, object.GetName()); err != nil {
			return nil, err
		}
	}
	r.initialize(k, object)
	k.PrepareCreate(object)
	if err := r.admit(k, object); err != nil {
		return nil, err
	}
	req.warnOfFinalizers(object, nil)
	errs := validation.ValidateObjectMetaAccessor(object, k.Namespaced, k.ValidateName, field.NewPath("metadata"))
	errs = append(errs, k.ValidateFinalizers(object)...)
	if errs = append(errs, k.Validate(object, nil, false)...); len(errs) > 0 {
		return nil, apierrors.NewInvalid(k.GroupVersionKind.GroupKind(), object.GetName(), errs)
	}
	key := store.Key{Resource: k.Resource(), Namespace: object.GetNamespace(), Name: object.GetName()}
	if taken, ok := r.store.Get(key); ok {
		if object.GetGenerateName() != "" && req.Name == "" {
			return nil, apierrors.NewGenerateNameConflict(k.Resource(), object.GetName(), 1)
		}
		err := apierrors.NewAlreadyExists(k.Resource(), object.GetName())
		if taken.GetDeletionTimestamp() != nil {
			err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
		}
		return nil, err
	}
	if req.DryRun {
		return object, nil
	}
	kept, err := r.toStorage(k, object)
	if err != nil {
		return nil, err
	}
	if err := r.store.Create(key, kept); err != nil {
		return nil, storeError(k.Resource(), object.GetName(), err)
	}
	if err := r.wrote(key, kept); err != nil {
		return nil, err
	}
	return view(k, kept)
}

// maxNames is how many names are generated for an object until one is free. With names of five random characters, two of 2000 pods collide in one of
// seven cases.
const maxNames = 8

// generateName returns a name that is not taken, or the last one that was tried.
func (r *Registry) generateName(k *kind.Kind, object *unstructured.Unstructured) string {
	prefix := object.GetGenerateName()
	prefix = prefix[:min(len(prefix), maxPrefix)]
	name := ""
	for range maxNames {
		name = prefix + r.options.Suffix()
		if _, taken := r.store.Get(store.Key{Resource: k.Resource(), Namespace: object.GetNamespace(), Name: name}); !taken {
			break
		}
	}
	return name
}

// initialize sets what the server knows about a new object.
func (r *Registry) initialize(k *kind.Kind, object *unstructured.Unstructured) {
	if object.GetName() == "" && object.GetGenerateName() != "" {
		object.SetName(r.generateName(k, object))
	}
	object.SetUID(r.options.UID())
	now := metav1.NewTime(r.options.Now().UTC())
	object.SetCreationTimestamp(now)
	object.SetDeletionTimestamp(nil)
	object.SetDeletionGracePeriodSeconds(nil)
	object.SetSelfLink("")
}

// checkNamespace: objects are created in namespaces that exist and are not being deleted.
func (r *Registry) checkNamespace(k *kind.Kind, namespace, name string) error {
	object, ok := r.store.Get(store.Key{Resource: namespaces(), Name: namespace})
	switch {
	case !ok:
		return apierrors.NewNotFound(namespaces(), namespace)
	case object.GetDeletionTimestamp() != nil:
		err := apierrors.NewForbidden(k.Resource(), name, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", namespace))
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
			Type: corev1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated", namespace), Field: "metadata.namespace",
		})
		return err
	}
	return nil
}

// admit does what the admission plugin Priority does to new pods and PodGroups.
func (r *Registry) admit(k *kind.Kind, object *unstructured.Unstructured) error {
	isGroup := k.Kind == "PodGroup" && k.Group == schedulingv1.GroupName
	if !isGroup && (k.Kind != "Pod" || k.Group != "") {
		return nil
	}
	name, _, _ := unstructured.NestedString(object.Object, "spec", "priorityClassName")
	class, err := r.priorityClass(name)
	if err != nil {
		return apierrors.NewForbidden(k.Resource(), object.GetName(), err)
	}
	spec, _ := object.Object["spec"].(map[string]any)
	if sent, ok := spec["priority"].(int64); ok && sent != class.value {
		return apierrors.NewForbidden(k.Resource(), object.GetName(),
			fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", sent, class.value))
	}
	if spec == nil {
		return nil
	}
	if isGroup {
		spec["priority"] = class.value
		return nil
	}
	if sent, ok := spec["preemptionPolicy"].(string); ok && sent != class.policy {
		return apierrors.NewForbidden(k.Resource(), object.GetName(), fmt.Errorf(
			"the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", sent, class.policy))
	}
	spec["priority"], spec["preemptionPolicy"] = class.value, class.policy
	if class.name != "" {
		spec["priorityClassName"] = class.name
	}
	return nil
}

type priority struct {
	name, policy string
	value        int64
}

// priorityClass is the class with this name, or the global default if the name is "".
func (r *Registry) priorityClass(name string) (priority, error) {
	system := map[string]int64{"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
	if value, ok := system[name]; ok {
		return priority{name, string(corev1.PreemptLowerPriority), value}, nil
	}
	found := priority{policy: string(corev1.PreemptLowerPriority)}
	resource := schema.GroupResource{Group: schedulingv1.GroupName, Resource: "priorityclasses"}
	for _, class := range r.store.List(resource, "") {
		value, _, _ := unstructured.NestedInt64(class.Object, "value")
		policy, _, _ := unstructured.NestedString(class.Object, "preemptionPolicy")
		isDefault, _, _ := unstructured.NestedBool(class.Object, "globalDefault")
		switch {
		case name != "" && class.GetName() == name:
			return priority{name, policy, value}, nil
		case name == "" && isDefault && (found.name == "" || value < found.value):
			found = priority{class.GetName(), policy, value}
		}
	}
	if name != "" {
		return priority{}, fmt.Errorf("no PriorityClass with name %s was found", name)
	}
	return found, nil
}

// toStorage is the object in the version in which it is stored.
func (r *Registry) toStorage(k *kind.Kind, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	storage := r.stored[k.Resource()]
	if storage == nil || k.Storage == k.GroupVersion() {
		return object, nil
	}
	converted := object.DeepCopy()
	converted.SetAPIVersion(storage.GroupVersion().String())
	out, _, err := storage.Decode(converted.Object)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("converting %s %s to %s: %w", k.Plural, object.GetName(), storage.GroupVersion(), err))
	}
	return out, nil
}

// storeError is the answer to a client for an error of the store.
func storeError(resource schema.GroupResource, name string, err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return apierrors.NewNotFound(resource, name)
	case errors.Is(err, store.ErrExists):
		return apierrors.NewAlreadyExists(resource, name)
	case errors.Is(err, store.ErrConflict):
		return conflict(resource, name)
	}
	return apierrors.NewInternalError(err)
}

func conflict(resource schema.GroupResource, name string) error {
	return apierrors.NewConflict(resource, name, errors.New("the object has been modified; please apply your changes to the latest version and try again"))
}
