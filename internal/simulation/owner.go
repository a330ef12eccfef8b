package simulation

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Owner is the workload that a pod belongs to, or the pod itself where it has no controller.
type Owner struct{ Kind, Namespace, Name string }

// String names the workload for people; the namespace is left out where it is "default".
func (o Owner) String() string {
	if o.Namespace != "" && o.Namespace != metav1.NamespaceDefault {
		return o.Namespace + "/" + o.Name
	}
	return o.Name
}

// OwnerOf is the controller of a pod; for pods of a Deployment the Deployment, identified by the hash in their labels.
func OwnerOf(pod *corev1.Pod) Owner {
	controller := metav1.GetControllerOf(pod)
	if controller == nil {
		return Owner{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}
	}
	o := Owner{Kind: controller.Kind, Namespace: pod.Namespace, Name: controller.Name}
	if hash := pod.Labels["pod-template-hash"]; hash != "" && o.Kind == "ReplicaSet" {
		if name, ok := strings.CutSuffix(o.Name, "-"+hash); ok {
			o.Kind, o.Name = "Deployment", name
		}
	}
	return o
}

// Workload names the workload of a pod: its controller, for pods of a Deployment the Deployment, else the pod itself. The
// namespace is left out where it is "default".
func Workload(pod *corev1.Pod) string { return OwnerOf(pod).String() }

// owners is the owner of every pod by UID. Pods that were expanded from a Deployment without a ReplicaSet have the
// UID of the Deployment as owner.
func (w *clusterObjects) owners() map[string]Owner {
	out := make(map[string]Owner, len(w.pods))
	for _, pod := range w.pods {
		owner := OwnerOf(pod)
		if controller := metav1.GetControllerOf(pod); controller != nil && w.deployments[controller.UID] {
			owner.Kind = "Deployment"
		}
		out[string(pod.UID)] = owner
	}
	return out
}
