package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/karpenter-anew/karpenter/api/podrules"
)

// complete drops the pending pods whose group does not exist, or is a gang with fewer pods than it needs. kube-scheduler does not
// consider them either, and does not mark them.
func complete(pending, pods []*corev1.Pod, groups []*schedulingv1beta1.PodGroup) []*corev1.Pod {
	known := map[string]int32{}
	for _, pod := range pods {
		if !podrules.Terminal(pod) {
			known[podrules.PodGroupOf(pod)]++
		}
	}
	ready := map[string]bool{"": true}
	for _, group := range groups {
		id, gang := group.Namespace+"/"+group.Name, group.Spec.SchedulingPolicy.Gang
		ready[id] = gang == nil || known[id] >= gang.MinCount
	}
	return slices.DeleteFunc(pending, func(pod *corev1.Pod) bool { return !ready[podrules.PodGroupOf(pod)] })
}
