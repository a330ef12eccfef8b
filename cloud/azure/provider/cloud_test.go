package provider_test

import (
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/cloud/azure/provider"
	"github.com/karpenter-anew/karpenter/internal/core/repair"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// TestUnhealthyNodes compiles the repair policies, as the feature gate NodeRepair does, and checks after what time each condition counts,
// whatever its reason.
func TestUnhealthyNodes(t *testing.T) {
	policies, err := translate.RepairPolicies(provider.Describe().RepairPolicies)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		kind, status string
		after        time.Duration
		healthy      bool
	}{
		{"Ready", "False", 10 * time.Minute, false},
		{"Ready", "Unknown", 10 * time.Minute, false},
		{"Ready", "True", 0, true},
		{"kubernetes.azure.com/NodeHealthy", "False", 0, false},
		{"kubernetes.azure.com/NodeHealthy", "Unknown", 0, true},
		{"PreemptionScheduled", "True", 0, false},
		{"PreemptionScheduled", "False", 0, true},
		{"DiskPressure", "True", 0, true},
	} {
		for _, reason := range []string{"", "AnyReason"} {
			matches := policies.Match(nil, repair.Condition{Type: tc.kind, Status: tc.status, Reason: reason}, 0)
			if tc.healthy != (len(matches) == 0) || !tc.healthy && (len(matches) != 1 || matches[0].Rule.Toleration != tc.after) {
				t.Errorf("%s %s for reason %q matches %+v", tc.kind, tc.status, reason, matches)
			}
		}
	}
}
