package translate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

func TestPodGroup(t *testing.T) {
	plain := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "train", CreationTimestamp: metav1.Unix(5, 0)}}
	full := plain.DeepCopy()
	full.Spec = schedulingv1beta1.PodGroupSpec{
		SchedulingPolicy:      schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 4}},
		SchedulingConstraints: &schedulingv1beta1.PodGroupSchedulingConstraints{Topology: []schedulingv1beta1.TopologyConstraint{{Key: "example.com/rack"}}},
		DisruptionMode:        &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}},
		Priority:              ptr.To[int32](7),
		PreemptionPolicy:      ptr.To(schedulingv1beta1.PreemptNever),
	}
	for _, c := range []struct {
		group *schedulingv1beta1.PodGroup
		want  model.PodGroup
	}{
		{plain, model.PodGroup{Namespace: "ml", Name: "train", Created: 5e9, MinCount: 1, PreemptionPolicy: "PreemptLowerPriority"}},
		{full, model.PodGroup{
			Namespace: "ml", Name: "train", Created: 5e9, MinCount: 4, Priority: 7, PreemptionPolicy: "Never",
			TopologyKey: "example.com/rack", DisruptedTogether: true,
		}},
	} {
		if diff := cmp.Diff(c.want, *PodGroup(c.group)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func TestMembership(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "a"}}
	if got := new(Translator).plain(pod).Membership; got != nil {
		t.Errorf("a pod without a group has %+v", got)
	}
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: ptr.To("train")}
	want := &model.Membership{Group: "ml/train", Scheduler: "default-scheduler", PreemptionPolicy: "PreemptLowerPriority"}
	if diff := cmp.Diff(want, new(Translator).plain(pod).Membership); diff != "" {
		t.Errorf("defaults (-want +got)\n%s", diff)
	}
	pod.Spec.SchedulerName, pod.Spec.Priority, pod.Spec.PreemptionPolicy = "other", ptr.To[int32](7), ptr.To(corev1.PreemptNever)
	want = &model.Membership{Group: "ml/train", Scheduler: "other", Priority: 7, PreemptionPolicy: "Never"}
	if diff := cmp.Diff(want, new(Translator).plain(pod).Membership); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
