package workloads

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenter-anew/karpenter/embedded/view"
)

// budgets keeps the status of PodDisruptionBudgets.
func budgets(v *view.View) error {
	all, err := view.List[policyv1.PodDisruptionBudget](v)
	if err != nil || len(all) == 0 {
		return err
	}
	pods, err := view.List[corev1.Pod](v)
	if err != nil {
		return err
	}
	replicas, err := scales(v)
	if err != nil {
		return err
	}
	for _, b := range all {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			continue // the API server refuses such a selector
		}
		mine := filter(pods, func(pod *corev1.Pod) bool {
			return pod.Namespace == b.Namespace && !over(pod) && selector.Matches(labels.Set(pod.Labels))
		})
		if err := budget(v, b, mine, replicas); err != nil {
			return err
		}
	}
	return nil
}

// scales are the numbers of replicas of workloads, by UID.
func scales(v *view.View) (map[types.UID]int32, error) {
	out := map[types.UID]int32{}
	sets, err := view.List[appsv1.ReplicaSet](v)
	if err != nil {
		return nil, err
	}
	for _, s := range sets {
		out[s.UID] = replicasOf(s.Spec.Replicas)
	}
	stateful, err := view.List[appsv1.StatefulSet](v)
	for _, s := range stateful {
		out[s.UID] = replicasOf(s.Spec.Replicas)
	}
	return out, err
}

// budget computes how many of its pods may be disrupted.
//
// Source: the API reference of policy/v1.
func budget(v *view.View, b *policyv1.PodDisruptionBudget, pods []*corev1.Pod, replicas map[types.UID]int32) error {
	expected, desired := expectation(b, pods, replicas)
	disrupted := maps.Clone(b.Status.DisruptedPods)
	evicting := func(pod *corev1.Pod) bool {
		_, told := disrupted[pod.Name]
		return told || pod.DeletionTimestamp != nil
	}
	healthy := count(pods, func(pod *corev1.Pod) bool { return ready(pod) && !evicting(pod) })
	for name := range disrupted {
		if count(pods, func(pod *corev1.Pod) bool { return pod.Name == name && pod.DeletionTimestamp == nil }) == 0 {
			delete(disrupted, name)
		}
	}
	if len(disrupted) == 0 {
		disrupted = nil
	}
	changed := b.DeepCopy()
	s := &changed.Status
	s.ObservedGeneration, s.ExpectedPods, s.DesiredHealthy, s.CurrentHealthy, s.DisruptedPods = b.Generation, expected, desired, healthy, disrupted
	s.DisruptionsAllowed = 0
	if expected > 0 {
		s.DisruptionsAllowed = atLeastZero(healthy - desired)
	}
	condition := metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionTrue, Reason: policyv1.SufficientPodsReason, ObservedGeneration: b.Generation,
		LastTransitionTime: metav1.NewTime(v.Now()),
	}
	if s.DisruptionsAllowed == 0 {
		condition.Status, condition.Reason = metav1.ConditionFalse, policyv1.InsufficientPodsReason
	}
	meta.SetStatusCondition(&s.Conditions, condition)
	return writeStatus(v, changed, b.Status, *s)
}

// expectation is how many pods there should be, and how many of them healthy. A number of available pods refers to the pods that exist; everything
// else to the replicas of their workloads.
func expectation(b *policyv1.PodDisruptionBudget, pods []*corev1.Pod, replicas map[types.UID]int32) (expected, desired int32) {
	exist := count(pods, func(*corev1.Pod) bool { return true })
	if m := b.Spec.MinAvailable; m != nil && m.Type == intstr.Int {
		return exist, m.IntVal
	}
	seen := map[types.UID]bool{}
	for _, pod := range pods {
		if owner := metav1.GetControllerOf(pod); owner != nil && !seen[owner.UID] {
			seen[owner.UID] = true
			expected += replicas[owner.UID]
		}
	}
	if b.Spec.MinAvailable != nil {
		return expected, portion(b.Spec.MinAvailable, expected, true)
	}
	if b.Spec.MaxUnavailable == nil {
		return 0, 0
	}
	return expected, atLeastZero(expected - portion(b.Spec.MaxUnavailable, expected, true))
}
