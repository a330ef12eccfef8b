package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/embedded/view"
)

// bindDaemon binds the pod of a DaemonSet to its node, if there is capacity for it.
func bindDaemon(v *view.View, pod *corev1.Pod, nodes []*corev1.Node) error {
	pods, err := view.List[corev1.Pod](v) // with those that were bound since
	if err != nil {
		return err
	}
	affinity := nodeaffinity.GetRequiredNodeAffinity(pod)
	at := slices.IndexFunc(nodes, func(node *corev1.Node) bool {
		matches, err := affinity.Match(node)
		return err == nil && matches
	})
	if at < 0 || !usable(nodes[at]) || !fits(pod, nodes[at], pods) {
		return nil
	}
	return v.Bind(pod, nodes[at].Name)
}

// fits: the node has capacity for the requests of the pod beside its pods.
func fits(pod *corev1.Pod, node *corev1.Node, pods []*corev1.Pod) bool {
	free := node.Status.Allocatable.DeepCopy()
	count := int64(0)
	for _, other := range pods {
		if other.Spec.NodeName != node.Name || podrules.Terminal(other) {
			continue
		}
		count++
		for name, request := range resourcehelper.PodRequests(other, resourcehelper.PodResourcesOptions{}) {
			left := free[name]
			left.Sub(request)
			free[name] = left
		}
	}
	for name, request := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
		if left := free[name]; !request.IsZero() && left.Cmp(request) < 0 {
			return false
		}
	}
	limit, ok := node.Status.Allocatable[corev1.ResourcePods]
	return !ok || limit.Cmp(*resource.NewQuantity(count+1, resource.DecimalSI)) >= 0
}
