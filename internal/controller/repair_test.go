package controller

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/options"
)

func TestWhichRepairRuns(t *testing.T) {
	t.Attr("covers", "C511")
	t.Attr("covers", "N004")
	t.Attr("covers", "N264")
	policies := []cloud.RepairPolicy{{ConditionType: "Ready", ConditionStatus: "False", Action: cloud.ReplaceNode}}
	invalid := []cloud.RepairPolicy{{ConditionType: "Ready", ConditionStatus: "False", ReasonRegex: "(", Action: cloud.ReplaceNode}}
	for _, tt := range []struct {
		name         string
		gate, legacy bool
		cloud        cloud.Cloud
		method       bool
		controllers  int
		err          string
	}{
		{name: "gate off", cloud: cloud.Cloud{RepairPolicies: policies}},
		{name: "gate off, legacy", legacy: true, cloud: cloud.Cloud{RepairPolicies: policies}},
		{name: "gate off, invalid policies", cloud: cloud.Cloud{RepairPolicies: invalid}},
		{name: "gate on", gate: true, cloud: cloud.Cloud{RepairPolicies: policies}, method: true},
		{name: "gate on, no policies", gate: true, err: "node repair requires the cloud provider to define RepairPolicies, but it defines none"},
		{name: "gate on, invalid policies", gate: true, cloud: cloud.Cloud{RepairPolicies: invalid}, err: "node repair requires valid RepairPolicies, "},
		{name: "legacy", gate: true, legacy: true, cloud: cloud.Cloud{RepairPolicies: policies}, controllers: 1},
		{name: "legacy, no policies", gate: true, legacy: true},
		{name: "legacy, policies for it", gate: true, legacy: true, cloud: cloud.Cloud{RepairPolicies: invalid, LegacyRepairPolicies: policies}, controllers: 1},
		{name: "legacy, invalid policies", gate: true, legacy: true, cloud: cloud.Cloud{RepairPolicies: invalid}, err: "compiling the ReasonRegex of repair policy 0"},
	} {
		o := options.Options{FeatureGates: options.FeatureGates{NodeRepair: tt.gate}, Disruption: options.Disruption{LegacyNodeRepair: tt.legacy}}
		store := cluster.NewStore(tt.cloud, nil)
		method, controllers, err := withRepair(deps.Shared{Cloud: tt.cloud}, Parts{Options: o, Log: slog.New(slog.DiscardHandler)}, store)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got the error %v, want %q", tt.name, err, tt.err)
		}
		if method != tt.method || store.Health.Enabled() != tt.method || len(controllers) != tt.controllers {
			t.Errorf("%s: a disruption method: %t, policies in the store: %t, %d controllers", tt.name, method, store.Health.Enabled(), len(controllers))
		}
	}
}
