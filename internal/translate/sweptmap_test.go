package translate

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestLargePodsLeaveShortKeys checks that what remains of a pod with a megabyte of resource names and labels, until dead entries are
// removed, is short, and that large pods share shapes and labels as others do.
func TestLargePodsLeaveShortKeys(t *testing.T) {
	tr := New(v1.CoreLabelRules())
	large := func(first string) *corev1.Pod {
		list := corev1.ResourceList{}
		pod := &corev1.Pod{}
		pod.Labels = map[string]string{"first": first}
		for i := range 2000 {
			list[corev1.ResourceName(fmt.Sprintf("example.com/%d", i))] = resource.MustParse("1")
			pod.Labels[fmt.Sprintf("example.com/%d", i)] = strings.Repeat("x", 60)
		}
		list[corev1.ResourceName("example.com/"+first)] = resource.MustParse("1")
		pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list}}}
		return pod
	}
	one, equal, other := tr.Pod(large("a")), tr.Pod(large("a")), tr.Pod(large("b"))
	if one.Shape != equal.Shape || one.Labels != equal.Labels {
		t.Error("equal pods do not share shape and labels")
	}
	if one.Shape == other.Shape || one.Labels == other.Labels {
		t.Error("different pods share a shape or labels")
	}
	for key := range tr.specs.cache.known.entries {
		if len(key) > maxKey {
			t.Errorf("the key of a pod spec has %d bytes", len(key))
		}
	}
	for key := range tr.pods.live.entries {
		if len(key) > maxKey {
			t.Errorf("the key of labels has %d bytes", len(key))
		}
	}
}
