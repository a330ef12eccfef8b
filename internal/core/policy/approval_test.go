package policy_test

import (
	"math"
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/policy"
)

func TestDemand(t *testing.T) {
	two, five := 2, 5
	always := &policy.Approval{Always: true, ValidFor: time.Hour}
	above := &policy.Approval{Cost: dollars(t, "1.5"), Nodes: &two, Risk: &five, ValidFor: 24 * time.Hour}
	for _, test := range []struct {
		name     string
		approval *policy.Approval
		reason   string
		change   policy.Change
		want     string
	}{
		{name: "no approval", reason: "Drifted"},
		{name: "always", approval: always, reason: "Drifted", want: "all disruption has to be approved"},
		{name: "repairs are not asked for", approval: always, reason: policy.Unhealthy},
		{
			name: "repairs that are named", approval: &policy.Approval{Always: true, Reasons: []string{policy.Unhealthy}}, reason: policy.Unhealthy,
			want: "all disruption has to be approved",
		},
		{name: "another reason", approval: &policy.Approval{Always: true, Reasons: []string{"Empty"}}, reason: "Drifted"},
		{name: "up to all thresholds", approval: above, reason: "Empty", change: policy.Change{Cost: 1.5, Nodes: 2, Risk: 5}},
		{
			name: "it costs more", approval: above, reason: "Empty", change: policy.Change{Cost: 1.51},
			want: "the cost changes by $1.51/h, more than $1.50/h has to be approved",
		},
		{
			name: "it costs less", approval: above, reason: "Empty", change: policy.Change{Cost: -2},
			want: "the cost changes by $2.00/h, more than $1.50/h has to be approved",
		},
		{
			name: "the cost is not known", approval: above, reason: "Empty", change: policy.Change{Cost: math.NaN()},
			want: "the change of the cost is not known, more than $1.50/h has to be approved",
		},
		{
			name: "nodes", approval: above, reason: "Empty", change: policy.Change{Nodes: 3},
			want: "3 nodes are disrupted together, more than 2 have to be approved",
		},
		{
			name: "risk", approval: above, reason: "Empty", change: policy.Change{Risk: 6},
			want: "6 pods are evicted without protection, more than 5 have to be approved",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := policy.NewSet([]policy.Policy{{Name: "a", Selects: everything, Approval: test.approval}})
			got, asked := set.Demand(nil, test.reason, test.change)
			if asked != (test.want != "") || got.Why != test.want {
				t.Errorf("asked=%v: %q, want %q", asked, got.Why, test.want)
			}
			if asked && !set.AsksFor(nil, test.reason) {
				t.Error("AsksFor says that nothing is asked for")
			}
		})
	}
}

// TestDemandOfSeveralPolicies: the proposal is valid for as long as all policies that ask let it be.
func TestDemandOfSeveralPolicies(t *testing.T) {
	set := policy.NewSet([]policy.Policy{
		{Name: "b", Selects: everything, Approval: &policy.Approval{Always: true, ValidFor: time.Hour}},
		{Name: "a", Selects: everything, Approval: &policy.Approval{Always: true, ValidFor: 2 * time.Hour}},
		{Name: "c", Selects: func(map[string]string) bool { return false }, Approval: &policy.Approval{Always: true, ValidFor: time.Minute}},
	})
	got, asked := set.Demand(nil, "Empty", policy.Change{})
	if !asked || got.Policy != "a" || got.ValidFor != time.Hour {
		t.Errorf("asked=%v: %+v", asked, got)
	}
}
