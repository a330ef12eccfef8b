package controlplane

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
)

// TestGang: as many pods of a gang as it needs are bound together, or none, and none is marked before the group and its pods exist.
func TestGang(t *testing.T) {
	w := newWorld(t)
	d := deployment(3)
	group := "train"
	d.Spec.Template.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	w.create(node("a", "2"), d)
	w.want("", "", "")
	unmarked := func(when string) {
		t.Helper()
		for _, pod := range list[corev1.Pod](w) {
			if len(pod.Status.Conditions) > 0 {
				t.Errorf("%s, a pod is marked: %v", when, pod.Status.Conditions)
			}
		}
	}
	unmarked("without a group")
	g := &schedulingv1beta1.PodGroup{ObjectMeta: named(group)}
	g.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: 4}
	w.create(g)
	unmarked("with too few pods")

	change(w, func(g *schedulingv1beta1.PodGroup) { g.Spec.SchedulingPolicy.Gang.MinCount = 3 })
	w.want("", "", "") // two of them would fit
	for _, pod := range list[corev1.Pod](w) {
		if len(pod.Status.Conditions) != 1 || pod.Status.Conditions[0].Reason != corev1.PodReasonUnschedulable {
			t.Errorf("pod %s has the conditions %v, want it to be unschedulable", pod.Name, pod.Status.Conditions)
		}
	}
	w.create(node("b", "2"))
	w.want("a", "a", "b")
}
