package translate

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	coreresource "github.com/karpenter-anew/karpenter/internal/core/resource"
)

func cpu(amount string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
}

// TestRequestsOfAResizedPod: spec is what the pod requests, allocated what the kubelet has granted, actual what is applied.
func TestRequestsOfAResizedPod(t *testing.T) {
	t.Attr("covers", "L138 L139 L140 L141")
	for _, c := range []struct {
		name                    string
		spec, allocated, actual string
		infeasible              bool
		want                    int64 // in thousandths of a core
	}{
		{"while it shrinks, what is allocated", "1", "2", "2", false, 2000},
		{"while what runs has shrunk less than what is allocated", "1", "1", "2", false, 2000},
		{"while it grows, what is asked for", "4", "2", "2", false, 4000},
		{"granted, but not yet done", "4", "4", "2", false, 4000},
		{"infeasible, what is allocated", "8", "3", "2", true, 3000},
		{"infeasible, what runs", "8", "2", "3", true, 3000},
		{"nothing reported", "4", "", "", false, 4000},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{
				Name: "app", Resources: corev1.ResourceRequirements{Requests: cpu(c.spec)},
			}}}}
			status := corev1.ContainerStatus{Name: "app"}
			if c.allocated != "" {
				status.AllocatedResources = cpu(c.allocated)
				status.Resources = &corev1.ResourceRequirements{Requests: cpu(c.actual)}
			}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
			if c.infeasible {
				pod.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible,
				}}
			}
			if got := New(v1.CoreLabelRules()).Pod(pod).Shape.Requests.At(coreresource.CPU); got != c.want {
				t.Errorf("it asks for %d, want %d", got, c.want)
			}
		})
	}
}

// TestRequestsOfAPodThatIsResizedAsAWhole: the same as above, for requests of the pod itself. Earlier schedulers only look at its spec.
func TestRequestsOfAPodThatIsResizedAsAWhole(t *testing.T) {
	t.Attr("covers", "N492")
	translators := map[int]*Translator{35: NewWith(v1.CoreLabelRules(), Settings{Minor: 35}), 37: New(v1.CoreLabelRules())}
	for _, c := range []struct {
		name                    string
		spec, allocated, actual string
		infeasible              bool
		want                    map[int]int64 // in thousandths of a core, by version
	}{
		{"while it shrinks, what is allocated", "1", "3", "2", false, map[int]int64{35: 1000, 37: 3000}},
		{"while what runs has not shrunk", "1", "1", "2", false, map[int]int64{35: 1000, 37: 2000}},
		{"while it grows, what is asked for", "4", "2", "2", false, map[int]int64{35: 4000, 37: 4000}},
		{"infeasible, what is allocated", "8", "3", "2", true, map[int]int64{35: 8000, 37: 3000}},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "app"}}}}
		pod.Spec.Resources = &corev1.ResourceRequirements{Requests: cpu(c.spec)}
		pod.Status.AllocatedResources = cpu(c.allocated)
		pod.Status.Resources = &corev1.ResourceRequirements{Requests: cpu(c.actual)}
		if c.infeasible {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible}}
		}
		for minor, translator := range translators {
			if got := translator.Pod(pod).Shape.Requests.At(coreresource.CPU); got != c.want[minor] {
				t.Errorf("%s: in version 1.%d it asks for %d, want %d", c.name, minor, got, c.want[minor])
			}
		}
	}
}
