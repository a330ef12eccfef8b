package provider

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRepairPolicies has when nodes are repaired. Their form is verified by the contract of clouds.
func TestRepairPolicies(t *testing.T) {
	t.Attr("covers", "Z181")
	var got []string
	for _, p := range Describe().RepairPolicies {
		got = append(got, fmt.Sprintf("%s=%s %q %s %s %s %d", p.ConditionType, p.ConditionStatus, p.ReasonRegex, p.TolerationDuration, p.TerminationGracePeriod, p.Action, p.Priority))
	}
	want := []string{
		`Ready=False "" 10m0s <nil> ReplaceNode 0`, `Ready=Unknown ".*" 10m0s <nil> ReplaceNode 0`,
		`kubernetes.azure.com/NodeHealthy=False ".*" 0s <nil> ReplaceNode 0`, `PreemptionScheduled=True ".*" 0s 30s ReplaceNode 100`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("repair policies (-want +got):\n%s", diff)
	}
}
