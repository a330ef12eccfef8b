package repair

import (
	"fmt"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/cloud"
)

// policy is a repair policy with its compiled expression. Its priority and termination grace period have no effect.
type policy struct {
	cloud.RepairPolicy
	reason *regexp.Regexp
}

// compile compiles those policies that replace nodes: a node is not rebooted here.
func compile(list []cloud.RepairPolicy) ([]policy, error) {
	var out []policy
	for i, p := range list {
		if p.Action == cloud.RebootNode {
			continue
		}
		reason, err := regexp.Compile(p.ReasonRegex)
		if err != nil {
			return nil, fmt.Errorf("compiling the ReasonRegex of repair policy %d, fix the cloud provider: %w", i, err)
		}
		out = append(out, policy{RepairPolicy: p, reason: reason})
	}
	return out, nil
}

// matches reports whether a condition is unhealthy. A policy without expression matches every reason.
func (p policy) matches(c corev1.NodeCondition) bool {
	return c.Type == p.ConditionType && c.Status == p.ConditionStatus && p.reason.MatchString(c.Reason)
}

// unhealthyCondition is a condition that makes a Node unhealthy, and when its toleration ends.
type unhealthyCondition struct {
	condition corev1.NodeConditionType
	due       time.Time
}

// diagnose finds, among the conditions that a policy lists, the one whose toleration ends first; of several that end at the same
// time, the one of the earlier policy.
func diagnose(node *corev1.Node, policies []policy) (first unhealthyCondition, unhealthy bool) {
	for _, policy := range policies {
		for _, c := range node.Status.Conditions {
			if !policy.matches(c) {
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
func tooMany(nodes []corev1.Node, policies []policy) bool {
	count := 0
	for i := range nodes {
		if _, unhealthy := diagnose(&nodes[i], policies); unhealthy {
			count++
		}
	}
	return count > (len(nodes)+4)/5
}
