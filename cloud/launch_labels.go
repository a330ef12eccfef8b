package cloud

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// LaunchLabels are the labels of the claim's instance when launched as chosen: every label for which claim, instance type and offering
// together leave one value, and the operating system.
func LaunchLabels(claim *v1.NodeClaim, chosen Candidate, rules v1.LabelRules) map[string]string {
	set := Requirements(claim.Spec.Requirements, rules).
		And(Requirements(chosen.Type.Requirements, rules)).
		And(Requirements(chosen.Offering.Requirements, rules))
	labels := map[string]string{}
	for _, r := range set {
		if r.Operator() != requirement.In || r.Key == corev1.LabelHostname {
			continue
		}
		switch values := r.Values(); {
		case len(values) == 1:
			labels[r.Key] = values[0]
		case r.Key == corev1.LabelOSStable:
			labels[r.Key] = installedOS(values)
		}
	}
	return labels
}

// installedOS returns the operating system of a node whose instance type supports several.
func installedOS(values []string) string {
	if slices.Contains(values, string(corev1.Linux)) {
		return string(corev1.Linux)
	}
	return values[0]
}
