package check

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Admit changes a pod as the API server does when it is created: the matchLabelKeys and mismatchLabelKeys of affinity terms become part
// of their selectors.
func Admit(pod *corev1.Pod) *corev1.Pod {
	a := pod.Spec.Affinity
	if a == nil || a.PodAffinity == nil && a.PodAntiAffinity == nil {
		return pod
	}
	pod = pod.DeepCopy()
	var terms []*corev1.PodAffinityTerm
	collect := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range required {
			terms = append(terms, &required[i])
		}
		for i := range preferred {
			terms = append(terms, &preferred[i].PodAffinityTerm)
		}
	}
	if near := pod.Spec.Affinity.PodAffinity; near != nil {
		collect(near.RequiredDuringSchedulingIgnoredDuringExecution, near.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if far := pod.Spec.Affinity.PodAntiAffinity; far != nil {
		collect(far.RequiredDuringSchedulingIgnoredDuringExecution, far.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	for _, t := range terms {
		merge(t.LabelSelector, pod.Labels, t.MatchLabelKeys, metav1.LabelSelectorOpIn)
		merge(t.LabelSelector, pod.Labels, t.MismatchLabelKeys, metav1.LabelSelectorOpNotIn)
	}
	return pod
}

func merge(into *metav1.LabelSelector, labels map[string]string, keys []string, operator metav1.LabelSelectorOperator) {
	for _, key := range keys {
		if value, ok := labels[key]; ok && into != nil {
			into.MatchExpressions = append(into.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}})
		}
	}
}
