package controller

import (
	"testing"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/options"
)

func TestRepairNeedsGateAndPolicies(t *testing.T) {
	t.Attr("covers", "C511")
	policies := []cloud.RepairPolicy{{ConditionType: "Ready", ConditionStatus: "False"}}
	for _, c := range []struct {
		gate     bool
		policies []cloud.RepairPolicy
		want     int
	}{{false, policies, 0}, {true, nil, 0}, {true, policies, 1}} {
		shared := deps.Shared{Cloud: cloud.Cloud{RepairPolicies: c.policies}}
		if got := len(repairControllers(shared, options.FeatureGates{NodeRepair: c.gate})); got != c.want {
			t.Errorf("gate %v, %d policies: %d controllers, want %d", c.gate, len(c.policies), got, c.want)
		}
	}
}
