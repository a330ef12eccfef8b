package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// IdlePod is a pod without a node for which no node is launched, and why.
type IdlePod struct {
	Pod *model.Pod
	Why string
}

// idle are the pods that the provisioner ignores, in the order of their identity. omitted are the DaemonSets that new nodes have no capacity for.
func (w *clusterObjects) idle(omitted []solve.OmittedDaemon) []IdlePod {
	var out []IdlePod
	for _, pod := range w.pods {
		if why := w.idleReason(pod); why != "" {
			if podrules.OwnedByDaemonSet(pod) && !podrules.Terminal(pod) {
				why += daemonCapacity(pod, omitted)
			}
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
	if name := pod.Spec.SchedulerName; name != "" && name != corev1.DefaultSchedulerName {
		return fmt.Sprintf("scheduler %q has not marked it unschedulable; check that a scheduler of this name runs, or correct schedulerName of the pod", name)
	}
	return "kube-scheduler has not marked it unschedulable"
}

// daemonCapacity says whether new nodes have capacity for a pod of a DaemonSet, which may be pending because its node has none.
func daemonCapacity(pod *corev1.Pod, omitted []solve.OmittedDaemon) string {
	owner := metav1.GetControllerOf(pod)
	for _, o := range omitted {
		if owner != nil && o.DaemonSet.Namespace == pod.Namespace && o.DaemonSet.Name == owner.Name {
			return fmt.Sprintf("; no instance type of NodePool %s has capacity for it beside those of other DaemonSets, so that new nodes are launched without capacity for it",
				strings.Join(o.Pools, ", "))
		}
	}
	return "; new nodes are launched with capacity for those that would run there"
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
