package podrules_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

var now = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

// with builds a running pod and applies the changes.
func with(changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: "n"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func phase(p corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Phase = p }
}

func deletedAt(t time.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: t} }
}

func owner(apiVersion, kind string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "o"})
	}
}

func tolerating(t corev1.Toleration) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Tolerations = append(pod.Spec.Tolerations, t) }
}

func doNotDisrupt(value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: value} }
}

func startedAt(t time.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.StartTime = &metav1.Time{Time: t} }
}

func pending(pod *corev1.Pod) {
	pod.Spec.NodeName = ""
	pod.Status.Phase = corev1.PodPending
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
}

// failed has kube-scheduler report an error instead.
func failed(pod *corev1.Pod) { pod.Status.Conditions[0].Reason = corev1.PodReasonSchedulerError }

func inGroup(pod *corev1.Pod) { pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{} }

// answers are the predicates of one pod, in the order of the vocabulary.
type answers struct {
	terminal, active, reschedulable, disruptable, evictable, drainable, waiting, provisionable bool
}

func ask(pod *corev1.Pod) answers {
	return answers{
		terminal: podrules.Terminal(pod), active: podrules.Active(pod), reschedulable: podrules.Reschedulable(pod),
		disruptable: podrules.Disruptable(pod, now), evictable: podrules.Evictable(pod, now),
		drainable: podrules.Drainable(pod, now), waiting: podrules.WaitingForEviction(pod, now),
		provisionable: podrules.Provisionable(pod),
	}
}

func TestPredicates(t *testing.T) {
	t.Attr("covers", "C216 C217 C218 L011 L012 L013 L014 L015 L016 L017 L187 L188")
	disrupted := corev1.Toleration{Key: v1.DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule}
	plain := answers{active: true, reschedulable: true, disruptable: true, evictable: true, drainable: true, waiting: true}
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want answers
	}{
		"a running pod without owner": {with(), plain},
		"a ReplicaSet pod":            {with(owner("apps/v1", "ReplicaSet")), plain},
		"a finished pod is not waited for": {
			with(phase(corev1.PodSucceeded)), answers{terminal: true, disruptable: true, drainable: true},
		},
		"a failed pod is not waited for": {
			with(phase(corev1.PodFailed)), answers{terminal: true, disruptable: true, drainable: true},
		},
		"a terminating pod is waited for but not placed again": {
			with(deletedAt(now.Add(-time.Second))), answers{disruptable: true, drainable: true, waiting: true},
		},
		"a terminating StatefulSet pod is placed again": {
			with(deletedAt(now.Add(-time.Second)), owner("apps/v1", "StatefulSet")),
			answers{reschedulable: true, disruptable: true, drainable: true, waiting: true},
		},
		"a pod exactly a minute past its deletion time is not stuck yet": {
			with(deletedAt(now.Add(-time.Minute))), answers{disruptable: true, drainable: true, waiting: true},
		},
		"a pod more than a minute past its deletion time is stuck": {
			with(deletedAt(now.Add(-time.Minute - time.Nanosecond))), answers{disruptable: true},
		},
		"a DaemonSet pod is drained but not placed again": {
			with(owner("apps/v1", "DaemonSet")),
			answers{active: true, disruptable: true, evictable: true, drainable: true, waiting: true},
		},
		"a DaemonSet of another group is an ordinary owner": {with(owner("apps.example.com/v1", "DaemonSet")), plain},
		"a mirror pod is left alone":                        {with(owner("v1", "Node")), answers{active: true, disruptable: true}},
		"a pod protected by annotation holds the drain": {
			with(doNotDisrupt("true")), answers{active: true, reschedulable: true, drainable: true, waiting: true},
		},
		"a finished pod loses its protection": {
			with(doNotDisrupt("true"), phase(corev1.PodSucceeded)),
			answers{terminal: true, disruptable: true, drainable: true},
		},
		"tolerating the disrupted taint with Equal": {
			with(tolerating(corev1.Toleration{Key: disrupted.Key, Operator: corev1.TolerationOpEqual, Effect: disrupted.Effect})),
			answers{active: true, reschedulable: true, disruptable: true},
		},
		"tolerating the disrupted taint with Exists": {
			with(tolerating(corev1.Toleration{Key: disrupted.Key, Operator: corev1.TolerationOpExists})),
			answers{active: true, reschedulable: true, disruptable: true},
		},
		"tolerating everything": {
			with(tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists})),
			answers{active: true, reschedulable: true, disruptable: true},
		},
		"tolerating the key with another value":  {with(tolerating(corev1.Toleration{Key: disrupted.Key, Value: "x"})), plain},
		"tolerating the key with another effect": {with(tolerating(corev1.Toleration{Key: disrupted.Key, Effect: corev1.TaintEffectNoExecute})), plain},
		"an empty key with Equal tolerates nothing": {
			with(tolerating(corev1.Toleration{Operator: corev1.TolerationOpEqual})), plain,
		},
		"tolerating only the unschedulable taint": {
			with(tolerating(corev1.Toleration{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists})), plain,
		},
		"an unschedulable pod asks for capacity": {
			with(pending), answers{
				active: true, reschedulable: true, disruptable: true, evictable: true, drainable: true, waiting: true, provisionable: true,
			},
		},
		"a pod of a group that kube-scheduler reports an error for does as well": {
			with(pending, failed, inGroup), answers{
				active: true, reschedulable: true, disruptable: true, evictable: true, drainable: true, waiting: true, provisionable: true,
			},
		},
		"a pod without a group that kube-scheduler reports an error for does not": {with(pending, failed), plain},
		"an unschedulable DaemonSet pod does not": {
			with(pending, owner("apps/v1", "DaemonSet")),
			answers{active: true, disruptable: true, evictable: true, drainable: true, waiting: true},
		},
		"a pod about to preempt does not ask for capacity": {
			with(pending, func(p *corev1.Pod) { p.Status.NominatedNodeName = "n" }), plain,
		},
		"a pod with another scheduling reason does not ask for capacity": {
			with(pending, func(p *corev1.Pod) { p.Status.Conditions[0].Reason = "SchedulingGated" }), plain,
		},
		"a pod without a scheduling condition does not ask for capacity": {
			with(pending, func(p *corev1.Pod) { p.Status.Conditions = nil }), plain,
		},
		"a bound pod does not ask for capacity": {with(pending, func(p *corev1.Pod) { p.Spec.NodeName = "n" }), plain},
		"an unschedulable mirror pod does not ask for capacity": {
			with(pending, owner("v1", "Node")), answers{active: true, disruptable: true},
		},
		"a pod of another scheduler asks for capacity": {
			with(pending, func(p *corev1.Pod) { p.Spec.SchedulerName = "other" }), answers{
				active: true, reschedulable: true, disruptable: true, evictable: true, drainable: true, waiting: true, provisionable: true,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ask(c.pod); got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestDoNotDisrupt(t *testing.T) {
	t.Attr("covers", "L191")
	start := now.Add(-10 * time.Minute)
	for name, c := range map[string]struct {
		pod    *corev1.Pod
		want   podrules.Protection
		active bool
	}{
		"absent":                   {with(), podrules.Protection{State: podrules.Unprotected}, false},
		"true":                     {with(doNotDisrupt("true")), podrules.Protection{State: podrules.ProtectedAlways}, true},
		"a duration still running": {with(doNotDisrupt("11m"), startedAt(start)), podrules.Protection{State: podrules.ProtectedForNow, Until: start.Add(11 * time.Minute)}, true},
		"a duration elapsing now":  {with(doNotDisrupt("10m"), startedAt(start)), podrules.Protection{State: podrules.ProtectionElapsed, Until: now}, false},
		"a duration without start": {with(doNotDisrupt("10m")), podrules.Protection{State: podrules.ProtectedForNow}, true},
		"a negative duration":      {with(doNotDisrupt("-1m"), startedAt(start)), podrules.Protection{State: podrules.ProtectionInvalid, Detail: `duration "-1m" must be positive`}, false},
		"zero":                     {with(doNotDisrupt("0s"), startedAt(start)), podrules.Protection{State: podrules.ProtectionInvalid, Detail: `duration "0s" must be positive`}, false},
		"false is no duration": {
			with(doNotDisrupt("false")),
			podrules.Protection{State: podrules.ProtectionInvalid, Detail: `failed to parse "false" as a duration: time: invalid duration "false"`},
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := podrules.DoNotDisrupt(c.pod, now)
			if got != c.want || got.Active() != c.active {
				t.Errorf("got %+v (active %v), want %+v (active %v)", got, got.Active(), c.want, c.active)
			}
		})
	}
}
