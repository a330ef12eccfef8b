package repair

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/cloud"
)

// ailment is a condition that calls a Node unhealthy, and when the patience with it ends.
type unhealthyCondition struct {
	condition corev1.NodeConditionType
	due       time.Time
}

// diagnose finds, among the conditions that a policy objects to, the one whose patience ends first; of several that end at
// the same time, the one of the earlier policy.
func diagnose(node *corev1.Node, policies []cloud.RepairPolicy) (first unhealthyCondition, sick bool) {
	for _, policy := range policies {
		for _, c := range node.Status.Conditions {
			if c.Type != policy.ConditionType || c.Status != policy.ConditionStatus {
				continue
			}
			due := c.LastTransitionTime.Add(policy.TolerationDuration)
			if !sick || due.Before(first.due) {
				first, sick = unhealthyCondition{condition: c.Type, due: due}, true
			}
		}
	}
	return first, sick
}

// tooMany reports whether so many of the Nodes are unhealthy, however long they have been, that the fault is more likely
// elsewhere: more than a fifth of them, rounded up. One of up to five is never too many.
func tooMany(nodes []corev1.Node, policies []cloud.RepairPolicy) bool {
	unhealthy := 0
	for i := range nodes {
		if _, sick := diagnose(&nodes[i], policies); sick {
			unhealthy++
		}
	}
	return unhealthy > (len(nodes)+4)/5
}
