package discovery_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/discovery"
)

// TestSecurityGroupsAreCachedAsLongAsSet: the time is that of security groups alone.
func TestSecurityGroupsAreCachedAsLongAsSet(t *testing.T) {
	t.Attr("covers", "N307")
	w := newWorld(t, awstest.Options{})
	w.Finder = discovery.New(discovery.Options{
		EC2: ec2.NewFromConfig(awstest.Connect(t, w.Account)), Clock: w.clock, Addresses: w.addresses, Reservations: w.reservations, GroupTTL: 5 * time.Minute,
	})
	class := w.class(awsv1.EC2NodeClassSpec{
		SubnetSelectorTerms:        []awsv1.SubnetSelectorTerm{{Tags: tags("*", "*")}},
		SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{ID: "sg-1"}},
	})
	for _, step := range []struct {
		after           time.Duration
		groups, subnets int
	}{{0, 1, 1}, {time.Minute + time.Second, 1, 2}, {3*time.Minute + 58*time.Second, 1, 3}, {2 * time.Second, 2, 3}} {
		w.clock.Step(step.after)
		if _, err := w.SecurityGroups(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Subnets(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		if groups, subnets := len(w.Calls("DescribeSecurityGroups")), len(w.Calls("DescribeSubnets")); groups != step.groups || subnets != step.subnets {
			t.Errorf("after another %s: %d calls for groups and %d for subnets, want %d and %d", step.after, groups, subnets, step.groups, step.subnets)
		}
	}
}
