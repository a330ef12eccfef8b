package problem

import (
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// PolicyOf is the policy that the flags of the controller ask for, without a timeout for searches.
func PolicyOf(scheduling options.Scheduling, gates options.FeatureGates) Policy {
	return Policy{
		Preferences:         model.PreferencePolicy(scheduling.PreferencePolicy),
		BestEffortMinValues: scheduling.MinValuesPolicy == options.MinValuesBestEffort,
		ReservedCapacity:    gates.ReservedCapacity,
		SpotToSpot:          gates.SpotToSpotConsolidation,
		OpensDestinations:   scheduling.ConsolidateAfterScope == options.ConsolidateAfterSource,
	}
}

// allocationTimeout bounds one search for devices.
const allocationTimeout = 5 * time.Second

// DeviceTimeout returns a function that starts the timeout of one search for devices, by the clock now: a pod whose devices are hard
// to find must not delay other pods.
func DeviceTimeout(now func() time.Time) func() (over func() bool) {
	return func() func() bool {
		deadline := now().Add(allocationTimeout)
		return func() bool { return now().After(deadline) }
	}
}
