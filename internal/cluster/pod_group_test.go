package cluster

import (
	"testing"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPodGroups: a snapshot has the groups of its time, and none while they are not tracked.
func TestPodGroups(t *testing.T) {
	s := newStore()
	group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "train"}}
	group.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: 4}
	s.PodGroups.Update(group)
	if s.Snapshot().PodGroups != nil {
		t.Error("the snapshot has groups that are not tracked")
	}
	s.PodGroups.Track()
	s.PodGroups.Update(group)
	before := s.Snapshot()
	smaller := group.DeepCopy()
	smaller.Spec.SchedulingPolicy.Gang.MinCount = 2
	s.PodGroups.Update(smaller)
	if known, _ := before.PodGroups.Get("ml/train"); known == nil || known.MinCount != 4 {
		t.Errorf("the first snapshot has %+v, want a gang of 4", known)
	}
	if known, _ := s.Snapshot().PodGroups.Get("ml/train"); known == nil || known.MinCount != 2 {
		t.Errorf("the next snapshot has %+v, want a gang of 2", known)
	}
	s.PodGroups.Delete("ml", "train")
	if known, exists := s.Snapshot().PodGroups.Get("ml/train"); exists {
		t.Errorf("the group is deleted and the snapshot has %+v", known)
	}
}
