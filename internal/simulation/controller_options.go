package simulation

import (
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// ControllerOptions are the options with which a simulation decides as a controller with these settings does.
func ControllerOptions(s options.Scheduling, gates options.FeatureGates) Options {
	return Options{
		Preferences:          model.PreferencePolicy(s.PreferencePolicy),
		BestEffortMinValues:  s.MinValuesPolicy == options.MinValuesBestEffort,
		AllocateDevices:      !s.IgnoreDRARequests,
		IgnorePodGroups:      s.PodGroups == options.PodGroupsIgnore,
		DefaultSpread:        s.Config.DefaultConstraints(),
		SpotToSpot:           gates.SpotToSpotConsolidation,
		TerminateFirstDrift:  gates.TerminateFirstDrift,
		NodeRepair:           gates.NodeRepair,
		TerminateFirstRepair: gates.TerminateFirstRepair,
		OpensDestinations:    s.ConsolidateAfterScope == options.ConsolidateAfterSource,
		RankedDeletionCosts:  gates.PodDeletionCostManagement,
		CompareTolerations:   gates.TaintTolerationComparisonOperators,
		IgnoreReservations:   !gates.ReservedCapacity,
		IgnoreOverlays:       !gates.NodeOverlay,
		IgnoreReplicas:       !gates.StaticCapacity,
		IgnoreBuffers:        !gates.CapacityBuffer,
		OperationsPolicies:   gates.OperationsPolicy,
	}
}
