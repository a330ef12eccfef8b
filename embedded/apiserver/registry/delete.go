package registry

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/kind"
)

// Delete deletes an object, or marks it as being deleted if a finalizer or a grace period holds it. It returns the last state; gone tells
// whether the object is deleted.
func (r *Registry) Delete(req *Request, options metav1.DeleteOptions) (object *unstructured.Unstructured, gone bool, err error) {
	live, err := r.Get(req)
	if err != nil {
		return nil, false, err
	}
	if errs := metav1validation.ValidateDeleteOptions(&options); len(errs) > 0 {
		return nil, false, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	if err := precondition(req.Kind, live, options.Preconditions); err != nil {
		return nil, false, err
	}
	if req.Kind.Group == "" && req.Kind.Kind == "Namespace" && slices.Contains(immortal(), req.Name) {
		return nil, false, apierrors.NewForbidden(req.Kind.Resource(), req.Name, errors.New("this namespace may not be deleted"))
	}
	req.DryRun = req.DryRun || len(options.DryRun) > 0
	marked, held := r.mark(req.Kind, live.DeepCopy(), options)
	if held {
		object, err = r.commit(req, live, marked)
		if err != nil {
			return nil, false, err
		}
		return object, released(marked), nil
	}
	if req.DryRun {
		return marked, true, nil
	}
	key := req.key()
	if req.Kind.Group == "" && req.Kind.Kind == "Pod" && !equality.Semantic.DeepEqual(marked.Object, live.Object) {
		// A pod is marked first, for those who watch it.
		if err := r.store.Update(key, marked, live.GetResourceVersion()); err != nil {
			return nil, false, storeError(key.Resource, key.Name, err)
		}
		live = marked
		marked = marked.DeepCopy()
	}
	last, err := r.store.Delete(key, live.GetResourceVersion())
	if err != nil {
		return nil, false, storeError(key.Resource, key.Name, err)
	}
	marked.SetResourceVersion(last.GetResourceVersion())
	return marked, true, r.removed(key, live)
}

// immortal are the namespaces that a cluster cannot be without.
func immortal() []string {
	return []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic}
}

// precondition checks that the client deletes the object that it means.
func precondition(k *kind.Kind, live *unstructured.Unstructured, p *metav1.Preconditions) error {
	resource := schema.GroupResource{Group: k.Group, Resource: k.Kind}
	if p == nil {
		return nil
	}
	if p.UID != nil && *p.UID != live.GetUID() {
		return apierrors.NewConflict(resource, live.GetName(), fmt.Errorf(
			"the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, live.GetUID()))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != live.GetResourceVersion() {
		return apierrors.NewConflict(resource, live.GetName(), fmt.Errorf(
			"the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified",
			*p.ResourceVersion, live.GetResourceVersion()))
	}
	return nil
}

// mark changes the object as its deletion requires. held tells that it is not deleted at once.
func (r *Registry) mark(k *kind.Kind, object *unstructured.Unstructured, options metav1.DeleteOptions) (marked *unstructured.Unstructured, held bool) {
	now := r.options.Now().UTC()
	graceful, pending := false, false
	if k.Group == "" && k.Kind == "Pod" {
		graceful, pending = markGraceful(object, options, now)
	}
	if pending && options.GracePeriodSeconds == nil {
		return object, true
	}
	finalizers := finalizersFor(object.GetFinalizers(), options)
	object.SetFinalizers(finalizers)
	holds := len(finalizers) > 0
	if k.Group == "" && k.Kind == "Namespace" {
		spec, _, _ := unstructured.NestedSlice(object.Object, "spec", "finalizers")
		if holds = holds || len(spec) > 0; holds {
			status := map[string]any{"phase": "Terminating"}
			if old, ok := object.Object["status"].(map[string]any); ok {
				status = old
				status["phase"] = "Terminating"
			}
			object.Object["status"] = status
		}
	}
	if k.Kind == "CustomResourceDefinition" {
		holds = true
		if object.GetDeletionTimestamp() == nil && !slices.Contains(object.GetFinalizers(), cleanupFinalizer) {
			object.SetFinalizers(append(object.GetFinalizers(), cleanupFinalizer))
		}
	}
	switch {
	case graceful || pending:
		return object, true
	case !holds:
		return object, false
	}
	if object.GetDeletionTimestamp() == nil && object.GetGeneration() > 0 && k.Kind != "Namespace" && k.Kind != "CustomResourceDefinition" {
		object.SetGeneration(object.GetGeneration() + 1)
	}
	if t := object.GetDeletionTimestamp(); t == nil || t.After(now) {
		object.SetDeletionTimestamp(ptr.To(metav1.NewTime(now)))
	}
	if k.Kind != "Namespace" && k.Kind != "CustomResourceDefinition" {
		object.SetDeletionGracePeriodSeconds(ptr.To[int64](0))
	}
	return object, true
}

// markGraceful gives a pod on a node the time to end. graceful: the pod was changed; pending: it is ending already.
func markGraceful(pod *unstructured.Unstructured, options metav1.DeleteOptions, now time.Time) (graceful, pending bool) {
	asked := options.GracePeriodSeconds
	if asked != nil && *asked < 0 {
		asked = ptr.To[int64](1)
	}
	if since := pod.GetDeletionTimestamp(); since != nil {
		current := ptr.Deref(pod.GetDeletionGracePeriodSeconds(), 0)
		switch {
		case current == 0:
			return false, false
		case asked == nil || *asked >= current:
			return false, true
		}
		period := *asked
		at := since.Add(time.Duration(period-current) * time.Second)
		if at.Before(now) {
			if at = now; period != 0 {
				period = 1
			}
		}
		pod.SetDeletionTimestamp(ptr.To(metav1.NewTime(at)))
		pod.SetDeletionGracePeriodSeconds(&period)
		return period > 0, false
	}
	period := int64(0)
	if asked != nil {
		period = *asked
	} else if own, ok, _ := unstructured.NestedInt64(pod.Object, "spec", "terminationGracePeriodSeconds"); ok {
		period = own
	}
	node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	if node == "" || phase == "Failed" || phase == "Succeeded" {
		period = 0
	}
	if period < 0 {
		period = 1
	}
	pod.SetDeletionTimestamp(ptr.To(metav1.NewTime(now.Add(time.Duration(period) * time.Second))))
	pod.SetDeletionGracePeriodSeconds(&period)
	pod.SetGeneration(pod.GetGeneration() + 1)
	return period > 0, false
}

// finalizersFor adds and removes the finalizers of garbage collection, as the options or the ones that are there say.
func finalizersFor(old []string, options metav1.DeleteOptions) []string {
	orphan, foreground := slices.Contains(old, metav1.FinalizerOrphanDependents), slices.Contains(old, metav1.FinalizerDeleteDependents)
	switch orphaned := options.OrphanDependents; { //nolint:staticcheck // deprecated, and still sent
	case orphaned != nil:
		orphan, foreground = *orphaned, false
	case options.PropagationPolicy != nil:
		orphan = *options.PropagationPolicy == metav1.DeletePropagationOrphan
		foreground = *options.PropagationPolicy == metav1.DeletePropagationForeground
	}
	var out []string
	for _, f := range old {
		if f != metav1.FinalizerOrphanDependents && f != metav1.FinalizerDeleteDependents {
			out = append(out, f)
		}
	}
	if orphan {
		out = append(out, metav1.FinalizerOrphanDependents)
	}
	if foreground {
		out = append(out, metav1.FinalizerDeleteDependents)
	}
	return out
}

// DeleteCollection deletes the objects that a list would return, and returns them as they were before.
func (r *Registry) DeleteCollection(req *Request, list ListOptions, options metav1.DeleteOptions) (*unstructured.UnstructuredList, error) {
	found, err := r.List(req, list)
	if err != nil {
		return nil, err
	}
	for i := range found.Items {
		one := *req
		one.Namespace, one.Name = found.Items[i].GetNamespace(), found.Items[i].GetName()
		if _, _, err := r.Delete(&one, options); err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	return found, nil
}
