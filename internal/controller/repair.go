package controller

import (
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/repair"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// withRepair prepares the repair of nodes: the store gets the policies for disruption, or there is a controller for legacy node repair.
func withRepair(shared deps.Shared, p Parts, store *cluster.Store) (method bool, legacy []Controller, err error) {
	if !p.Options.FeatureGates.NodeRepair || p.Options.Disruption.LegacyNodeRepair {
		store.Health.Use(nil, p.Log)
		legacy, err = legacyRepair(shared, p.Options)
		return false, legacy, err
	}
	policies, err := translate.RepairPolicies(shared.Cloud.RepairPolicies)
	if err != nil {
		return false, nil, err
	}
	store.Health.Use(policies, p.Log)
	return true, nil, nil
}

// legacyRepair terminates unhealthy nodes if that is enabled and the cloud defines repair policies.
func legacyRepair(shared deps.Shared, o options.Options) ([]Controller, error) {
	policies := shared.Cloud.LegacyRepairPolicies
	if policies == nil {
		policies = shared.Cloud.RepairPolicies
	}
	if !o.FeatureGates.NodeRepair || !o.Disruption.LegacyNodeRepair || len(policies) == 0 {
		return nil, nil
	}
	r, err := repair.New(shared, policies)
	if err != nil {
		return nil, err
	}
	return []Controller{r}, nil
}
