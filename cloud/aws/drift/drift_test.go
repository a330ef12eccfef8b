package drift_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/drift"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
)

func annotated(hash, version string) map[string]string {
	out := map[string]string{}
	if hash != "" {
		out[awsv1.AnnotationHash] = hash
	}
	if version != "" {
		out[awsv1.AnnotationHashVersion] = version
	}
	return out
}

func TestStatic(t *testing.T) {
	t.Attr("covers", "A193 A194")
	for _, test := range []struct {
		name         string
		class, claim map[string]string
		want         cloud.DriftReason
	}{
		{"another hash", annotated("1", "v6"), annotated("2", "v6"), drift.NodeClass},
		{"the same hash", annotated("1", "v6"), annotated("1", "v6"), ""},
		{"two versions", annotated("1", "v6"), annotated("2", "v5"), ""},
		{"no hash of the class", annotated("", "v6"), annotated("2", "v6"), ""},
		{"no hash of the claim", annotated("1", "v6"), annotated("", "v6"), ""},
		{"no version of the claim", annotated("1", "v6"), annotated("2", ""), ""},
		{"no versions", annotated("1", ""), annotated("2", ""), ""},
		{"nothing", nil, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			class, claim := &awsv1.EC2NodeClass{}, &v1.NodeClaim{}
			class.Annotations, claim.Annotations = test.class, test.claim
			if got := drift.Static(class, claim); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestImage(t *testing.T) {
	t.Attr("covers", "A195")
	it := instancetype.Resolve(instancetype.Input{Description: instancetype.Description{Name: "m5.large", Architectures: []string{"x86_64"}}})
	arch := func(id, arch string) awsv1.AMI {
		return awsv1.AMI{ID: id, Requirements: []corev1.NodeSelectorRequirement{{Key: corev1.LabelArchStable, Operator: "In", Values: []string{arch}}}}
	}
	class, claim := &awsv1.EC2NodeClass{}, &v1.NodeClaim{}
	if _, err := drift.Image(class, claim, it); err == nil {
		t.Error("a status without images is no error")
	}
	class.Status.AMIs = []awsv1.AMI{arch("ami-arm", "arm64"), arch("ami-new", "amd64"), arch("ami-old", "amd64")}
	if _, err := drift.Image(class, claim, it); err == nil {
		t.Error("a claim without image is no error")
	}
	for id, want := range map[string]cloud.DriftReason{"ami-new": "", "ami-old": drift.AMI, "ami-arm": drift.AMI, "ami-gone": drift.AMI} {
		claim.Status.ImageID = id
		if got, err := drift.Image(class, claim, it); got != want || err != nil {
			t.Errorf("%s: got %q, %v", id, got, err)
		}
	}
	if _, err := drift.Image(class, claim, nil); err == nil {
		t.Error("an unknown type is no error")
	}
	class.Status.AMIs = class.Status.AMIs[:1]
	if got, err := drift.Image(class, claim, it); got != drift.AMI || err != nil {
		t.Errorf("no image for the type: %q, %v", got, err)
	}
}

func TestNetwork(t *testing.T) {
	t.Attr("covers", "A196 A197 A202 A203 A204")
	status := awsv1.EC2NodeClassStatus{
		SecurityGroups: []awsv1.SecurityGroup{{ID: "sg-1"}, {ID: "sg-2"}}, Subnets: []awsv1.Subnet{{ID: "subnet-1"}, {ID: "subnet-2"}},
		CapacityReservations: []awsv1.CapacityReservation{{ID: "cr-1"}},
	}
	fits := drift.Instance{SecurityGroupIDs: []string{"sg-2", "sg-1"}, SubnetID: "subnet-2"}
	with := func(change func(*drift.Instance)) drift.Instance { in := fits; change(&in); return in }
	for _, test := range []struct {
		name         string
		instance     drift.Instance
		label, group string
		want         cloud.DriftReason
	}{
		{"nothing", fits, "", "", ""},
		{"a group too few", with(func(i *drift.Instance) { i.SecurityGroupIDs = []string{"sg-1"} }), "", "", drift.SecurityGroup},
		{"a group too many", with(func(i *drift.Instance) { i.SecurityGroupIDs = []string{"sg-1", "sg-2", "sg-3"} }), "", "", drift.SecurityGroup},
		{"another group", with(func(i *drift.Instance) { i.SecurityGroupIDs = []string{"sg-1", "sg-3"} }), "", "", drift.SecurityGroup},
		{"another subnet", with(func(i *drift.Instance) { i.SubnetID = "subnet-3" }), "", "", drift.Subnet},
		{"another reservation", with(func(i *drift.Instance) { i.ReservationID = "cr-2" }), "", "", drift.CapacityReservation},
		{"the reservation", with(func(i *drift.Instance) { i.ReservationID = "cr-1" }), "", "", ""},
		{"fallen back to on-demand", fits, "", "", ""},
		{"another placement group", fits, "pg-1", "pg-2", drift.PlacementGroup},
		{"a placement group no more", fits, "pg-1", "", drift.PlacementGroup},
		{"a placement group at last", fits, "", "pg-2", drift.PlacementGroup},
		{"the placement group", fits, "pg-1", "pg-1", ""},
		{"the first of several", drift.Instance{ReservationID: "cr-2"}, "pg-1", "", drift.SecurityGroup},
	} {
		t.Run(test.name, func(t *testing.T) {
			class, claim := &awsv1.EC2NodeClass{Status: status}, &v1.NodeClaim{}
			if test.label != "" {
				claim.Labels = map[string]string{awsv1.LabelPlacementGroupID: test.label}
			}
			if got, err := drift.Network(class, claim, test.instance, test.group); got != test.want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestEmptyStatus(t *testing.T) {
	t.Attr("covers", "A198")
	for name, status := range map[string]awsv1.EC2NodeClassStatus{
		"no groups": {Subnets: []awsv1.Subnet{{ID: "subnet-1"}}}, "no subnets": {SecurityGroups: []awsv1.SecurityGroup{{ID: "sg-1"}}},
	} {
		if got, err := drift.Network(&awsv1.EC2NodeClass{Status: status}, &v1.NodeClaim{}, drift.Instance{SecurityGroupIDs: []string{"sg-1"}, SubnetID: "subnet-1"}, ""); err == nil || got != "" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
