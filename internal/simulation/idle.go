package simulation

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// IdlePod is a pod without a node for which no node is launched, and why.
type IdlePod struct {
	Pod *model.Pod
	Why string
}

// idle are the pods that the provisioner ignores, in the order of their identity.
func (w *clusterObjects) idle() []IdlePod {
	var out []IdlePod
	for _, pod := range w.pods {
		if why := w.idleReason(pod); why != "" {
			out = append(out, IdlePod{w.translator.Pod(pod), why})
		}
	}
	return out
}

// idleReason returns why no node is launched for a pod without a node; empty for all other pods.
func (w *clusterObjects) idleReason(pod *corev1.Pod) string {
	switch {
	case pod.Spec.NodeName != "":
		return ""
	case podrules.Terminal(pod):
		return "it has finished"
	case w.store.Provisionable(pod):
		return ""
	case podrules.OwnedByDaemonSet(pod):
		return "it belongs to a DaemonSet, whose pods do not launch nodes"
	case podrules.OwnedByNode(pod):
		return "it is a static pod of a node"
	case pod.Status.NominatedNodeName != "":
		return "it is nominated to node " + pod.Status.NominatedNodeName + ", where kube-scheduler preempts pods for it or is about to bind it"
	case len(pod.Spec.SchedulingGates) > 0:
		return "scheduling gate " + pod.Spec.SchedulingGates[0].Name + " holds it back"
	}
	return "kube-scheduler has not marked it unschedulable"
}

// SchedulerPods counts pods without a node that another scheduler than kube-scheduler places.
type SchedulerPods struct {
	Scheduler string
	Pods      int
}

// otherSchedulers counts the pods that nodes are launched for and that name another scheduler, by its name.
func (w *clusterObjects) otherSchedulers() []SchedulerPods {
	count := map[string]int{}
	for _, pod := range w.pods {
		name := pod.Spec.SchedulerName
		if name != "" && name != corev1.DefaultSchedulerName && w.idleReason(pod) == "" && pod.Spec.NodeName == "" {
			count[name]++
		}
	}
	var out []SchedulerPods
	for _, name := range slices.Sorted(maps.Keys(count)) {
		out = append(out, SchedulerPods{name, count[name]})
	}
	return out
}
