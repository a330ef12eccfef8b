package controller

import (
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/repair"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// repairControllers replace unhealthy nodes if that is enabled and the cloud defines repair policies.
func repairControllers(shared deps.Shared, gates options.FeatureGates) []Controller {
	if !gates.NodeRepair || len(shared.Cloud.RepairPolicies) == 0 {
		return nil
	}
	return []Controller{repair.New(shared)}
}
