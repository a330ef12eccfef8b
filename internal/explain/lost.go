package explain

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// withoutController are those of the pods on a node that have to run elsewhere when it is removed, and that no controller creates there.
func withoutController(on []*corev1.Pod, n *model.Node) []string {
	moving := map[string]bool{}
	for _, p := range n.Pods {
		if p.Reschedulable {
			moving[p.UID] = true
		}
	}
	var out []string
	for _, pod := range on {
		if moving[string(pod.UID)] && metav1.GetControllerOf(pod) == nil {
			out = append(out, pod.Namespace+"/"+pod.Name)
		}
	}
	return out
}
