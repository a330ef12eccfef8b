package translate

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	apiquantity "github.com/karpenter-anew/karpenter/api/quantity"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// FuzzRequests: whatever quantities the containers of a pod request, the pod requests at least as much as each of them, up to
// the amount that counts as endless.
func FuzzRequests(f *testing.F) {
	for _, text := range []string{"1", "1500m", "1n", "0", "500Pi", "8Ei", "10E", "1e30", "9223372036854775807m", "288230376151711744"} {
		f.Add(text, "1", uint8(40), false)
		f.Add("100m", text, uint8(3), true)
	}
	f.Fuzz(func(t *testing.T, one, other string, copies uint8, sidecars bool) {
		var quantities []resource.Quantity
		for _, text := range []string{one, other} {
			q, err := apiquantity.Parse(text)
			if err != nil || q.Sign() < 0 || len(text) > 40 {
				return // the API server refuses these
			}
			quantities = append(quantities, q)
		}
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, "example.com/one"} {
			pod := requesting(name, quantities, int(copies)%64+2, sidecars)
			tr := New(v1.CoreLabelRules())
			r := tr.Resources().Index(string(name))
			got := tr.Pod(pod).Shape.Requests.At(r)
			for _, q := range quantities {
				if got < amount(r, &q) || got > maxAmount {
					t.Errorf("containers of %s and %s in turn, %d: the pod requests %d of %s", one, other, int(copies)%64+2, got, name)
				}
			}
		}
	})
}

// requesting is a pod with that many containers, which request the quantities in turn; after the first two they are sidecars if
// asked for.
func requesting(name corev1.ResourceName, quantities []resource.Quantity, containers int, sidecars bool) *corev1.Pod {
	pod := &corev1.Pod{}
	always := corev1.ContainerRestartPolicyAlways
	for i := range containers {
		c := corev1.Container{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{name: quantities[i%len(quantities)]},
		}}
		if sidecars && i >= len(quantities) {
			c.RestartPolicy = &always
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		} else {
			pod.Spec.Containers = append(pod.Spec.Containers, c)
		}
	}
	return pod
}
