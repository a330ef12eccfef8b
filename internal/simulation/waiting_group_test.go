package simulation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// gang is a node with 4 CPUs, and a group with a pod for each of some amounts of CPUs, which kube-scheduler marked as unschedulable one second
// after the other from a time on; at no known time if it is zero.
func gang(minCount int32, from time.Time, cpus ...string) []client.Object {
	name := "train"
	capacity := corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}
	objects := []client.Object{
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}, Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		}},
		&schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: schedulingv1beta1.PodGroupSpec{
			SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: minCount}},
		}},
	}
	for i, cpu := range cpus {
		unschedulable := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}
		if !from.IsZero() {
			unschedulable.LastTransitionTime = metav1.NewTime(from.Add(time.Duration(i) * time.Second))
		}
		pod := string(rune('a' + i))
		objects = append(objects, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: pod, UID: types.UID(pod)},
			Spec: corev1.PodSpec{SchedulingGroup: &corev1.PodSchedulingGroup{PodGroupName: &name}, Containers: []corev1.Container{{
				Name: "app", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}},
			}}},
			Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{unschedulable}},
		})
	}
	return objects
}

func TestGangsThatKubeSchedulerHasNotPlaced(t *testing.T) {
	from := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	waits := []WaitingGroup{{ID: "shop/train", Since: from.Add(time.Second), NewNodesAfter: problem.StrandedAfter}}
	for name, c := range map[string]struct {
		objects []client.Object
		want    []WaitingGroup
	}{
		"it fits on an existing node":                {gang(2, from, "1", "2"), waits},
		"kube-scheduler has not seen it":             {gang(2, time.Time{}, "1", "2"), nil},
		"its pods are placed one by one":             {gang(1, from, "1", "2"), nil},
		"it does not fit":                            {gang(2, from, "1", "4"), nil},
		"the pods above minCount do not fit as well": {gang(2, from, "1", "2", "8"), []WaitingGroup{{ID: "shop/train", Since: from.Add(2 * time.Second), NewNodesAfter: problem.StrandedAfter}}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Run(t.Context(), c.objects, cloud.Cloud{Labels: v1.CoreLabelRules()}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, r.WaitingGroups); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			_, waits := r.WaitingPods()["shop/a"]
			if waits != (len(c.want) > 0) {
				t.Errorf("the first pod waits: %v", waits)
			}
		})
	}
}
