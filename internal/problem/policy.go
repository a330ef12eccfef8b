package problem

import "github.com/karpenter-anew/karpenter/internal/options"

// PolicyOf is the policy that the flags of the controller ask for, without a timeout for searches.
func PolicyOf(scheduling options.Scheduling, gates options.FeatureGates) Policy {
	return Policy{
		IgnorePreferences:   scheduling.PreferencePolicy == options.PreferenceIgnore,
		BestEffortMinValues: scheduling.MinValuesPolicy == options.MinValuesBestEffort,
		ReservedCapacity:    gates.ReservedCapacity,
		SpotToSpot:          gates.SpotToSpotConsolidation,
	}
}
