package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/test/awscluster"
)

// awsDrift is a class that changes under its node.
type awsDrift struct {
	name           string
	before, change func(*awsv1.EC2NodeClass)
}

// awsDrifts are the kinds of changes that replace nodes.
func awsDrifts() []awsDrift {
	yes, public := true, true
	data, family := "#!/bin/bash\necho changed", "AL2023"
	device, size := "/dev/xvda", resource.MustParse("30Gi")
	hops := int64(3)
	one, two := "one", "two"
	image := func(id string) func(*awsv1.EC2NodeClass) {
		return func(c *awsv1.EC2NodeClass) {
			c.Spec.AMISelectorTerms, c.Spec.AMIFamily = []awsv1.AMISelectorTerm{{ID: id}}, &family
		}
	}
	subnet := func(id string) func(*awsv1.EC2NodeClass) {
		return func(c *awsv1.EC2NodeClass) { c.Spec.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{ID: id}} }
	}
	profile := func(name *string) func(*awsv1.EC2NodeClass) {
		return func(c *awsv1.EC2NodeClass) { c.Spec.Role, c.Spec.InstanceProfile = "", name }
	}
	return []awsDrift{
		{"image", image("ami-0a23"), image("ami-0a24")},
		{"security-group", nil, func(c *awsv1.EC2NodeClass) {
			c.Spec.SecurityGroupSelectorTerms = []awsv1.SecurityGroupSelectorTerm{{ID: "sg-1"}}
		}},
		{"subnet", subnet("subnet-a1"), subnet("subnet-b1")},
		{"user-data", nil, func(c *awsv1.EC2NodeClass) { c.Spec.UserData = &data }},
		{"tags", nil, func(c *awsv1.EC2NodeClass) { c.Spec.Tags = map[string]string{"team": "b"} }},
		{"metadata", nil, func(c *awsv1.EC2NodeClass) { c.Spec.MetadataOptions.HTTPPutResponseHopLimit = &hops }},
		{"disks", nil, func(c *awsv1.EC2NodeClass) {
			c.Spec.BlockDeviceMappings = []*awsv1.BlockDeviceMapping{{DeviceName: &device, EBS: &awsv1.BlockDevice{VolumeSize: &size}}}
		}},
		{"monitoring", nil, func(c *awsv1.EC2NodeClass) { c.Spec.DetailedMonitoring = &yes }},
		{"family", nil, func(c *awsv1.EC2NodeClass) {
			c.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "bottlerocket@latest"}}
		}},
		{"kubelet", nil, func(c *awsv1.EC2NodeClass) { c.Spec.Kubelet = kubeletOf(map[string]any{"maxPods": 11}) }},
		{"interfaces", nil, func(c *awsv1.EC2NodeClass) { c.Spec.AssociatePublicIPAddress = &public }},
		{"profile", profile(&one), profile(&two)},
		{"role", nil, func(c *awsv1.EC2NodeClass) { c.Spec.Role = "OtherRole" }},
	}
}

// TestAWSDriftReplacesNodes: after any change of a class its nodes are replaced by nodes that follow the change.
func TestAWSDriftReplacesNodes(t *testing.T) {
	t.Attr("covers", "A370")
	t.Parallel()
	w := begin(t)
	a := w.account("m5.large")
	w.furnish(a.Account)
	a.Account.AddImage(awstest.Image{ID: "ami-0a24", Name: "golden-al2023-2", Architecture: "x86_64", Owner: "amazon"})
	a.Account.AddRole("OtherRole")
	a.Joiner.Grant("OtherRole")
	for _, name := range []string{"one", "two"} {
		a.Account.AddProfile(awstest.Profile{Name: name, Roles: []string{awstest.Role}})
	}
	w.controller(a.Flags()...)
	pods, classes, old := map[string]int32{}, map[string]*awsv1.EC2NodeClass{}, map[string]ec2Node{}
	for _, d := range awsDrifts() {
		class := awsClass(d.name)
		if d.before != nil {
			d.before(class)
		}
		classes[d.name], pods[d.name] = class, 1
		w.create(class, awsPool(d.name, []string{"m5.large"}), awsPods(d.name, 1))
	}
	w.awaitCases(pods)
	for _, d := range awsDrifts() {
		w.await("the node of "+d.name+" is as expected", patience, func() string {
			nodes := w.nodesOf(a, d.name)
			if len(nodes) != 1 {
				return fmt.Sprintf("%d nodes", len(nodes))
			}
			old[d.name] = nodes[0]
			return ""
		})
	}
	for _, d := range awsDrifts() {
		change(w, classes[d.name], d.change)
	}
	w.await("every node is replaced", awsPatience, func() string {
		var left []string
		for _, d := range awsDrifts() {
			if before := old[d.name]; w.replaced(a, d.name, &before) != "" {
				left = append(left, d.name+": "+w.replaced(a, d.name, &before))
			}
		}
		slices.Sort(left)
		return strings.Join(left, ", ")
	})
	w.awaitCases(pods)
}

// replaced describes how the node of a case is not replaced by another one; "" if it is.
func (w *harness) replaced(a *awscluster.AWS, name string, before *ec2Node) string {
	w.t.Helper()
	nodes := w.nodesOf(a, name)
	node := corev1.Node{ObjectMeta: before.ObjectMeta}
	switch {
	case len(nodes) != 1 || w.get(&node):
		return fmt.Sprintf("%d nodes in order", len(nodes))
	case nodes[0].instance.ID == before.instance.ID:
		return "the old one"
	}
	for _, i := range a.Account.Instances() {
		if i.ID == before.instance.ID && i.State != "terminated" && i.State != "shutting-down" {
			return "the old instance is " + i.State
		}
	}
	return ""
}
