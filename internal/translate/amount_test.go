package translate

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	coreresource "github.com/karpenter-anew/karpenter/internal/core/resource"
)

// TestAmountsDoNotOverflow: quantities wrap around when they are converted to integers that are too small.
func TestAmountsDoNotOverflow(t *testing.T) {
	for _, text := range []string{"1Ei", "4Ei", "8Ei", "9223372036854775807", "9223372036854775808", "9223372036854775807m", "10E", "1e30", "9e18", "500Pi"} {
		q := resource.MustParse(text)
		list := corev1.ResourceList{corev1.ResourceCPU: q, corev1.ResourceMemory: q, "example.com/one": q}
		one := corev1.Container{Resources: corev1.ResourceRequirements{Requests: list}}
		tr, other := New(v1.CoreLabelRules()), New(v1.CoreLabelRules())
		extended := tr.Resources().Index("example.com/one")
		least := resource.MustParse("1Ti")
		for name, containers := range map[string][]corev1.Container{"one": {one}, "three": {one, one, one}, "many": slices.Repeat([]corev1.Container{one}, 20)} {
			asked := tr.Pod(&corev1.Pod{Spec: corev1.PodSpec{Containers: containers}}).Shape.Requests
			for _, r := range []int{coreresource.CPU, coreresource.Memory, extended} {
				if asked.At(r) < least.Value() {
					t.Errorf("%s with %s: asks for %d of resource %d", name, text, asked.At(r), r)
				}
			}
			unoffered := other.Pod(&corev1.Pod{Spec: corev1.PodSpec{Containers: containers}}).Shape.Unoffered
			if len(unoffered) != 1 || unoffered[0].Amount != asked.At(extended) {
				t.Errorf("%s with %s: asks for %v of what nothing offers, want %d", name, text, unoffered, asked.At(extended))
			}
		}
		pool := &v1.NodePool{Spec: v1.NodePoolSpec{Limits: v1.Limits(list)}}
		for r, limit := range tr.Pool(pool, nil).Limits {
			if limit < least.Value() {
				t.Errorf("limits of %s: %d of resource %d", text, limit, r)
			}
		}
	}
}
