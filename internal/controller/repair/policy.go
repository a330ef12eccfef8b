package repair

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/cloud"
)

// unhealthyCondition is a condition that makes a Node unhealthy, and when its toleration ends.
type unhealthyCondition struct {
	condition corev1.NodeConditionType
	due       time.Time
}

// diagnose finds, among the conditions that a policy lists, the one whose toleration ends first; of several that end at the same
// time, the one of the earlier policy.
func diagnose(node *corev1.Node, policies []cloud.RepairPolicy) (first unhealthyCondition, unhealthy bool) {
	for _, policy := range policies {
		for _, c := range node.Status.Conditions {
			if c.Type != policy.ConditionType || c.Status != policy.ConditionStatus {
				continue
			}
			due := c.LastTransitionTime.Add(policy.TolerationDuration)
			if !unhealthy || due.Before(first.due) {
				first, unhealthy = unhealthyCondition{condition: c.Type, due: due}, true
			}
		}
	}
	return first, unhealthy
}

// tooMany reports whether so many of the Nodes are unhealthy, for any duration, that the cause is more likely elsewhere: more than a
// fifth of them, rounded up. One of up to five is never too many.
func tooMany(nodes []corev1.Node, policies []cloud.RepairPolicy) bool {
	count := 0
	for i := range nodes {
		if _, unhealthy := diagnose(&nodes[i], policies); unhealthy {
			count++
		}
	}
	return count > (len(nodes)+4)/5
}
