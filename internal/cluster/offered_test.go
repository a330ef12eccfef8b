package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

const gpu = "example.com/gpu"

// needing makes a pod request one GPU.
func needing(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.Containers[0].Resources.Requests[gpu] = resource.MustParse("1")
	return pod
}

// withGPU makes a node report one GPU.
func withGPU(n *corev1.Node) *corev1.Node {
	n.Status.Capacity[gpu], n.Status.Allocatable[gpu] = resource.MustParse("1"), resource.MustParse("1")
	return n
}

// pendingPod is a pod that kube-scheduler could not place.
func pendingPod(name string) *corev1.Pod {
	pod := boundPod(name, "")
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	return pod
}

// TestPodsOfResourcesThatNodesReportLate checks that a device plugin which registers late counts for the pods that are known by then.
func TestPodsOfResourcesThatNodesReportLate(t *testing.T) {
	s := newStore()
	s.UpdateNode(node("a", "test://a"))
	s.UpdateNode(node("b", "test://b"))
	s.UpdatePod(needing(boundPod("bound", "a")))
	s.UpdatePod(needing(pendingPod("pending")))
	s.Snapshot()
	s.UpdateNode(withGPU(node("b", "test://b")))
	s.Snapshot()
	s.UpdateNode(withGPU(node("a", "test://a")))
	snapshot := s.Snapshot()
	i, ok := snapshot.Resources.Lookup(gpu)
	if !ok {
		t.Fatal("the snapshot does not know the resource")
	}
	pending, _ := snapshot.Pending.Get("pending")
	used := func(id string) (n *model.Node) { n, _ = snapshot.Nodes.Get(id); return n }
	if len(pending.Shape.Unoffered) != 0 || pending.Shape.Requests.At(i) != 1 {
		t.Errorf("the pending pod requests %v and unoffered %v", pending.Shape.Requests, pending.Shape.Unoffered)
	}
	if got := used("test://a").Used.At(i); got != 1 {
		t.Errorf("%d GPUs of the node are used, want 1", got)
	}
	if got := used("test://b").Used.At(i); got != 0 {
		t.Errorf("%d GPUs of the other node are used, want 0", got)
	}
	if got := used("test://a").Pods[0].Shape.Unoffered; len(got) != 0 {
		t.Errorf("the bound pod has unoffered %v", got)
	}
}

// TestResourcesOfferedBetweenSnapshots checks that a resource that something else than a node offers, such as an instance type, counts
// in the next snapshot although no object of the cluster changed.
func TestResourcesOfferedBetweenSnapshots(t *testing.T) {
	s := newStore()
	s.UpdatePod(needing(pendingPod("pending")))
	before := s.Snapshot()
	if s.Snapshot() != before {
		t.Error("a snapshot without changes is new")
	}
	s.translator.Vector(corev1.ResourceList{gpu: resource.MustParse("1")})
	p, _ := s.Snapshot().Pending.Get("pending")
	if len(p.Shape.Unoffered) != 0 {
		t.Errorf("unoffered %v", p.Shape.Unoffered)
	}
	if p, _ := before.Pending.Get("pending"); len(p.Shape.Unoffered) != 1 {
		t.Error("a published snapshot changed")
	}
}
