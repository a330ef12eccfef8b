package translate

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/repair"
)

// RepairPolicies validates and compiles the repair policies of a cloud.
func RepairPolicies(list []cloud.RepairPolicy) (*repair.Policies, error) {
	var out []repair.Policy
	for _, p := range list {
		out = append(out, repair.Policy{
			ConditionType: string(p.ConditionType), ConditionStatus: string(p.ConditionStatus), ReasonRegex: p.ReasonRegex,
			Toleration: p.TolerationDuration, GracePeriod: p.TerminationGracePeriod, Priority: p.Priority, Action: repair.Action(p.Action),
		})
	}
	return repair.Compile(out)
}

// SameHealth reports whether repair policies match the conditions of two versions of a Node alike: heartbeats, messages and labels may
// differ. It runs on every update of every Node and does not allocate.
func SameHealth(a, b *corev1.Node) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) || len(a.Status.Conditions) != len(b.Status.Conditions) {
		return false
	}
	for i := range a.Status.Conditions {
		x, y := &a.Status.Conditions[i], &b.Status.Conditions[i]
		if x.Type != y.Type || x.Status != y.Status || x.Reason != y.Reason || !x.LastTransitionTime.Equal(&y.LastTransitionTime) {
			return false
		}
	}
	return true
}

// RepairMatches are the policies that match the conditions of a Node, and whether any condition is one that policies cover.
func RepairMatches(policies *repair.Policies, node *corev1.Node) (matches []repair.Match, unhealthy bool) {
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		if !policies.Covers(string(c.Type), string(c.Status)) {
			continue
		}
		unhealthy = true
		since := int64(0)
		if !c.LastTransitionTime.IsZero() {
			since = c.LastTransitionTime.UnixNano()
		}
		matches = policies.Match(matches, repair.Condition{
			Type: string(c.Type), Status: string(c.Status), Reason: c.Reason, Since: since,
		}, node.CreationTimestamp.UnixNano())
	}
	return matches, unhealthy
}
