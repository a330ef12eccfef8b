package awstest

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

// Role is the IAM role that initially exists.
const Role = "KarpenterNodeRole"

// catalog is the source of instance types and prices.
const catalog = "aws/us-east-1"

// Zones are the letters of the zones in which the account initially has a subnet. Most instance types are offered there.
const Zones = "abd"

// New returns an account with all resources that a cluster needs: a subnet in each of three zones, two security groups, a cluster,
// a role, and the images of AL2023 and Bottlerocket with their parameters. Subnets and groups have the tag
// karpenter.sh/discovery with the cluster's name.
func New(o Options) *Account {
	a := &Account{
		shutdown: cmp.Or(o.Shutdown, shutdownTakes),
		clock:    o.Clock, tables: tables(), params: map[string]string{}, roles: []string{Role},
		fleets: map[string]any{}, tags: map[string]map[string]string{},
		cluster: Cluster{Name: cmp.Or(o.Cluster, "test"), Version: cmp.Or(o.Version, "1.34")},
	}
	if a.clock == nil {
		a.clock = clock.RealClock{}
	}
	a.region, a.types = loadTypes(catalog, o.Types)
	if o.Region != "" {
		a.move(o.Region)
	}
	a.cluster.Endpoint = "https://" + a.cluster.Name + ".eks.example.com"
	a.cluster.ServiceIPv4CIDR = "10.100.0.0/16"
	discovery := map[string]string{"karpenter.sh/discovery": a.cluster.Name}
	for i, letter := range Zones {
		a.subnets = append(a.subnets, &Subnet{
			ID: fmt.Sprintf("subnet-%c1", letter), Zone: a.region + string(letter), ZoneID: fmt.Sprintf("use1-az%d", i+1),
			Free: 1000 - i, IPv6: fmt.Sprintf("2001:db8:0:%d::/64", i+1), Tags: discovery,
		})
	}
	a.groups = []SecurityGroup{
		{ID: "sg-1", Name: "nodes", Tags: discovery}, {ID: "sg-2", Name: "cluster", Tags: discovery},
	}
	a.publish()
	return a
}

// move moves all offerings to another region.
func (a *Account) move(region string) {
	there := func(zone string) string { return region + strings.TrimPrefix(zone, a.region) }
	for i := range a.types {
		t := &a.types[i]
		spot := map[string]float64{}
		for zone, price := range t.spot {
			spot[there(zone)] = price
		}
		t.spot = spot
		for n := range t.zones {
			t.zones[n] = there(t.zones[n])
		}
	}
	a.region = region
}

// publish adds the images of Amazon and the parameters that refer to them.
func (a *Account) publish() {
	add := func(path, name, arch string) {
		id := fmt.Sprintf("ami-%s", shortHash(name))
		a.params[path] = id
		a.images = append(a.images, Image{
			ID: id, Name: name, Architecture: arch, Owner: "amazon", Created: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		})
	}
	for _, arch := range []string{"x86_64", "arm64"} {
		for _, variant := range []string{"standard", "nvidia", "neuron"} {
			if arch == "arm64" && variant == "neuron" {
				continue
			}
			name := fmt.Sprintf("amazon-eks-node-al2023-%s-%s-%s-v20260101", arch, variant, a.cluster.Version)
			base := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/%s/", a.cluster.Version, arch, variant)
			add(base+"recommended/image_id", name, arch)
			a.params[base+name+"/image_id"] = a.params[base+"recommended/image_id"]
		}
		for _, kind := range []string{"", "-nvidia"} {
			base := fmt.Sprintf("/aws/service/bottlerocket/aws-k8s-%s%s/%s/", a.cluster.Version, kind, arch)
			add(base+"latest/image_id", fmt.Sprintf("bottlerocket-aws-k8s-%s%s-%s-v1.50.0-abcdef", a.cluster.Version, kind, arch), arch)
		}
	}
}

// tables are the calls of each service.
func tables() map[string]map[string]call {
	return map[string]map[string]call{
		"EC2": {
			"DescribeInstanceTypes":         describeInstanceTypes,
			"DescribeInstanceTypeOfferings": describeInstanceTypeOfferings,
			"DescribeSpotPriceHistory":      describeSpotPriceHistory,
			"DescribeSubnets":               describeSubnets,
			"DescribeSecurityGroups":        describeSecurityGroups,
			"DescribeImages":                describeImages,
			"DescribeCapacityReservations":  describeCapacityReservations,
			"DescribePlacementGroups":       describePlacementGroups,
			"DescribeLaunchTemplates":       describeLaunchTemplates,
			"CreateLaunchTemplate":          createLaunchTemplate,
			"DeleteLaunchTemplate":          deleteLaunchTemplate,
			"CreateFleet":                   createFleet,
			"RunInstances":                  runInstances,
			"DescribeInstances":             describeInstances,
			"DescribeInstanceStatus":        describeInstanceStatus,
			"TerminateInstances":            terminateInstances,
			"RebootInstances":               rebootInstances,
			"CreateTags":                    createTags,
		},
		"AmazonSSM":           {"GetParameter": getParameter},
		"AmazonSQS":           {"GetQueueUrl": getQueueURL, "ReceiveMessage": receiveMessage, "DeleteMessageBatch": deleteMessageBatch},
		"ARC":                 {"GetManagedResource": getManagedResource},
		"EKS":                 {"DescribeCluster": describeCluster},
		"AWSPriceListService": {"GetProducts": getProducts},
		"IAM": {
			"GetInstanceProfile":            getInstanceProfile,
			"CreateInstanceProfile":         createInstanceProfile,
			"AddRoleToInstanceProfile":      addRoleToInstanceProfile,
			"RemoveRoleFromInstanceProfile": removeRoleFromInstanceProfile,
			"DeleteInstanceProfile":         deleteInstanceProfile,
			"ListInstanceProfiles":          listInstanceProfiles,
		},
	}
}
