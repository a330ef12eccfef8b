package translate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// TestNodesThatReboot follows a node through a reboot: until it is initialized again its capacity counts as that of a node that starts, and
// pods that are terminating do not use it.
func TestNodesThatReboot(t *testing.T) {
	t.Attr("covers", "N068 N076")
	lasting := corev1.Taint{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}
	passing := []corev1.Taint{
		lasting, v1.RebootingNoScheduleTaint(),
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
		{Key: "boot", Effect: corev1.TaintEffectNoSchedule},
	}
	for name, c := range map[string]struct {
		rebooting             metav1.ConditionStatus
		label                 string
		initialized, rebooted bool
		taints, pods          int
	}{
		"requested, before the label is removed": {metav1.ConditionTrue, "true", false, true, 1, 1},
		"issued":                                 {metav1.ConditionTrue, "", false, true, 1, 1},
		"ready again, not initialized yet":       {metav1.ConditionFalse, "", false, false, 1, 1},
		"initialized again":                      {metav1.ConditionFalse, "true", true, false, len(passing), 2},
	} {
		claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		claim.Spec.StartupTaints = []corev1.Taint{{Key: "boot", Effect: corev1.TaintEffectNoSchedule}}
		claim.Status.Allocatable = corev1.ResourceList{}
		if set := condition.For(claim, time.Unix(1, 0)); c.rebooting == metav1.ConditionTrue {
			set.TrueWithReason(v1.ConditionTypeRebooting, v1.RebootReasonRequested, "")
		} else {
			set.False(v1.ConditionTypeRebooting, v1.RebootReasonSucceeded, "")
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{v1.NodeRegisteredLabelKey: "true"}}}
		node.Spec.Taints = passing
		if c.label != "" {
			node.Labels[v1.NodeInitializedLabelKey] = c.label
		}
		n := New(v1.CoreLabelRules()).Node("a", node, claim)
		pods := []*model.Pod{{Name: "leaving", Shape: &model.Shape{}, Terminating: true}, {Name: "staying", Shape: &model.Shape{}}}
		if AddPods(n, pods); len(n.Pods) != c.pods || n.Pods[c.pods-1] != pods[1] || pods[0].Name != "leaving" {
			t.Errorf("%s: pods %s", name, cmp.Diff(nil, n.Pods))
		}
		if n.Initialized != c.initialized || n.Rebooting != c.rebooted || !n.Registered {
			t.Errorf("%s: initialized %v, rebooting %v, registered %v", name, n.Initialized, n.Rebooting, n.Registered)
		}
		if len(n.Taints) != c.taints || n.Taints[0] != (model.Taint{Key: "gpu", Effect: model.NoSchedule}) {
			t.Errorf("%s: taints %s", name, cmp.Diff(nil, n.Taints))
		}
	}
}

// TestOpenDrains: pods wait for a node that reboots, unless its drain has no limit and waits for another pod.
func TestOpenDrains(t *testing.T) {
	pod := func(edits ...func(*model.Pod)) *model.Pod {
		p := &model.Pod{Node: "a", Reschedulable: true, Shape: &model.Shape{}}
		for _, edit := range edits {
			edit(p)
		}
		return p
	}
	terminating := func(p *model.Pod) { p.Terminating, p.Reschedulable = true, false }
	critical := func(p *model.Pod) { p.Shape.Priority = 2_000_000_000 }
	daemon := func(p *model.Pod) { p.Daemon = true }
	mirror := func(p *model.Pod) { p.Reschedulable = false }
	elsewhere := func(p *model.Pod) { p.Node = "" }
	tolerant := func(p *model.Pod) { p.Shape.Tolerations = []model.Toleration{{Exists: true}} }
	for name, c := range map[string]struct {
		annotations map[string]string
		pods        []*model.Pod
		closed      bool
	}{
		"a pod stays":                        {nil, []*model.Pod{pod(terminating), pod()}, true},
		"a pod stays, the drain has a limit": {map[string]string{v1.RebootTerminationGracePeriodAnnotationKey: "10m"}, []*model.Pod{pod(terminating), pod()}, false},
		"a pod stayed, the drain is over":    {map[string]string{v1.RebootPreBootIDAnnotationKey: ""}, []*model.Pod{pod()}, false},
		"all terminate":                      {nil, []*model.Pod{pod(terminating), pod(terminating)}, false},
		"critical pods have their turn next": {nil, []*model.Pod{pod(critical), pod(terminating)}, false},
		"a critical pod stays":               {nil, []*model.Pod{pod(critical), pod(critical, terminating)}, true},
		"pods that are not evicted":          {nil, []*model.Pod{pod(daemon), pod(mirror), pod(tolerant), pod(elsewhere)}, false},
	} {
		claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: c.annotations}}
		claim.Status.Allocatable = corev1.ResourceList{}
		condition.For(claim, time.Unix(1, 0)).TrueWithReason(v1.ConditionTypeRebooting, v1.RebootReasonRequested, "")
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{v1.NodeRegisteredLabelKey: "true"}}}
		n := New(v1.CoreLabelRules()).Node("a", node, claim)
		if AddPods(n, c.pods); (len(n.Taints) == 1) != c.closed {
			t.Errorf("%s: taints %v", name, n.Taints)
		}
	}
}

func TestMaintenance(t *testing.T) {
	t.Attr("covers", "N510 N511")
	for condition, want := range map[corev1.NodeConditionType]bool{
		"DrainInProgress": true, "MaintenanceInProgress": true, "MaintenancePlanned": false, "Drained": false, "GracefulNodeShutdownInProgress": false,
	} {
		for _, status := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown} {
			node := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: condition, Status: status}}}}
			if got := New(v1.CoreLabelRules()).Node("n", node, nil).Maintenance; got != (want && status == corev1.ConditionTrue) {
				t.Errorf("%s is %s: under maintenance %t", condition, status, got)
			}
		}
	}
}
