package nodeclaim

import (
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// countDisrupted counts a claim that Karpenter itself has asked to go, outside of consolidation.
func countDisrupted(m *observe.Metrics, claim *v1.NodeClaim, reason string) {
	m.NodeClaims.Disrupted.WithLabelValues(disruptionLabels(claim, reason)...).Inc()
}

// countDisruptedPods counts the pods that have to be placed again because their claim goes.
func countDisruptedPods(m *observe.Metrics, claim *v1.NodeClaim, reason string, pods int) {
	m.Pods.DisruptionInitiated.WithLabelValues(disruptionLabels(claim, reason)...).Add(float64(pods))
}

// disruptionLabels are reason, nodepool, capacity_type, consolidation_policy (empty: this is no consolidation) and
// termination_mode.
func disruptionLabels(claim *v1.NodeClaim, reason string) []string {
	return []string{reason, claim.Labels[v1.NodePoolLabelKey], claim.Labels[v1.CapacityTypeLabelKey], "", terminationMode(claim)}
}

// terminationMode says how hard the deadline of a claim's drain is.
func terminationMode(claim *v1.NodeClaim) string {
	switch grace := claim.Spec.TerminationGracePeriod; {
	case grace == nil:
		return "graceful"
	case grace.Duration <= 0:
		return "forceful"
	default:
		return "eventual"
	}
}
