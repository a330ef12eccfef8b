package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

func TestResizesCountOnTheNodeOfThePod(t *testing.T) {
	t.Attr("covers", "N493 N495")
	s := newStore()
	node, claim := featureNode("a", 1, "amd64")
	s.UpdateNodeClaim(claim)
	s.UpdateNode(node)
	pod := &corev1.Pod{}
	pod.UID, pod.Namespace, pod.Name, pod.Spec.NodeName, pod.Status.Phase = "p", "default", "p", "a", corev1.PodRunning
	granted := corev1.ResourceList{corev1.ResourceCPU: apiresource.MustParse("1")}
	for _, want := range []string{"1", "3", "2"} {
		asked := corev1.ResourceList{corev1.ResourceCPU: apiresource.MustParse(want)}
		pod = pod.DeepCopy()
		pod.Spec.Containers = []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{Requests: asked}}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", AllocatedResources: granted, Resources: &corev1.ResourceRequirements{Requests: granted}}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonDeferred}}
		before := s.Snapshot().Version
		s.UpdatePod(pod)
		snapshot := s.Snapshot()
		if snapshot.Version == before {
			t.Errorf("%s cores: the snapshot is the one from before", want)
		}
		if n := snapshot.Pending.Len(); n != 0 {
			t.Errorf("%s cores: %d pods are pending", want, n)
		}
		n, _ := snapshot.Nodes.Get("test:///a")
		if got, cores := n.Used.At(resource.CPU), asked.Cpu().MilliValue(); got != cores {
			t.Errorf("the node has %d used, want %d", got, cores)
		}
	}
}
