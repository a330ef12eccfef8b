// Package podrules holds the pure questions that Karpenter asks about a pod before it drains, disrupts or re-plans it:
// is it finished, may it be evicted, does it have to be placed again, is it protected by its annotation or by a
// PodDisruptionBudget.
//
// Every function is a pure function of its arguments; time is a parameter. Nothing here publishes an event or reads a
// client, so that ingestion, termination and disruption give the same answers.
//
// Source: spec disruption and lifecycle, pod predicates, do-not-disrupt annotation, PodDisruptionBudget evaluation.
package podrules

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// StuckAfter is how long a pod may outlive its deletion timestamp (which already includes its grace period) before a
// drain stops waiting for it.
const StuckAfter = time.Minute

// Terminal reports whether the pod has finished, in success or in failure.
func Terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// Terminating reports whether the pod has been asked to go.
func Terminating(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil }

// Active reports whether the pod neither has finished nor has been asked to go.
func Active(pod *corev1.Pod) bool { return !Terminal(pod) && !Terminating(pod) }

// OwnedByDaemonSet reports whether an apps/v1 DaemonSet owns the pod.
func OwnedByDaemonSet(pod *corev1.Pod) bool { return ownedBy(pod, "apps/v1", "DaemonSet") }

// OwnedByStatefulSet reports whether an apps/v1 StatefulSet owns the pod.
func OwnedByStatefulSet(pod *corev1.Pod) bool { return ownedBy(pod, "apps/v1", "StatefulSet") }

// OwnedByNode reports whether the pod is a mirror of a static pod, that is, owned by its v1 Node.
func OwnedByNode(pod *corev1.Pod) bool { return ownedBy(pod, "v1", "Node") }

func ownedBy(pod *corev1.Pod, apiVersion, kind string) bool {
	for i := range pod.OwnerReferences {
		if pod.OwnerReferences[i].APIVersion == apiVersion && pod.OwnerReferences[i].Kind == kind {
			return true
		}
	}
	return false
}

// Reschedulable reports whether the pod needs a place elsewhere when its node goes. A terminating StatefulSet pod
// does: its replacement keeps the name and is created only once the old pod is gone.
func Reschedulable(pod *corev1.Pod) bool {
	if OwnedByDaemonSet(pod) || OwnedByNode(pod) {
		return false
	}
	return Active(pod) || (Terminating(pod) && OwnedByStatefulSet(pod))
}

// ToleratesDisruption reports whether the pod tolerates the taint that marks nodes under disruption. Such pods are
// neither drained nor waited for.
func ToleratesDisruption(pod *corev1.Pod) bool {
	taint := v1.DisruptedNoScheduleTaint()
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return tolerates(t, taint) })
}

// ToleratesReboot reports whether the pod tolerates the taint of nodes that are rebooted. Such pods stay during a reboot.
func ToleratesReboot(pod *corev1.Pod) bool {
	taint := v1.RebootingNoScheduleTaint()
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return tolerates(t, taint) })
}

// tolerates is the Kubernetes rule for one toleration and one taint. The numeric operators can never match: the
// disrupted taint has no value.
func tolerates(t corev1.Toleration, taint corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	switch t.Operator {
	case corev1.TolerationOpExists:
		return t.Key == "" || t.Key == taint.Key
	case corev1.TolerationOpEqual, "":
		return t.Key == taint.Key && t.Value == taint.Value
	default:
		return false
	}
}

// Disruptable reports whether the do-not-disrupt annotation leaves the pod open to voluntary disruption at now.
func Disruptable(pod *corev1.Pod, now time.Time) bool {
	return !Active(pod) || !DoNotDisrupt(pod, now).Active()
}

// Evictable reports whether the pod may be sent to the eviction API at now.
func Evictable(pod *corev1.Pod, now time.Time) bool {
	return Active(pod) && !ToleratesDisruption(pod) && !OwnedByNode(pod) && !DoNotDisrupt(pod, now).Active()
}

// StuckTerminating reports whether the pod has outlived its grace period by more than [StuckAfter].
func StuckTerminating(pod *corev1.Pod, now time.Time) bool {
	return Terminating(pod) && now.Sub(TerminatedBy(pod)) > StuckAfter
}

// Drainable reports whether a drain concerns itself with the pod. Pods protected by do-not-disrupt are drainable: the
// drain waits for them.
func Drainable(pod *corev1.Pod, now time.Time) bool {
	return !ToleratesDisruption(pod) && !StuckTerminating(pod, now) && !OwnedByNode(pod)
}

// WaitingForEviction reports whether a drain is not finished as long as the pod exists in this state. Terminating pods
// count: they still run.
func WaitingForEviction(pod *corev1.Pod, now time.Time) bool {
	return Drainable(pod, now) && !Terminal(pod)
}

// PodGroupOf is namespace/name of the group that a pod names; empty if it names none.
func PodGroupOf(pod *corev1.Pod) string {
	if group := pod.Spec.SchedulingGroup; group != nil && group.PodGroupName != nil && *group.PodGroupName != "" {
		return pod.Namespace + "/" + *group.PodGroupName
	}
	return ""
}

// Provisionable reports whether the pod asks for capacity, whatever the nodes are: it is unplaced, and not nominated to a node.
func Provisionable(pod *corev1.Pod) bool {
	return pod.Status.NominatedNodeName == "" && Unplaced(pod)
}

// Unplaced reports whether kube-scheduler has tried the pod and found no place. For the pods of a PodGroup, kube-scheduler 1.37 reports an error
// instead if the cluster has no node. A pod that is nominated to a node asks for capacity only if this node cannot take it.
func Unplaced(pod *corev1.Pod) bool {
	if pod.Spec.NodeName != "" || OwnedByDaemonSet(pod) || OwnedByNode(pod) {
		return false
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		failed := c.Reason == corev1.PodReasonUnschedulable || c.Reason == corev1.PodReasonSchedulerError && pod.Spec.SchedulingGroup != nil
		return c.Type == corev1.PodScheduled && failed
	})
}

// CurrentlyReschedulable reports whether the pod should take part in a plan for the pods of a node that goes: it needs
// a place, is not protected by its annotation, and no budget forbids every eviction.
func CurrentlyReschedulable(pod *corev1.Pod, budgets Budgets, now time.Time) bool {
	if !Reschedulable(pod) || !Disruptable(pod, now) {
		return false
	}
	_, blocked := budgets.Blocked(pod, now, FullyBlocking)
	return !blocked
}
