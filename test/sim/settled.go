package sim

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Unsettled says what is not as it should be in any cluster that has come to rest, from the objects of its API server and the provider IDs of the
// instances that its cloud has. It is empty if all is well.
func Unsettled(pods []*corev1.Pod, nodes []*corev1.Node, claims []*v1.NodeClaim, instances []string) (out []string) {
	for _, pod := range pods {
		if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil {
			out = append(out, "pod "+pod.Name+" is pending")
		}
		if pod.DeletionTimestamp != nil {
			out = append(out, "pod "+pod.Name+" is not gone")
		}
	}
	for _, node := range nodes {
		if disrupted(node) {
			out = append(out, "node "+node.Name+" is disrupted")
		}
	}
	bound, exists := map[string]bool{}, map[string]bool{}
	for _, id := range instances {
		exists[id] = true
	}
	for _, claim := range claims {
		if claim.DeletionTimestamp != nil || condition.Status(claim, v1.ConditionTypeInitialized) != metav1.ConditionTrue {
			out = append(out, "NodeClaim "+claim.Name+" is not initialized, or not gone")
		}
		if bound[claim.Status.ProviderID] = true; !exists[claim.Status.ProviderID] {
			out = append(out, "NodeClaim "+claim.Name+" has no instance")
		}
	}
	for _, id := range instances {
		if !bound[id] {
			out = append(out, "instance "+id+" has no NodeClaim")
		}
	}
	return out
}
