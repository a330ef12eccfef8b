package explain

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
)

// TestHeadroomOfAnEmptyNode: a node without pods to move that keeps headroom is not removed as empty.
func TestHeadroomOfAnEmptyNode(t *testing.T) {
	q := shop(t, quiet)
	template := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "chunk"}}
	template.Template.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}}}
	buffer := &v1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "head", UID: "head"}}
	buffer.Spec = v1beta1.CapacityBufferSpec{PodTemplateRef: &v1beta1.LocalObjectRef{Name: "chunk"}, Replicas: new(int32(1))}
	q.Objects = append(q.Objects, template, buffer)
	got, err := AboutNode(t.Context(), q, "node-2")
	if err != nil {
		t.Fatal(err)
	}
	const want = `  Underutilized: no: Node "node-2" has buffer pods
    what would help: Shrink or delete the CapacityBuffer.
`
	if text := got.Text(); !strings.HasSuffix(text, want) {
		t.Errorf("got:\n%s\nwant at the end:\n%s", text, want)
	}
}
