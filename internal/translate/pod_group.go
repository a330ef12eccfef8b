package translate

import (
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// PodGroup translates a PodGroup.
//
// Source: specification of version 1.15, groups.
func PodGroup(group *schedulingv1beta1.PodGroup) *model.PodGroup {
	spec := &group.Spec
	out := &model.PodGroup{
		Namespace:         group.Namespace,
		Name:              group.Name,
		Created:           group.CreationTimestamp.UnixNano(),
		MinCount:          1,
		PreemptionPolicy:  string(corev1.PreemptLowerPriority),
		DisruptedTogether: spec.DisruptionMode != nil && spec.DisruptionMode.All != nil,
	}
	if gang := spec.SchedulingPolicy.Gang; gang != nil {
		out.MinCount = max(int(gang.MinCount), 1)
	}
	if spec.Priority != nil {
		out.Priority = *spec.Priority
	}
	if spec.PreemptionPolicy != nil {
		out.PreemptionPolicy = string(*spec.PreemptionPolicy)
	}
	if constraints := spec.SchedulingConstraints; constraints != nil && len(constraints.Topology) > 0 {
		out.TopologyKey = constraints.Topology[0].Key
	}
	return out
}

// membership is what a pod says about its group; nil if it names none.
func membership(pod *corev1.Pod) *model.Membership {
	group := podrules.PodGroupOf(pod)
	if group == "" {
		return nil
	}
	m := &model.Membership{Group: group, Scheduler: pod.Spec.SchedulerName, PreemptionPolicy: string(corev1.PreemptLowerPriority)}
	if m.Scheduler == "" {
		m.Scheduler = corev1.DefaultSchedulerName
	}
	if pod.Spec.Priority != nil {
		m.Priority = *pod.Spec.Priority
	}
	if policy := pod.Spec.PreemptionPolicy; policy != nil {
		m.PreemptionPolicy = string(*policy)
	}
	return m
}
