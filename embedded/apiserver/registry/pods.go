package registry

import (
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/store"
)

// maxDisrupted is how many evictions a PodDisruptionBudget may record before a controller has confirmed them.
const maxDisrupted = 2000

// Bind assigns a pod to a node (subresource binding).
func (r *Registry) Bind(req *Request, binding *corev1.Binding) error {
	live, err := r.Get(req)
	if err != nil {
		return err
	}
	if binding.Name != req.Name {
		return apierrors.NewBadRequest("name in URL does not match name in Binding object")
	}
	pod := live.DeepCopy()
	refuse := func(format string, args ...any) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, req.Name, fmt.Errorf(format, args...))
	}
	node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
	gates, _, _ := unstructured.NestedSlice(pod.Object, "spec", "schedulingGates")
	switch {
	case binding.Target.Name == "":
		return unnamed(errors.New("target.name: Required value"))
	case binding.Target.Kind != "" && binding.Target.Kind != "Node":
		return unnamed(fmt.Errorf("target.kind: Unsupported value: %q: supported values: \"Node\", \"<empty>\"", binding.Target.Kind))
	case binding.UID != "" && binding.UID != pod.GetUID():
		return apierrors.NewConflict(req.Kind.Resource(), req.Name, fmt.Errorf("StorageError: invalid object, Code: 4, Key: /registry/pods/%s/%s, "+
			"ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: %v, UID in object meta: %v", req.Namespace, req.Name, binding.UID, pod.GetUID()))
	case pod.GetDeletionTimestamp() != nil:
		return refuse("pod %s is being deleted, cannot be assigned to a host", req.Name)
	case node != "":
		return refuse("pod %v is already assigned to node %q", req.Name, node)
	case len(gates) > 0:
		return refuse("pod %v has non-empty .spec.schedulingGates", req.Name)
	}
	if err := unstructured.SetNestedField(pod.Object, binding.Target.Name, "spec", "nodeName"); err != nil {
		return apierrors.NewInternalError(err)
	}
	pod.SetAnnotations(merged(pod.GetAnnotations(), binding.Annotations))
	pod.SetLabels(merged(pod.GetLabels(), binding.Labels))
	setCondition(pod, map[string]any{"type": string(corev1.PodScheduled), "status": "True"}, r.options.Now().UTC().Format(timeFormat))
	_, err = r.commit(req, live, pod)
	return err
}

func merged(base, over map[string]string) map[string]string {
	if len(over) == 0 {
		return base
	}
	out := map[string]string{}
	for _, m := range []map[string]string{base, over} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

const timeFormat = "2006-01-02T15:04:05Z"

// setCondition sets a condition in the status of a pod.
func setCondition(pod *unstructured.Unstructured, condition map[string]any, now string) {
	conditions, _, _ := unstructured.NestedSlice(pod.Object, "status", "conditions")
	condition["lastProbeTime"], condition["lastTransitionTime"] = nil, now
	for i, old := range conditions {
		if c, ok := old.(map[string]any); ok && c["type"] == condition["type"] {
			if c["status"] == condition["status"] {
				condition["lastTransitionTime"] = c["lastTransitionTime"]
			}
			conditions[i] = condition
			_ = unstructured.SetNestedSlice(pod.Object, conditions, "status", "conditions")
			return
		}
	}
	_ = unstructured.SetNestedSlice(pod.Object, append(conditions, condition), "status", "conditions")
}

// Evict deletes a pod if the PodDisruptionBudgets allow it (subresource eviction).
func (r *Registry) Evict(req *Request, eviction *policyv1.Eviction) error {
	if eviction.Name != req.Name {
		return apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	live, err := r.Get(req)
	if err != nil {
		return err
	}
	options := metav1.DeleteOptions{}
	if eviction.DeleteOptions != nil {
		options = *eviction.DeleteOptions
	}
	req.DryRun = req.DryRun || len(options.DryRun) > 0
	phase, _, _ := unstructured.NestedString(live.Object, "status", "phase")
	if phase != "Succeeded" && phase != "Failed" && phase != "Pending" && live.GetDeletionTimestamp() == nil {
		if err := r.disrupt(req, live); err != nil {
			return err
		}
	}
	if err := precondition(req.Kind, live, options.Preconditions); err != nil {
		return err
	}
	marked := live.DeepCopy()
	setCondition(marked, map[string]any{
		"type": string(corev1.DisruptionTarget), "status": "True", "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
	}, r.options.Now().UTC().Format(timeFormat))
	if !req.DryRun {
		if _, err := r.commit(req, live, marked); err != nil {
			return err
		}
	}
	if options.Preconditions != nil {
		options.Preconditions = &metav1.Preconditions{UID: options.Preconditions.UID} // the version is that from before the condition
	}
	_, _, err = r.Delete(req, options)
	return err
}

// disrupt takes an allowed disruption from the budget of a pod.
func (r *Registry) disrupt(req *Request, pod *unstructured.Unstructured) error {
	resource := schema.GroupResource{Group: policyv1.GroupName, Resource: "poddisruptionbudgets"}
	var budgets []*policyv1.PodDisruptionBudget
	for _, object := range r.store.List(resource, req.Namespace) {
		budget := &policyv1.PodDisruptionBudget{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, budget); err != nil {
			return apierrors.NewInternalError(err)
		}
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.GetLabels())) {
			budgets = append(budgets, budget)
		}
	}
	switch len(budgets) {
	case 0:
		return nil
	case 1:
	default:
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
		}}
	}
	budget := budgets[0]
	if !ready(pod) {
		policy := ptr.Deref(budget.Spec.UnhealthyPodEvictionPolicy, policyv1.IfHealthyBudget)
		if policy == policyv1.AlwaysAllow || budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy && budget.Status.DesiredHealthy > 0 {
			return nil
		}
	}
	return r.decrement(req, budget)
}

func ready(pod *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(pod.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Ready" {
			return c["status"] == "True"
		}
	}
	return false
}

func refused(err *apierrors.StatusError, format string, args ...any) error {
	if err.ErrStatus.Details == nil {
		err.ErrStatus.Details = &metav1.StatusDetails{}
	}
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: fmt.Sprintf(format, args...)})
	return err
}

// decrement records the disruption in the status of the budget, or refuses it.
func (r *Registry) decrement(req *Request, budget *policyv1.PodDisruptionBudget) error {
	resource := schema.GroupResource{Group: policyv1.GroupName, Resource: "poddisruptionbudget"}
	const violation = "Cannot evict pod as it would violate the pod's disruption budget."
	status := &budget.Status
	switch {
	case status.ObservedGeneration < budget.Generation:
		return refused(apierrors.NewTooManyRequests(violation, 10), "The disruption budget %s is still being processed by the server.", budget.Name)
	case status.DisruptionsAllowed < 0:
		return refused(apierrors.NewForbidden(resource, budget.Name, errors.New("pdb disruptions allowed is negative")),
			"The disruption budget %s does not allow evicting pods currently: pdb disruptions allowed is negative", budget.Name)
	case len(status.DisruptedPods) > maxDisrupted:
		return refused(apierrors.NewForbidden(resource, budget.Name, errors.New("DisruptedPods map too big - too many evictions not confirmed by PDB controller")),
			"The disruption budget %s does not allow evicting pods currently: too many pending evictions not confirmed by PDB controller", budget.Name)
	case status.DisruptionsAllowed == 0:
		return exhausted(budget, apierrors.NewTooManyRequests(violation, 0))
	}
	status.DisruptionsAllowed--
	if status.DisruptionsAllowed == 0 {
		setDisallowed(status, budget.Generation, metav1.NewTime(r.options.Now().UTC()))
	}
	if req.DryRun {
		return nil
	}
	if status.DisruptedPods == nil {
		status.DisruptedPods = map[string]metav1.Time{}
	}
	status.DisruptedPods[req.Name] = metav1.NewTime(r.options.Now().UTC())
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(budget)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	k := r.stored[schema.GroupResource{Group: policyv1.GroupName, Resource: "poddisruptionbudgets"}]
	object, _, err := k.Decode(content)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	key := store.Key{Resource: k.Resource(), Namespace: budget.Namespace, Name: budget.Name}
	return storeErrorOrNil(key, r.store.Update(key, object, budget.ResourceVersion))
}

func exhausted(budget *policyv1.PodDisruptionBudget, err *apierrors.StatusError) error {
	status := budget.Status
	var condition *metav1.Condition
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Type == policyv1.DisruptionAllowedCondition && c.Status == metav1.ConditionFalse && c.Message != "" {
			condition = c
		}
	}
	switch {
	case condition != nil && condition.Reason == policyv1.SyncFailedReason:
		return refused(err, "The disruption budget %s does not allow evicting pods currently because it failed sync: %s", budget.Name, condition.Message)
	case status.CurrentHealthy <= status.DesiredHealthy:
		return refused(err, "The disruption budget %s needs %d healthy pods and has %d currently", budget.Name, status.DesiredHealthy, status.CurrentHealthy)
	case condition != nil:
		return refused(err, "The disruption budget %s does not allow evicting pods currently (%s): %s", budget.Name, condition.Reason, condition.Message)
	}
	return refused(err, "The disruption budget %s does not allow evicting pods currently", budget.Name)
}

// setDisallowed says in the conditions of a budget that its last disruption was taken.
func setDisallowed(status *policyv1.PodDisruptionBudgetStatus, generation int64, now metav1.Time) {
	condition := metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason,
		ObservedGeneration: generation, LastTransitionTime: now,
	}
	for i, c := range status.Conditions {
		if c.Type == condition.Type {
			if c.Status == condition.Status {
				condition.LastTransitionTime = c.LastTransitionTime
			}
			status.Conditions[i] = condition
			return
		}
	}
	status.Conditions = append(status.Conditions, condition)
}
