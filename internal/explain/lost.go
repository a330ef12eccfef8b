package explain

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// withoutController are the pods of a node that have to run elsewhere when it is removed, and that no controller creates there.
func withoutController(objects []client.Object, n *model.Node) []string {
	moving := map[string]bool{}
	for _, p := range n.Pods {
		if p.Reschedulable {
			moving[p.UID] = true
		}
	}
	if len(moving) == 0 {
		return nil
	}
	var out []string
	for _, o := range objects {
		if pod, ok := o.(*corev1.Pod); ok && moving[string(pod.UID)] && metav1.GetControllerOf(pod) == nil {
			out = append(out, pod.Namespace+"/"+pod.Name)
		}
	}
	return out
}
