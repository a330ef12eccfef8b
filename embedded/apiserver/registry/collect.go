package registry

import (
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/kind"
	"github.com/karpenter-anew/karpenter/embedded/apiserver/store"
)

// Collect takes one step of garbage collection, as kube-controller-manager does: it deletes objects whose owners are gone and the content of
// namespaces that are being deleted, and it removes the finalizers foregroundDeletion, orphan and that of namespaces when what they wait for is
// done. It returns whether it wrote; the caller repeats it until it does not. An owner without a UID among all objects is gone, whatever its kind:
// owners of kinds that are not served must not be referred to. A step costs time proportional to the number of objects, or none if nothing has
// changed since a step that wrote nothing.
func (r *Registry) Collect() (bool, error) {
	before := r.store.Revision()
	if before == r.collected {
		return false, nil
	}
	present, dependents := map[types.UID]bool{}, map[types.UID][]dependent{}
	var concerned []dependent
	for _, k := range r.Kinds() {
		if r.stored[k.Resource()] != k {
			continue
		}
		for _, object := range r.store.List(k.Resource(), "") {
			d := dependentOf(k, object)
			present[d.uid] = true
			if len(d.owners) > 0 || d.deleting {
				concerned = append(concerned, d)
			}
			for _, owner := range d.owners {
				dependents[owner] = append(dependents[owner], d)
			}
		}
	}
	for _, d := range concerned {
		if err := r.collect(d, present, dependents[d.uid]); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return r.store.Revision() != before, err
		}
	}
	wrote := r.store.Revision() != before
	if !wrote {
		r.collected = before
	}
	return wrote, nil
}

// dependent is an object that may refer to owners.
type dependent struct {
	kind   *kind.Kind
	object *unstructured.Unstructured
	uid    types.UID
	// owners are the UIDs of the owners.
	owners   []types.UID
	deleting bool
}

// dependentOf reads the metadata in place: the methods of an Unstructured copy it, and most objects are not concerned.
func dependentOf(k *kind.Kind, object *unstructured.Unstructured) dependent {
	metadata, _ := object.Object["metadata"].(map[string]any)
	uid, _ := metadata["uid"].(string)
	d := dependent{kind: k, object: object, uid: types.UID(uid), deleting: metadata["deletionTimestamp"] != nil}
	references, _ := metadata["ownerReferences"].([]any)
	for _, reference := range references {
		fields, _ := reference.(map[string]any)
		owner, _ := fields["uid"].(string)
		d.owners = append(d.owners, types.UID(owner))
	}
	return d
}

func (d dependent) request() *Request {
	return &Request{Kind: d.kind, Namespace: d.object.GetNamespace(), Name: d.object.GetName(), Manager: "garbage-collector"}
}

// collect does what is due for one object.
func (r *Registry) collect(d dependent, present map[types.UID]bool, dependents []dependent) error {
	switch {
	case d.deleting && d.kind.Kind == "Namespace" && d.kind.Group == "":
		return r.emptyNamespace(d)
	case d.deleting && slices.Contains(d.object.GetFinalizers(), metav1.FinalizerOrphanDependents):
		for _, child := range dependents {
			if err := r.orphan(child, d.uid); err != nil {
				return err
			}
		}
		return r.release(d, metav1.FinalizerOrphanDependents)
	case d.deleting && slices.Contains(d.object.GetFinalizers(), metav1.FinalizerDeleteDependents):
		return r.deleteDependents(d, dependents)
	case d.deleting:
		return nil
	}
	if slices.ContainsFunc(d.owners, func(owner types.UID) bool { return present[owner] }) {
		return nil
	}
	_, _, err := r.Delete(d.request(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &d.uid}})
	return err
}

// deleteDependents deletes the dependents of an object that is deleted in the foreground, and releases it when none blocks its deletion.
func (r *Registry) deleteDependents(d dependent, dependents []dependent) error {
	blocked := false
	for _, child := range dependents {
		live, ok := r.store.Get(child.request().key())
		if !ok || live.GetUID() != child.uid {
			continue
		}
		for _, owner := range live.GetOwnerReferences() {
			if owner.UID == d.uid && owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion {
				blocked = true
			}
		}
		if live.GetDeletionTimestamp() != nil {
			continue
		}
		policy := metav1.DeletePropagationForeground
		if _, _, err := r.Delete(child.request(), metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	if blocked {
		return nil
	}
	return r.release(d, metav1.FinalizerDeleteDependents)
}

// release removes a finalizer.
func (r *Registry) release(d dependent, finalizer string) error {
	return r.amend(d, func(object *unstructured.Unstructured) {
		object.SetFinalizers(slices.DeleteFunc(object.GetFinalizers(), func(f string) bool { return f == finalizer }))
	})
}

// orphan removes the reference to an owner.
func (r *Registry) orphan(d dependent, owner types.UID) error {
	return r.amend(d, func(object *unstructured.Unstructured) {
		object.SetOwnerReferences(slices.DeleteFunc(object.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == owner }))
	})
}

// amend changes the metadata of an object as it is now.
func (r *Registry) amend(d dependent, change func(*unstructured.Unstructured)) error {
	req := d.request()
	live, err := r.Get(req)
	if err != nil {
		return err
	}
	object := live.DeepCopy()
	change(object)
	_, err = r.commit(req, live, object)
	return err
}

// emptyNamespace deletes what is in a namespace that is being deleted, and releases it when nothing is left.
func (r *Registry) emptyNamespace(d dependent) error {
	name, left := d.object.GetName(), false
	for _, k := range r.Kinds() {
		if !k.Namespaced || r.stored[k.Resource()] != k {
			continue
		}
		for _, object := range r.store.List(k.Resource(), name) {
			if object.GetDeletionTimestamp() == nil {
				if _, _, err := r.Delete(dependent{kind: k, object: object}.request(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
					return err
				}
			}
			_, still := r.store.Get(store.Key{Resource: k.Resource(), Namespace: name, Name: object.GetName()})
			left = left || still
		}
	}
	if left {
		return nil
	}
	return r.amend(d, func(object *unstructured.Unstructured) { object.Object["spec"] = map[string]any{} })
}
