package provider_test

import (
	"strings"
	"testing"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
)

// TestEveryZoneOfALargeRegion lets a claim take whatever there is, in a region with six zones: EC2 takes 300 pools in one call, and
// sixty types in six zones are more.
func TestEveryZoneOfALargeRegion(t *testing.T) {
	w := newWorld(t)
	for i, letter := range "abcdef" {
		w.account.AddSubnet(awstest.Subnet{
			ID: "subnet-" + string(letter) + "9", Zone: "us-east-1" + string(letter), ZoneID: "use1-az" + string(rune('1'+i)), Free: 5000,
			Tags: map[string]string{"karpenter.sh/discovery": "test"},
		})
	}
	w.resolve(func(c *awsv1.EC2NodeClass) { c.Generation++ })
	for _, capacityType := range []string{"on-demand", "spot"} {
		w.account.Forget()
		w.create(w.claim(cloud.In(v1.CapacityTypeLabelKey, capacityType)))
		types := map[string]int{}
		zones := map[string]int{}
		for key, value := range w.account.Calls("CreateFleet")[0].Parameters {
			switch {
			case strings.HasSuffix(key, ".InstanceType"):
				types[value]++
			case strings.HasSuffix(key, ".AvailabilityZone"):
				zones[value]++
			}
		}
		if len(types) != 60 || len(zones) != 6 {
			t.Errorf("%s: asked for %d types in %v, want 60 in six zones", capacityType, len(types), zones)
		}
	}
}
