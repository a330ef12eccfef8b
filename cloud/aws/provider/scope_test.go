package provider_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/resourcetags"
)

// inGroup puts the class into a placement group, or takes it out of all for an empty name.
func (w *world) inGroup(name string) {
	w.t.Helper()
	w.resolve(func(c *awsv1.EC2NodeClass) {
		if c.Spec.PlacementGroupSelector = nil; name != "" {
			c.Spec.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: &name}
		}
	})
}

// closed are the on-demand offerings that cannot be had although the class has a subnet there, as type/zone letter/partition.
func (w *world) closed() string {
	w.t.Helper()
	types, err := w.InstanceTypes(w.t.Context(), w.pool)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, it := range types {
		for _, o := range it.Offerings {
			letter := o.Zone()[len(o.Zone())-1:]
			if o.CapacityType() == v1.CapacityTypeOnDemand && !o.Available && strings.Contains(awstest.Zones, letter) && it.Name != "m5.metal" {
				out = append(out, strings.TrimSuffix(it.Name+"/"+letter+"/"+o.Label(awsv1.LabelPlacementGroupPartition), "/"))
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// onDemand is a claim for an instance that is bought in the usual way, and not of metal.
func (w *world) onDemand(more ...v1.NodeSelectorRequirementWithMinValues) *v1.NodeClaim {
	return w.claim(append(more, cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand), cloud.In(corev1.LabelInstanceTypeStable, "m5.large", "c5.large"))...)
}

func TestWhatRunsOutInAGroupIsThereOutside(t *testing.T) {
	t.Attr("covers", "A288")
	w := newWorld(t, "m5.large")
	w.account.AddPlacementGroup(awstest.PlacementGroup{ID: "pg-1", Name: "near", Strategy: "cluster"})
	w.account.AddPlacementGroup(awstest.PlacementGroup{ID: "pg-2", Name: "parts", Strategy: "partition", Partitions: 2})
	w.inGroup("near")
	w.account.RunOut(awstest.Pool{})
	if _, err := w.Create(t.Context(), w.onDemand()); !cloud.IsInsufficientCapacity(err) {
		t.Fatal(err)
	}
	w.account.Refill(awstest.Pool{})
	w.account.Forget()
	if _, err := w.Create(t.Context(), w.onDemand()); !cloud.IsInsufficientCapacity(err) || len(w.account.Calls("CreateFleet")) != 0 {
		t.Errorf("in the group: %v after %d fleets", err, len(w.account.Calls("CreateFleet")))
	}
	if got := w.closed(); got != "m5.large/a m5.large/b m5.large/d" {
		t.Errorf("closed in the group are %q", got)
	}
	w.inGroup("")
	if got := w.closed(); got != "" {
		t.Errorf("closed outside are %q", got)
	}
	w.create(w.onDemand())

	w.inGroup("parts")
	w.account.RunOut(awstest.Pool{Zone: "us-east-1b"})
	if _, err := w.Create(t.Context(), w.onDemand(cloud.In(awsv1.LabelPlacementGroupPartition, "2"), cloud.In(corev1.LabelTopologyZone, "us-east-1b"))); !cloud.IsInsufficientCapacity(err) {
		t.Error(err)
	}
	if got := w.closed(); got != "m5.large/b/2" {
		t.Errorf("closed in the group of partitions are %q", got)
	}
	if _, err := w.Create(t.Context(), w.onDemand(cloud.In(corev1.LabelTopologyZone, "us-east-1b"))); !cloud.IsInsufficientCapacity(err) {
		t.Error(err)
	}
	if got := w.closed(); got != "m5.large/b/1 m5.large/b/2" {
		t.Errorf("after a launch that any partition would have done for, closed are %q", got)
	}
	w.inGroup("")
	if got := w.closed(); got != "" {
		t.Errorf("closed outside of the group of partitions are %q", got)
	}
	if _, err := w.Create(t.Context(), w.onDemand(cloud.In(corev1.LabelTopologyZone, "us-east-1b"))); !cloud.IsInsufficientCapacity(err) {
		t.Error(err)
	}
	w.inGroup("near")
	if got := w.closed(); got != "m5.large/a m5.large/b m5.large/d" {
		t.Errorf("closed in the first group are %q", got)
	}
	w.inGroup("parts")
	if got := w.closed(); got != "m5.large/b/1 m5.large/b/2" {
		t.Errorf("what ran out outside is not there in a group: closed are %q", got)
	}
}

func TestAFullSpreadGroupBlocksItself(t *testing.T) {
	t.Attr("covers", "A289")
	w := newWorld(t, "m5.large", "c5.large")
	for _, name := range []string{"apart", "other"} {
		w.account.AddPlacementGroup(awstest.PlacementGroup{ID: "pg-" + name, Name: name, Strategy: "spread"})
	}
	w.inGroup("apart")
	w.account.Refuse(awstest.Pool{InstanceType: "c5.large", Zone: "us-east-1a"}, awstest.Refusal{
		Code: "UnfulfillableCapacity", Message: "You have exceeded the limit of instances in this spread placement group.",
	})
	if zone := w.create(w.onDemand()).Labels[corev1.LabelTopologyZone]; zone == "us-east-1a" {
		t.Errorf("launched in %s", zone)
	}
	for _, group := range []struct{ name, closed string }{{"apart", "c5.large/a m5.large/a"}, {"other", ""}, {"", ""}} {
		w.inGroup(group.name)
		if got := w.closed(); got != group.closed {
			t.Errorf("group %q: closed are %q, want %q", group.name, got, group.closed)
		}
	}
}

func TestPoolsMayUseDifferentSubnetsOfAClass(t *testing.T) {
	t.Attr("covers", "A279")
	w := newWorld(t, "m5.large")
	zone := func(operator corev1.NodeSelectorOperator, zones ...string) v1.NodeSelectorRequirementWithMinValues {
		return v1.NodeSelectorRequirementWithMinValues{Key: corev1.LabelTopologyZone, Operator: operator, Values: zones}
	}
	for n, test := range []struct {
		pool   string
		wants  v1.NodeSelectorRequirementWithMinValues
		subnet string
	}{
		{"one", zone(corev1.NodeSelectorOpNotIn, "us-east-1a", "us-east-1d"), "subnet-b1"},
		{"two", zone(corev1.NodeSelectorOpIn, "us-east-1a"), "subnet-a1"},
		{"three", zone(corev1.NodeSelectorOpNotIn, "us-east-1a", "us-east-1b"), "subnet-d1"},
		{"one", zone(corev1.NodeSelectorOpNotIn, "us-east-1a", "us-east-1d"), "subnet-b1"},
		{"two", zone(corev1.NodeSelectorOpIn, "us-east-1a"), "subnet-a1"},
	} {
		claim := w.onDemand(test.wants)
		claim.Labels[v1.NodePoolLabelKey] = test.pool
		w.create(claim)
		if i := w.account.Instances()[n]; i.Subnet != test.subnet {
			t.Errorf("launch %d, of pool %q, is in %s, want %s", n+1, test.pool, i.Subnet, test.subnet)
		}
	}
}

// tagsBelow are the tags in a call, by resource type.
func tagsBelow(parameters map[string]string) map[string]map[string]string {
	out := map[string]map[string]string{}
	for n := 1; parameters[fmt.Sprintf("TagSpecification.%d.ResourceType", n)] != ""; n++ {
		tags := map[string]string{}
		for m := 1; parameters[fmt.Sprintf("TagSpecification.%d.Tag.%d.Key", n, m)] != ""; m++ {
			tags[parameters[fmt.Sprintf("TagSpecification.%d.Tag.%d.Key", n, m)]] = parameters[fmt.Sprintf("TagSpecification.%d.Tag.%d.Value", n, m)]
		}
		out[parameters[fmt.Sprintf("TagSpecification.%d.ResourceType", n)]] = tags
	}
	return out
}

func TestTagsReachEverything(t *testing.T) {
	t.Attr("covers", "A299")
	want := map[string]string{
		"team": "a", "Name": "mine", "karpenter.sh/nodepool": "pool", "karpenter.k8s.aws/ec2nodeclass": "default", "eks:eks-cluster-name": "test", "kubernetes.io/cluster/test": "owned",
	}
	for capacityType, more := range map[string]map[string]map[string]string{"on-demand": nil, "spot": {"spot-instances-request": want}} {
		w := newWorld(t, "m5.large")
		w.resolve(func(c *awsv1.EC2NodeClass) { c.Spec.Tags = map[string]string{"team": "a", "Name": "mine"} })
		w.create(w.claim(cloud.In(v1.CapacityTypeLabelKey, capacityType)))
		template := w.account.LaunchTemplates()[0]
		inTemplate := map[string]map[string]string{"network-interface": want}
		for kind, tags := range more {
			inTemplate[kind] = tags
		}
		for what, pair := range map[string][2]any{
			"fleet":             {map[string]map[string]string{"instance": want, "volume": want, "fleet": want}, tagsBelow(w.account.Calls("CreateFleet")[0].Parameters)},
			"in the template":   {inTemplate, tagsBelow(template.Data)},
			"template itself":   {want, template.Tags},
			"instance as it is": {want, w.account.Tags(w.account.Instances()[0].ID)},
		} {
			if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
				t.Errorf("%s, %s (-want +got)\n%s", capacityType, what, diff)
			}
		}
	}
	system := resourcetags.LaunchTags(nil, "test", "pool", "default")
	for key := range system {
		if diff := cmp.Diff(system, resourcetags.LaunchTags(map[string]string{key: "mine"}, "test", "pool", "default")); diff != "" {
			t.Errorf("a tag of the user wins (-want +got)\n%s", diff)
		}
		w := newWorld(t, "m5.large")
		w.resolve(func(c *awsv1.EC2NodeClass) { c.Spec.Tags = map[string]string{key: "mine"} })
		if _, err := w.Create(t.Context(), w.claim()); !cloud.IsNodeClassNotReady(err) || len(w.account.Calls("CreateFleet")) != 0 {
			t.Errorf("a class with tag %s: %v", key, err)
		}
	}
}

// TestWhatKeepsFailingIsTriedLessAndLess asks for the same every minute, and looks at which of them EC2 was asked.
func TestWhatKeepsFailingIsTriedLessAndLess(t *testing.T) {
	w := newWorld(t, "m5.large")
	w.account.RunOut(awstest.Pool{Zone: "us-east-1a"})
	ask := func(minutes int) (asked []int) {
		for minute := range minutes {
			w.account.Forget()
			_, err := w.Create(t.Context(), w.onDemand(cloud.In(corev1.LabelTopologyZone, "us-east-1a")))
			if len(w.account.Calls("CreateFleet")) > 0 {
				asked = append(asked, minute)
			}
			if err == nil {
				return asked
			}
			if !cloud.IsInsufficientCapacity(err) {
				t.Fatal(err)
			}
			w.clock.Step(time.Minute)
		}
		return asked
	}
	if diff := cmp.Diff([]int{0, 3, 9, 21, 45}, ask(90)); diff != "" {
		t.Errorf("minutes (-want +got)\n%s", diff)
	}
	w.account.Refill(awstest.Pool{Zone: "us-east-1a"})
	if diff := cmp.Diff([]int{3}, ask(90)); diff != "" {
		t.Errorf("once there is capacity, minutes (-want +got)\n%s", diff)
	}
	w.account.RunOut(awstest.Pool{Zone: "us-east-1a"})
	if diff := cmp.Diff([]int{0, 3, 9}, ask(10)); diff != "" {
		t.Errorf("after a success, minutes (-want +got)\n%s", diff)
	}
}
