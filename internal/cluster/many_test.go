package cluster

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// TestManyPodsAtOnceMakeTheSameSnapshot applies pods one by one and all at once: completed pods, pods with missing volumes,
// bound and pending pods, and one that occurs twice in the list.
func TestManyPodsAtOnceMakeTheSameSnapshot(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(5))
	var pods []*corev1.Pod
	for i := range 3000 {
		pod := boundPod(fmt.Sprintf("pod-%d", i), []string{"", "a", "b"}[i%3])
		switch {
		case i%7 == 0:
			pod.Status.Phase = corev1.PodSucceeded
		case i%5 == 0:
			pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprintf("data-%d", i%11)},
			}}}
		}
		if pod.Spec.NodeName == "" {
			pod.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			}}
		}
		pods = append(pods, pod)
	}
	moved := pods[3].DeepCopy()
	moved.Spec.NodeName = "b"
	pods = append(pods, moved)

	state := func(apply func(*Store)) ([]*model.Node, []*model.Pod) {
		s := newStore()
		s.UpdateNode(node("a", "sim://a"))
		s.UpdateNode(node("b", "sim://b"))
		apply(s)
		snapshot := s.Snapshot()
		return snapshot.Nodes.Sorted(), snapshot.Pending.Sorted()
	}
	wantNodes, wantPending := state(func(s *Store) {
		for _, pod := range pods {
			s.UpdatePod(pod)
		}
	})
	gotNodes, gotPending := state(func(s *Store) { s.UpdatePods(pods) })
	everything := cmp.Exporter(func(reflect.Type) bool { return true })
	if len(wantPending) == 0 || len(wantNodes) != 2 || len(wantNodes[1].Pods) == 0 {
		t.Fatalf("%d nodes and %d pending pods show nothing", len(wantNodes), len(wantPending))
	}
	if diff := cmp.Diff(wantPending, gotPending, everything); diff != "" {
		t.Errorf("pending (-one after the other +all at once):\n%s", diff)
	}
	if diff := cmp.Diff(wantNodes, gotNodes, everything); diff != "" {
		t.Errorf("nodes (-one after the other +all at once):\n%s", diff)
	}
}
