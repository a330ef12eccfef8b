package observe

import v1 "github.com/karpenter-anew/karpenter/api/v1"

// CountDisrupted counts a NodeClaim that Karpenter deleted, outside of voluntary disruption.
func (m *Metrics) CountDisrupted(claim *v1.NodeClaim, reason string) {
	m.NodeClaims.Disrupted.WithLabelValues(disruptionLabels(claim, reason)...).Inc()
}

// CountUnhealthyDisrupted counts a NodeClaim whose node was replaced or rebooted because of a condition of this type. mode is the
// termination mode that was in force.
func (m *Metrics) CountUnhealthyDisrupted(claim *v1.NodeClaim, conditionType, mode string) {
	m.NodeClaims.UnhealthyDisrupted.WithLabelValues(SnakeCase(conditionType), claim.Labels[v1.NodePoolLabelKey],
		claim.Labels[v1.CapacityTypeLabelKey], claim.Status.ImageID, mode).Inc()
}

// CountDisruptedPods counts the pods that have to be rescheduled because their NodeClaim is deleted.
func (m *Metrics) CountDisruptedPods(claim *v1.NodeClaim, reason string, pods int) {
	m.Pods.DisruptionInitiated.WithLabelValues(disruptionLabels(claim, reason)...).Add(float64(pods))
}

// disruptionLabels are reason, nodepool, capacity_type, consolidation_policy (empty, since this is not consolidation) and
// termination_mode.
func disruptionLabels(claim *v1.NodeClaim, reason string) []string {
	return []string{
		reason, claim.Labels[v1.NodePoolLabelKey], claim.Labels[v1.CapacityTypeLabelKey], "",
		TerminationMode(claim.Spec.TerminationGracePeriod),
	}
}
