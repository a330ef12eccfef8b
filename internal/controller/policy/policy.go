// Package policy turns the flags of the controller into the scheduling policy that provisioning and disruption follow.
package policy

import (
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// Of is the policy that the flags ask for, without a timeout for searches.
func Of(scheduling options.Scheduling, gates options.FeatureGates) problem.Policy {
	return problem.Policy{
		IgnorePreferences:   scheduling.PreferencePolicy == options.PreferenceIgnore,
		BestEffortMinValues: scheduling.MinValuesPolicy == options.MinValuesBestEffort,
		ReservedCapacity:    gates.ReservedCapacity,
		SpotToSpot:          gates.SpotToSpotConsolidation,
	}
}
