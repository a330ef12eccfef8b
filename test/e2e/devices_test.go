package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

const gpuDriver = "gpu.example.org"

// oneGPU is a class of GPUs and a template of claims for one.
func oneGPU() []client.Object {
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	class.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", gpuDriver)}}}
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "gpu"}}
	template.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu"}}}
	return []client.Object{class, template}
}

// withGPU makes pods use a claim from that template.
func withGPU(template *corev1.PodTemplateSpec) {
	name := "gpu"
	template.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: name, ResourceClaimTemplateName: &name}}
	template.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: name}}
}

// notAllocated names a pod whose claim has no device of the pod's node.
func (w *harness) notAllocated() string {
	w.t.Helper()
	var claims resourcev1.ResourceClaimList
	w.list(&claims)
	for _, pod := range w.pods() {
		found := false
		for _, c := range claims.Items {
			if !metav1.IsControlledBy(&c, &pod) || c.Status.Allocation == nil {
				continue
			}
			for _, r := range c.Status.Allocation.Devices.Results {
				found = found || r.Driver == gpuDriver && r.Pool == pod.Spec.NodeName+"-gpus"
			}
		}
		if !found {
			return fmt.Sprintf("pod %s has no device of node %q", pod.Name, pod.Spec.NodeName)
		}
	}
	return ""
}

// TestPodsMoveWithTheirDevices: a pod with a claim gets a node with the device, and when its node is deleted, another one.
// Between the plan and the device there are a driver that publishes, kube-scheduler that allocates, and a node that waits.
func TestPodsMoveWithTheirDevices(t *testing.T) {
	t.Parallel()
	if minor := kubernetesMinor(t); minor < devicesSince {
		t.Logf("nothing is tested: Kubernetes 1.%d does not serve resource.k8s.io/v1, 1.%d and later do", minor, devicesSince)
		return
	}
	w := begin(t)
	w.controller("--ignore-dra-requests=false", "--catalog=devices")
	w.create(oneGPU()...)
	node := w.oneNode(deployment("train", 1, "1", withGPU))
	claim := w.claims()[0]
	if got := claim.Annotations[v1.RequestedDRADriversAnnotationKey]; got != gpuDriver {
		t.Errorf("the node waits for %q", got)
	}
	w.await("the device is allocated", patience, w.notAllocated)
	w.delete(node)
	w.await("node and nodeclaim are gone", patience, func() string {
		if w.get(node) || w.get(&claim) {
			return "they are not"
		}
		return ""
	})
	w.awaitRunning(1)
	w.await("the device is allocated again", patience, w.notAllocated)
	w.awaitNodes(1)
	var slices resourcev1.ResourceSliceList
	w.await("the devices of the old node are gone", patience, func() string {
		w.list(&slices)
		for _, s := range slices.Items {
			if s.Spec.NodeName != nil && *s.Spec.NodeName == node.Name {
				return "slice " + s.Name
			}
		}
		return ""
	})
}
