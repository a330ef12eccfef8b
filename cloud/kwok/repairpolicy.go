package kwok

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/cloud"
)

// Conditions of simulated nodes that nothing sets: they are for trials of node repair.
const (
	// ConditionUnhealthy makes a node be replaced.
	ConditionUnhealthy corev1.NodeConditionType = "KWOKUnhealthy"
	// ConditionRebootRequired makes a node be rebooted.
	ConditionRebootRequired corev1.NodeConditionType = "KWOKRebootRequired"
)

// repairPolicies are short where someone waits for the repair.
func repairPolicies() []cloud.RepairPolicy {
	grace := func(d time.Duration) *time.Duration { return &d }
	return []cloud.RepairPolicy{
		{
			ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionFalse, TolerationDuration: 10 * time.Minute,
			TerminationGracePeriod: grace(0), Action: cloud.ReplaceNode,
		},
		{
			ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionUnknown, ReasonRegex: ".*", TolerationDuration: 10 * time.Minute,
			TerminationGracePeriod: grace(0), Action: cloud.ReplaceNode,
		},
		{
			ConditionType: ConditionUnhealthy, ConditionStatus: corev1.ConditionTrue, ReasonRegex: ".*", TolerationDuration: 30 * time.Second,
			TerminationGracePeriod: grace(45 * time.Second), Action: cloud.ReplaceNode,
		},
		{
			ConditionType: ConditionRebootRequired, ConditionStatus: corev1.ConditionTrue, ReasonRegex: ".*", TolerationDuration: 30 * time.Second,
			TerminationGracePeriod: grace(time.Minute), Action: cloud.RebootNode,
		},
	}
}
