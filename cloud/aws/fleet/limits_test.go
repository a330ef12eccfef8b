package fleet_test

import (
	"fmt"
	"testing"

	"github.com/karpenter-anew/karpenter/cloud/aws/fleet"
)

// ways are overrides of types in zones. The type n costs n, and a little more in every further zone.
func ways(from, to, zones int) []fleet.Override {
	var out []fleet.Override
	for n := from; n < to; n++ {
		for zone := range zones {
			out = append(out, fleet.Override{InstanceType: fmt.Sprintf("m%d.large", n), Zone: fmt.Sprintf("zone-%d", zone), Price: float64(n) + float64(zone)/100})
		}
	}
	return out
}

// TestNoMoreThanEC2Takes: EC2 accepts 300 pools of at most 50 templates in one call. Only the most expensive zones are left out, no type.
func TestNoMoreThanEC2Takes(t *testing.T) {
	in := fleet.Request{CapacityType: "spot", Configs: []fleet.Config{{Template: "a", Overrides: ways(0, 40, 7)}, {Template: "b", Overrides: ways(40, 60, 7)}}}.Input()
	zonesOf, sum := map[string]int{}, 0
	for _, c := range in.LaunchTemplateConfigs {
		for _, o := range c.Overrides {
			zonesOf[string(o.InstanceType)]++
			sum++
			if dearest := *o.AvailabilityZone; dearest == "zone-5" || dearest == "zone-6" {
				t.Errorf("%s is asked for in %s", o.InstanceType, dearest)
			}
		}
	}
	if len(in.LaunchTemplateConfigs) != 2 || len(zonesOf) != 60 || sum != 300 {
		t.Errorf("%d pools of %d types in %d templates, want 300 of 60 in 2", sum, len(zonesOf), len(in.LaunchTemplateConfigs))
	}

	// A few too many: only the most expensive are left out.
	in = fleet.Request{CapacityType: "spot", Configs: []fleet.Config{{Template: "a", Overrides: ways(0, 51, 6)}}}.Input()
	if pools := in.LaunchTemplateConfigs[0].Overrides; len(pools) != 300 {
		t.Errorf("%d pools, want 300", len(pools))
	} else {
		for _, o := range pools {
			if *o.AvailabilityZone == "zone-5" && *o.Priority >= 45 {
				t.Errorf("%s is asked for in %s, and cheaper ones are left out", o.InstanceType, *o.AvailabilityZone)
			}
		}
	}

	var many []fleet.Config
	for n := 59; n >= 0; n-- {
		many = append(many, fleet.Config{Template: fmt.Sprint(n), Overrides: ways(n, n+1, 1)})
	}
	in = fleet.Request{CapacityType: "on-demand", Configs: many}.Input()
	if n := len(in.LaunchTemplateConfigs); n != 50 {
		t.Fatalf("%d templates, want 50", n)
	}
	for _, c := range in.LaunchTemplateConfigs {
		if *c.Overrides[0].Priority >= 50 {
			t.Errorf("%s is asked for, and cheaper ones are left out", c.Overrides[0].InstanceType)
		}
	}
}
