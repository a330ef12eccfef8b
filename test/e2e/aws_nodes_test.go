package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
)

// awsCase is a workload with a pool and a class, and the expected properties of its nodes.
type awsCase struct {
	name  string
	types []string
	// replicas is 1 if it is 0; nodes is on how many nodes they are, 1 if it is 0.
	replicas int32
	nodes    int
	class    func(*awsv1.EC2NodeClass)
	pool     func(*v1.NodePool)
	pod      func(*corev1.PodTemplateSpec)
	// wrong reports unexpected properties of a node.
	wrong func(*ec2Node) string
}

// expect describes the expectation for failures.
func expect(ok bool, what string) string {
	if ok {
		return ""
	}
	return "want " + what
}

// deviceCases are pods that need hardware.
func deviceCases() []awsCase {
	has := func(name corev1.ResourceName, image string) func(*ec2Node) string {
		return func(n *ec2Node) string {
			q := n.Status.Allocatable[name]
			return expect(!q.IsZero() && strings.Contains(n.instance.ImageName, image), string(name)+" and an image with "+image+", not "+n.instance.ImageName)
		}
	}
	all := []string{"m5.large", "g4dn.xlarge", "inf1.xlarge", "dl1.24xlarge", "c5n.18xlarge"}
	return []awsCase{
		{name: "gpu", types: all, pod: wants("nvidia.com/gpu"), wrong: has("nvidia.com/gpu", "nvidia")},
		{name: "neuron", types: all, pod: wants("aws.amazon.com/neuron"), wrong: has("aws.amazon.com/neuron", "neuron")},
		{name: "gaudi", types: all, pod: wants("habana.ai/gaudi"), wrong: has("habana.ai/gaudi", "")},
		{name: "efa", types: all, pod: wants("vpc.amazonaws.com/efa"), wrong: has("vpc.amazonaws.com/efa", "standard")},
		{name: "pod-eni", types: all, pod: wants("vpc.amazonaws.com/pod-eni"), wrong: has("vpc.amazonaws.com/pod-eni", "")},
	}
}

// networkCases are about names, addresses and zones.
func networkCases() []awsCase {
	in := func(subnet string) func(*awsv1.EC2NodeClass) {
		return func(c *awsv1.EC2NodeClass) { c.Spec.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{ID: subnet}} }
	}
	public := func(n *ec2Node) bool {
		return slices.ContainsFunc(n.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeExternalIP })
	}
	withPublic := func(subnet string, public bool) func(*awsv1.EC2NodeClass) {
		return func(c *awsv1.EC2NodeClass) { in(subnet)(c); c.Spec.AssociatePublicIPAddress = &public }
	}
	return []awsCase{
		{name: "by-address", wrong: func(n *ec2Node) string { return expect(strings.HasPrefix(n.Name, "ip-10-"), "a name by the address") }},
		{name: "by-id", class: in("subnet-named"), wrong: func(n *ec2Node) string { return expect(strings.HasPrefix(n.Name, n.instance.ID), "a name by the id") }},
		{name: "public", class: in("subnet-public"), wrong: func(n *ec2Node) string { return expect(public(n), "a public address") }},
		{name: "private", wrong: func(n *ec2Node) string { return expect(!public(n), "no public address") }},
		{name: "not-public", class: withPublic("subnet-public", false), wrong: func(n *ec2Node) string { return expect(!public(n), "no public address") }},
		{name: "public-after-all", class: withPublic("subnet-named", true), wrong: func(n *ec2Node) string { return expect(public(n), "a public address") }},
		{name: "local-zone", class: in("subnet-boston"), wrong: func(n *ec2Node) string {
			return expect(n.Labels[corev1.LabelTopologyZone] == "us-east-1-bos-1a" && n.instance.Subnet == "subnet-boston", "the zone us-east-1-bos-1a")
		}},
	}
}

// kubeletCases are about how many pods there can be.
func kubeletCases() []awsCase {
	with := func(fields map[string]any) func(*awsv1.EC2NodeClass) {
		return func(c *awsv1.EC2NodeClass) { c.Spec.Kubelet = kubeletOf(fields) }
	}
	pods := func(want int64) func(*ec2Node) string {
		return func(n *ec2Node) string { return expect(n.pods() == want, "capacity for other numbers of pods") }
	}
	return []awsCase{
		{name: "by-interfaces", wrong: pods(20)}, // two interfaces of three, for one is reserved
		{name: "by-hand", class: with(map[string]any{"maxPods": 42}), wrong: pods(42)},
		{name: "by-expression", class: with(map[string]any{"maxPods": "vcpus * 7"}), wrong: pods(14)},
		{name: "per-core", types: []string{"m5.large"}, replicas: 8, nodes: 2, class: with(map[string]any{"podsPerCore": 2}), wrong: pods(4)},
		{
			name: "kubelet-reserves", class: with(map[string]any{"kubeReserved": map[string]string{"cpu": "300m", "memory": "1Gi"}, "evictionHard": map[string]string{"memory.available": "5%"}}),
			wrong: func(n *ec2Node) string {
				return expect(n.Status.Allocatable.Cpu().MilliValue() == 1700, "1700m allocatable")
			},
		},
	}
}

// imageCases are about images and user data.
func imageCases() []awsCase {
	alias := func(name string, data string) func(*awsv1.EC2NodeClass) {
		return func(c *awsv1.EC2NodeClass) {
			c.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: name}}
			if data != "" {
				c.Spec.UserData = &data
			}
		}
	}
	al2 := func(data string, family string) func(*awsv1.EC2NodeClass) {
		return func(c *awsv1.EC2NodeClass) {
			c.Spec.AMISelectorTerms, c.Spec.AMIFamily, c.Spec.UserData = []awsv1.AMISelectorTerm{{ID: "ami-0a12"}}, &family, &data
		}
	}
	ran := func(text string) func(*ec2Node) string {
		return func(n *ec2Node) string {
			return expect(slices.ContainsFunc(n.boot.Ran, func(s string) bool { return strings.Contains(s, text) }), "the instance to run "+text)
		}
	}
	image := func(id string) func(*ec2Node) string {
		return func(n *ec2Node) string { return expect(n.instance.Image == id, "image "+id) }
	}
	windows := func(p *v1.NodePool) {
		p.Spec.Template.Spec.Requirements[2] = in(corev1.LabelOSStable, "windows")
	}
	custom := "#!/bin/bash\n/etc/eks/bootstrap.sh test --kubelet-extra-args '--register-with-taints=karpenter.sh/unregistered:NoExecute " +
		"--node-labels=" + caseLabel + "=a379-custom'"
	return []awsCase{
		{name: "with-v", class: alias("bottlerocket@v1.49.0", ""), wrong: image("ami-0b49")},
		{name: "without-v", class: alias("bottlerocket@1.49.0", ""), wrong: image("ami-0b49")},
		{name: "arn", class: func(c *awsv1.EC2NodeClass) {
			c.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{SSMParameter: "arn:aws:ssm:us-east-1:" + awstest.AccountID + ":parameter/golden"}}
			family := "AL2023"
			c.Spec.AMIFamily = &family
		}, wrong: image("ami-0a23")},
		{name: "al2", class: al2("#!/bin/bash\necho from-the-user", "AL2"), wrong: ran("from-the-user")},
		{name: "al2023", class: alias("al2023@latest", "#!/bin/bash\necho from-the-user"), wrong: ran("from-the-user")},
		{name: "bottlerocket", class: alias("bottlerocket@latest", "[settings]\nmotd = 'from-the-user'"), wrong: ran("from-the-user")},
		{name: "windows", class: alias("windows2022@latest", "Write-Host from-the-user"), pool: windows, wrong: ran("from-the-user")},
		{name: "custom", class: al2(custom, "Custom"), wrong: func(n *ec2Node) string {
			return expect(n.boot.Cluster == awsCluster, "an instance that joins by itself")
		}},
	}
}

// instanceCases are about what can be seen on instances.
func instanceCases() []awsCase {
	return []awsCase{
		{name: "disks", class: func(c *awsv1.EC2NodeClass) {
			name, kind, iops, throughput, yes, no := "/dev/xvda", "gp3", int64(4000), int64(200), true, "optional"
			hops, size := int64(3), resource.MustParse("40Gi")
			c.Spec.BlockDeviceMappings = []*awsv1.BlockDeviceMapping{{DeviceName: &name, EBS: &awsv1.BlockDevice{
				VolumeSize: &size, VolumeType: &kind, IOPS: &iops, Throughput: &throughput, Encrypted: &yes,
			}}}
			c.Spec.MetadataOptions = &awsv1.MetadataOptions{HTTPPutResponseHopLimit: &hops, HTTPTokens: &no}
		}, wrong: func(n *ec2Node) string {
			for key, want := range map[string]string{
				"BlockDeviceMapping.1.Ebs.VolumeSize": "40", "BlockDeviceMapping.1.Ebs.Iops": "4000", "BlockDeviceMapping.1.Ebs.Throughput": "200",
				"BlockDeviceMapping.1.Ebs.Encrypted": "true", "MetadataOptions.HttpPutResponseHopLimit": "3", "MetadataOptions.HttpTokens": "optional",
			} {
				if n.instance.Data[key] != want {
					return key + " is " + n.instance.Data[key] + ", want " + want
				}
			}
			disk := n.Status.Capacity[corev1.ResourceEphemeralStorage]
			return expect(disk.Value() == 40<<30, "40Gi of disk on the node")
		}},
		{name: "tags", class: func(c *awsv1.EC2NodeClass) { c.Spec.Tags = map[string]string{"team": "a"} }, wrong: func(n *ec2Node) string {
			for kind, tags := range n.instance.OtherTags {
				if tags["team"] != "a" || tags["eks:eks-cluster-name"] != awsCluster || tags[v1.NodePoolLabelKey] != "tags" {
					return "the tags of the " + kind + " are incomplete"
				}
			}
			return expect(n.instance.OtherTags["volume"] != nil && n.instance.OtherTags["network-interface"] != nil, "tags of volumes and interfaces")
		}},
	}
}

// TestAWSNodesFollowTheirClass: what a class, a pool and a pod require is set on the instance and, by its user data,
// on the node.
func TestAWSNodesFollowTheirClass(t *testing.T) {
	t.Attr("covers", "A358 A359 A360 A365 A366 A367 A369 A377 A378 A379")
	t.Parallel()
	w := begin(t)
	a := w.account("m5.large", "m5.xlarge", "g4dn.xlarge", "inf1.xlarge", "dl1.24xlarge", "c5n.18xlarge")
	w.furnish(a.Account)
	cases := slices.Concat(deviceCases(), networkCases(), kubeletCases(), imageCases(), instanceCases())
	pods, total := map[string]int32{}, 0
	for _, c := range cases {
		d := awsPods(c.name, max(1, c.replicas))
		if c.pod != nil {
			c.pod(&d.Spec.Template)
		}
		w.create(d)
		pods[c.name] = *d.Spec.Replicas
		total += int(*d.Spec.Replicas)
	}
	// All pods of a case are planned together. Of a node that is not launched yet it is only known that it has capacity for the pods that
	// it was planned for: pods that come between its plan and its launch get another one.
	w.awaitRefused(total)
	for _, c := range cases {
		class, pool := awsClass(c.name), awsPool(c.name, c.types)
		if len(c.types) == 0 {
			pool = awsPool(c.name, []string{"m5.large"})
		}
		if c.class != nil {
			c.class(class)
		}
		if c.pool != nil {
			c.pool(pool)
		}
		w.create(class, pool)
	}
	w.controller(append(a.Flags(), "--aws-feature-gates=NodeClassCEL=true", "--reserved-enis=1")...)
	w.awaitCases(pods)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			nodes := w.nodesOf(a, c.name)
			if len(nodes) != max(1, c.nodes) {
				t.Errorf("the pods are on %d nodes, want %d", len(nodes), max(1, c.nodes))
			}
			for _, n := range nodes {
				if wrong := c.wrong(&n); wrong != "" {
					t.Errorf("node %s (%s, image %s, capacity %v, ran %q): %s", n.Name, n.instance.Type, n.instance.ImageName, n.Status.Capacity, n.boot.Ran, wrong)
				}
			}
		})
	}
}

// furnish adds to the account what the cases need.
func (w *harness) furnish(a *awstest.Account) {
	version := fmt.Sprintf("1.%d", kubernetesMinor(w.t))
	a.AddSubnet(awstest.Subnet{ID: "subnet-named", Zone: "us-east-1a", ZoneID: "use1-az1", Free: 500, ResourceNames: true})
	a.AddSubnet(awstest.Subnet{ID: "subnet-public", Zone: "us-east-1b", ZoneID: "use1-az2", Free: 500, PublicAddresses: true})
	a.AddSubnet(awstest.Subnet{ID: "subnet-boston", Zone: "us-east-1-bos-1a", ZoneID: "use1-bos1-az1", Free: 500})
	a.AddOffering("m5.large", "us-east-1-bos-1a", 0)
	for id, name := range map[string]string{
		"ami-0a12": "amazon-eks-node-1.32-v20260101", "ami-0a23": "golden-al2023", "ami-0b49": "bottlerocket-aws-k8s-" + version + "-x86_64-v1.49.0-abcdef",
		"ami-0f22": "Windows_Server-2022-English-Core-EKS_Optimized-" + version + "-2026.01.01",
	} {
		a.AddImage(awstest.Image{ID: id, Name: name, Architecture: "x86_64", Owner: "amazon", Created: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	}
	a.SetParameter("/aws/service/bottlerocket/aws-k8s-"+version+"/x86_64/1.49.0/image_id", "ami-0b49")
	a.SetParameter("/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-"+version+"/image_id", "ami-0f22")
	a.SetParameter("arn:aws:ssm:us-east-1:"+awstest.AccountID+":parameter/golden", "ami-0a23")
}
