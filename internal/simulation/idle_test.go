package simulation

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

func TestIdleness(t *testing.T) {
	unschedulable := corev1.PodStatus{Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}}
	nominated := *unschedulable.DeepCopy()
	nominated.NominatedNodeName = "node-1"
	unknown := *nominated.DeepCopy()
	unknown.NominatedNodeName = "gone"
	w := gather([]client.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}}, cloud.Cloud{Labels: v1.CoreLabelRules()}, Options{})
	owned := func(apiVersion, kind string) metav1.ObjectMeta {
		is := true
		return metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "x", Controller: &is}}}
	}
	for _, c := range []struct {
		want string
		pod  corev1.Pod
	}{
		{"", corev1.Pod{Status: unschedulable}},
		{"", corev1.Pod{Spec: corev1.PodSpec{NodeName: "node-1"}}},
		{"it has finished", corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}},
		{"it has finished", corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Conditions: unschedulable.Conditions}}},
		{"it belongs to a DaemonSet, whose pods do not launch nodes", corev1.Pod{ObjectMeta: owned("apps/v1", "DaemonSet"), Status: unschedulable}},
		{"it is a static pod of a node", corev1.Pod{ObjectMeta: owned("v1", "Node"), Status: unschedulable}},
		{"it is nominated to node node-1, where kube-scheduler preempts pods for it or is about to bind it", corev1.Pod{Status: nominated}},
		{"", corev1.Pod{Status: unknown}},
		{"scheduling gate a/b holds it back", corev1.Pod{Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "a/b"}}}}},
		{"kube-scheduler has not marked it unschedulable", corev1.Pod{}},
		{"kube-scheduler has not marked it unschedulable", corev1.Pod{Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName}}},
		{
			`scheduler "my-scheduler" has not marked it unschedulable; check that a scheduler of this name runs, or correct schedulerName of the pod`,
			corev1.Pod{Spec: corev1.PodSpec{SchedulerName: "my-scheduler"}},
		},
	} {
		if got := w.idleReason(&c.pod); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
