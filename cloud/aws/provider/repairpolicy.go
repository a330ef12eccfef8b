package provider

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/cloud"
)

// The conditions of the node monitoring agent of EKS.
const acceleratedHardwareReady corev1.NodeConditionType = "AcceleratedHardwareReady"

func otherConditions() []corev1.NodeConditionType {
	return []corev1.NodeConditionType{"StorageReady", "NetworkingReady", "KernelReady", "ContainerRuntimeReady"}
}

// The reasons of GPU errors (XIDs) that a reboot may correct, and of those that it does not. Expressions are searched in the reason, so
// that they occur in longer numbers, too: XID64 in XID641.
const (
	rebootXIDs  = `.*XID(46|48|54|62|63|95|109|110|136|140|143|155|156|158).*`
	replaceXIDs = `.*XID(64|74|79|119|120).*`
)

// repairPolicies say when a node is repaired. With reboot, GPU errors that a reboot may correct lead to one. All drains are limited, so
// that no pod keeps a broken node.
func repairPolicies(reboot bool) []cloud.RepairPolicy {
	policy := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string, toleration, grace time.Duration) cloud.RepairPolicy {
		return cloud.RepairPolicy{
			ConditionType: kind, ConditionStatus: status, ReasonRegex: reason, TolerationDuration: toleration,
			TerminationGracePeriod: &grace, Action: cloud.ReplaceNode,
		}
	}
	curable := policy(acceleratedHardwareReady, corev1.ConditionFalse, rebootXIDs, 10*time.Minute, 5*time.Minute)
	if reboot {
		curable.Action = cloud.RebootNode
	}
	out := []cloud.RepairPolicy{
		policy(corev1.NodeReady, corev1.ConditionFalse, ".*", 30*time.Minute, 10*time.Minute),
		policy(corev1.NodeReady, corev1.ConditionUnknown, ".*", 30*time.Minute, 10*time.Minute),
		curable,
		policy(acceleratedHardwareReady, corev1.ConditionFalse, replaceXIDs, 10*time.Minute, 5*time.Minute),
		policy(acceleratedHardwareReady, corev1.ConditionFalse, "", 30*time.Minute, 10*time.Minute),
	}
	for _, kind := range otherConditions() {
		out = append(out, policy(kind, corev1.ConditionFalse, ".*", 30*time.Minute, 10*time.Minute))
	}
	return out
}

// legacyRepairPolicies are those of earlier versions: without reasons and limits.
func legacyRepairPolicies() []cloud.RepairPolicy {
	policy := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, toleration time.Duration) cloud.RepairPolicy {
		return cloud.RepairPolicy{ConditionType: kind, ConditionStatus: status, TolerationDuration: toleration, Action: cloud.ReplaceNode}
	}
	out := []cloud.RepairPolicy{
		policy(corev1.NodeReady, corev1.ConditionFalse, 30*time.Minute),
		policy(corev1.NodeReady, corev1.ConditionUnknown, 30*time.Minute),
		policy(acceleratedHardwareReady, corev1.ConditionFalse, 10*time.Minute),
	}
	for _, kind := range otherConditions() {
		out = append(out, policy(kind, corev1.ConditionFalse, 30*time.Minute))
	}
	return out
}
