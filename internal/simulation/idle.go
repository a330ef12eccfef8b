package simulation

import (
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
		if why := idleReason(pod); why != "" {
			out = append(out, IdlePod{w.translator.Pod(pod), why})
		}
	}
	return out
}

// idleReason returns why no node is launched for a pod without a node; empty for all other pods.
func idleReason(pod *corev1.Pod) string {
	switch {
	case pod.Spec.NodeName != "":
		return ""
	case podrules.Terminal(pod):
		return "it has finished"
	case podrules.Provisionable(pod):
		return ""
	case podrules.OwnedByDaemonSet(pod):
		return "it belongs to a DaemonSet, whose pods do not launch nodes"
	case podrules.OwnedByNode(pod):
		return "it is a static pod of a node"
	case pod.Status.NominatedNodeName != "":
		return "kube-scheduler preempts pods for it on node " + pod.Status.NominatedNodeName
	case len(pod.Spec.SchedulingGates) > 0:
		return "scheduling gate " + pod.Spec.SchedulingGates[0].Name + " holds it back"
	}
	return "kube-scheduler has not marked it unschedulable"
}
