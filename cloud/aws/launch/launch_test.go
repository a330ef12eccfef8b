package launch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/launch"
)

// offer is an offering in zone a; a reserved one is "reserved/<id>/<type>/<interruptible>/<capacity>".
func offer(how string, price float64) cloud.Offering {
	parts := strings.Split(how, "/")
	o := cloud.Offering{Price: price, Available: true, Requirements: []v1.NodeSelectorRequirementWithMinValues{
		cloud.In(v1.CapacityTypeLabelKey, parts[0]), cloud.In(corev1.LabelTopologyZone, "a"),
	}}
	if len(parts) == 1 {
		return o
	}
	o.Requirements = append(o.Requirements, cloud.In(awsv1.LabelCapacityReservationID, parts[1]),
		cloud.In(awsv1.LabelCapacityReservationType, parts[2]), cloud.In(awsv1.LabelCapacityReservationInterruptible, parts[3]))
	if _, err := fmt.Sscan(parts[4], &o.ReservationCapacity); err != nil {
		panic(err)
	}
	return o
}

// kind is an instance type with four CPUs, and accelerators if its name begins with p. These and bare metal are exotic.
func kind(name string, offerings ...cloud.Offering) *cloud.InstanceType {
	family, _, _ := strings.Cut(name, ".")
	t := &cloud.InstanceType{
		Name: name, Offerings: offerings, Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), awsv1.ResourceNVIDIAGPU: resource.MustParse("0")},
		Requirements: []v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelInstanceTypeStable, name), cloud.In(awsv1.LabelInstanceFamily, family)},
	}
	if strings.HasPrefix(name, "p") {
		t.Capacity[awsv1.ResourceNVIDIAGPU] = resource.MustParse("8")
	}
	t.Exotic = strings.HasPrefix(name, "p") || strings.Contains(name, "metal")
	return t
}

// claim asks for capacity types and more.
func claim(capacityTypes string, more ...v1.NodeSelectorRequirementWithMinValues) *v1.NodeClaim {
	c := &v1.NodeClaim{}
	if capacityTypes != "" {
		c.Spec.Requirements = append(c.Spec.Requirements, cloud.In(v1.CapacityTypeLabelKey, strings.Fields(capacityTypes)...))
	}
	c.Spec.Requirements = append(c.Spec.Requirements, more...)
	return c
}

// atLeast is a minValues requirement of a label.
func atLeast(key string, n int) v1.NodeSelectorRequirementWithMinValues {
	return v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpExists, MinValues: &n}
}

// choose lists the candidates of a claim and decides.
func choose(types []*cloud.InstanceType, c *v1.NodeClaim, strict bool) (launch.Order, error) {
	return launch.Choose(slices.Collect(cloud.NewOfferingList(types, awsv1.LabelRules()).Candidates(c)), c, strict)
}

// text shows what was decided.
func text(o launch.Order) string {
	var out []string
	for _, c := range o.Candidates {
		name := c.Type.Name
		if id := c.Offering.Label(awsv1.LabelCapacityReservationID); id != "" {
			name += "/" + id
		}
		out = append(out, name)
	}
	return o.CapacityType + ": " + strings.Join(out, " ")
}

func TestChoose(t *testing.T) {
	t.Attr("covers", "N341 N342 A263 A264 A265 A266 A267 A268 A269 A270 A271 A273 A274")
	small := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	gone := offer("spot", 0.1)
	gone.Available = false
	wide := kind("m5.wide", offer("on-demand", 2), offer("on-demand", 3))
	wide.Offerings[1].CapacityOverride = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")}
	wide.Offerings[1].Requirements[1] = cloud.In(corev1.LabelTopologyZone, "b")
	for _, test := range []struct {
		name  string
		types []*cloud.InstanceType
		claim *v1.NodeClaim
		want  string
	}{
		{"other labels", []*cloud.InstanceType{kind("m5.x", offer("on-demand", 1)), kind("c5.x", offer("on-demand", 1))}, claim("", cloud.In(awsv1.LabelInstanceFamily, "c5")), "on-demand: c5.x"},
		{"too small", []*cloud.InstanceType{{Name: "t.x", Capacity: small, Offerings: []cloud.Offering{offer("on-demand", 1)}}, kind("m5.x", offer("on-demand", 2))}, requesting("2"), "on-demand: m5.x"},
		{"not to be had", []*cloud.InstanceType{kind("m5.x", gone, offer("on-demand", 3))}, claim(""), "on-demand: m5.x"},
		{"large enough in one zone", []*cloud.InstanceType{wide}, requesting("6"), "on-demand: m5.wide"},
		{"spot before on-demand", []*cloud.InstanceType{kind("m5.x", offer("spot", 1), offer("on-demand", 3))}, claim("spot on-demand"), "spot: m5.x"},
		{"on-demand for want of spot", []*cloud.InstanceType{kind("m5.x", gone, offer("on-demand", 3))}, claim("spot on-demand"), "on-demand: m5.x"},
		{"nothing is asked for", []*cloud.InstanceType{kind("m5.x", offer("spot", 1), offer("on-demand", 3)), kind("c5.x", offer("spot", 2))}, claim(""), "on-demand: m5.x"},
		{"nothing is asked for, and there is only spot", []*cloud.InstanceType{kind("c5.x", offer("spot", 2))}, claim(""), "spot: c5.x"},
		{"reserved first", []*cloud.InstanceType{kind("m5.x", offer("spot", 1), offer("reserved/cr-1/default/false/1", 0.1)), kind("c5.x", offer("spot", 0.5))}, claim("spot on-demand reserved"), "reserved: m5.x/cr-1"},
		{
			"the kind with the cheapest", []*cloud.InstanceType{
				kind("m5.x", offer("reserved/cr-1/default/true/1", 0.1)), kind("c5.x", offer("reserved/cr-2/default/false/1", 0.2)), kind("r5.x", offer("reserved/cr-3/default/true/1", 0.3)),
			}, claim("reserved"), "reserved: m5.x/cr-1 r5.x/cr-3",
		},
		{
			"what stays, at one price", []*cloud.InstanceType{
				kind("a.x", offer("reserved/cr-1/default/true/1", 0.1)), kind("b.x", offer("reserved/cr-2/capacity-block/false/1", 0.1)), kind("c.x", offer("reserved/cr-3/default/false/1", 0.1)),
			}, claim("reserved"), "reserved: c.x/cr-3",
		},
		{
			"a block before what may be taken back", []*cloud.InstanceType{
				kind("a.x", offer("reserved/cr-1/default/true/1", 0.1)), kind("b.x", offer("reserved/cr-2/capacity-block/false/1", 0.1)), kind("c.x", offer("reserved/cr-3/capacity-block/false/1", 0.2)),
			}, claim("reserved"), "reserved: b.x/cr-2",
		},
		{"reserved is not allowed", []*cloud.InstanceType{kind("m5.x", offer("spot", 1), offer("reserved/cr-1/default/false/1", 0.1))}, claim("spot"), "spot: m5.x"},
		{
			"the one with most capacity",
			[]*cloud.InstanceType{kind("m5.x", offer("reserved/cr-1/default/false/1", 0.1), offer("reserved/cr-2/default/false/9", 0.1), offer("reserved/cr-3/default/false/5", 0.1))},
			claim("reserved"), "reserved: m5.x/cr-2",
		},
		{"a reservation that is full", []*cloud.InstanceType{kind("m5.x", offer("reserved/cr-1/default/false/0", 0.1), offer("on-demand", 3))}, claim("on-demand reserved"), "on-demand: m5.x"},
		{
			"the largest one is not the one that is full",
			[]*cloud.InstanceType{kind("m5.x", offer("reserved/cr-1/default/false/0", 0.1), offer("reserved/cr-2/default/false/1", 0.1))},
			claim("reserved"), "reserved: m5.x/cr-2",
		},
		{
			"a capacity block that is full",
			[]*cloud.InstanceType{kind("a.x", offer("reserved/cr-1/capacity-block/false/0", 0.1), offer("on-demand", 1)), kind("b.x", offer("on-demand", 2))},
			claim("on-demand reserved"), "on-demand: a.x b.x",
		},
		{"metal and accelerators", []*cloud.InstanceType{kind("p5.x", offer("on-demand", 1)), kind("m5.metal", offer("on-demand", 1)), kind("m5.metal-24xl", offer("on-demand", 1)), kind("m5.x", offer("on-demand", 3))}, claim(""), "on-demand: m5.x"},
		{"nothing else is left", []*cloud.InstanceType{kind("p5.x", offer("on-demand", 1)), kind("m5.metal", offer("on-demand", 2))}, claim(""), "on-demand: p5.x m5.metal"},
		{"a minimum of values", []*cloud.InstanceType{kind("p5.x", offer("on-demand", 1)), kind("m5.x", offer("on-demand", 3))}, claim("", atLeast(awsv1.LabelInstanceFamily, 2)), "on-demand: p5.x m5.x"},
		{"dear spot", []*cloud.InstanceType{kind("m5.x", offer("spot", 1), offer("on-demand", 3)), kind("c5.x", offer("spot", 4), offer("on-demand", 5)), kind("r5.x", offer("spot", 3))}, claim("spot on-demand"), "spot: m5.x r5.x"},
		{"spot alone", []*cloud.InstanceType{kind("m5.x", offer("spot", 1), offer("on-demand", 3)), kind("c5.x", offer("spot", 4))}, claim("spot"), "spot: m5.x c5.x"},
		{"no on-demand", []*cloud.InstanceType{kind("m5.x", offer("spot", 1)), kind("c5.x", offer("spot", 4))}, claim("spot on-demand"), "spot: m5.x c5.x"},
		{"a minimum of values, spot and on-demand", []*cloud.InstanceType{kind("m5.x", offer("spot", 1), offer("on-demand", 3)), kind("c5.x", offer("spot", 4))}, claim("spot on-demand", atLeast(awsv1.LabelInstanceFamily, 2)), "spot: m5.x c5.x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := choose(test.types, test.claim, true)
			if err != nil || text(got) != test.want {
				t.Errorf("got %q, %v, want %q", text(got), err, test.want)
			}
		})
	}
}

// requesting is a claim for pods with this many CPUs.
func requesting(cpu string) *v1.NodeClaim {
	c := claim("")
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	return c
}

func TestNothingIsLeft(t *testing.T) {
	t.Attr("covers", "A179 N342")
	for capacityType, o := range map[string]cloud.Offering{"on-demand": offer("spot", 1), "reserved": offer("reserved/cr-1/capacity-block/false/0", 0.1)} {
		_, err := choose([]*cloud.InstanceType{kind("m5.x", o)}, claim(capacityType), false)
		if !cloud.IsInsufficientCapacity(err) || !strings.Contains(err.Error(), "all requested instance types were unavailable during launch") {
			t.Errorf("%s: got %v", capacityType, err)
		}
	}
}

func TestManyTypes(t *testing.T) {
	t.Attr("covers", "A184 A185 A272")
	var types []*cloud.InstanceType
	for i := range 100 {
		types = append(types, kind(fmt.Sprintf("f%d.x%03d", i/10, 99-i), offer("spot", float64(100-i)), offer("on-demand", float64(200-i))))
	}
	got, err := choose(types, claim("spot on-demand"), true)
	if err != nil || len(got.Candidates) != 60 || got.Candidates[0].Offering.Price != 1 || got.Candidates[59].Offering.Price != 60 {
		t.Errorf("%d candidates, %v", len(got.Candidates), err)
	}
	for n, ok := range map[int]bool{6: true, 7: false} {
		_, err := choose(types, claim("spot", atLeast(awsv1.LabelInstanceFamily, n), atLeast(corev1.LabelInstanceTypeStable, 60)), true)
		if (err == nil) != ok || (err != nil && !cloud.IsInsufficientCapacity(err)) {
			t.Errorf("%d families: %v", n, err)
		}
	}
	if _, err := choose(types, claim("spot", atLeast(awsv1.LabelInstanceFamily, 7)), false); err != nil {
		t.Errorf("minValues that may be relaxed: %v", err)
	}
}

func TestTenancy(t *testing.T) {
	t.Attr("covers", "A275")
	types := []*cloud.InstanceType{kind("m5.x", offer("on-demand", 1))}
	types[0].Requirements = append(types[0].Requirements, cloud.In(awsv1.LabelInstanceTenancy, "default", "dedicated"))
	for want, c := range map[string][]*v1.NodeClaim{
		"default":   {claim(""), claim("", cloud.In(awsv1.LabelInstanceTenancy, "default")), claim("", cloud.In(awsv1.LabelInstanceTenancy, "dedicated", "default"))},
		"dedicated": {claim("", cloud.In(awsv1.LabelInstanceTenancy, "dedicated")), claim("", cloud.In(awsv1.LabelInstanceTenancy, "dedicated", "host"))},
	} {
		for _, c := range c {
			if got, err := choose(types, c, true); err != nil || got.Tenancy != want {
				t.Errorf("%v: %q, %v, want %q", c.Spec.Requirements, got.Tenancy, err, want)
			}
		}
	}
}

func TestDroppedTypesAreReported(t *testing.T) {
	types := []*cloud.InstanceType{
		kind("m5.x", offer("spot", 1), offer("on-demand", 3)), kind("p5.x", offer("on-demand", 1)), kind("c5.x", offer("spot", 4)), kind("b5.x", offer("spot", 5)),
	}
	got, err := choose(types, claim("spot on-demand"), true)
	if err != nil {
		t.Fatal(err)
	}
	want := []launch.Dropped{{Filter: "exotic-instance-filter", Types: []string{"p5.x"}}, {Filter: "spot-offering-filter", Types: []string{"b5.x", "c5.x"}}}
	if diff := cmp.Diff(want, got.Dropped); diff != "" || got.SpotAvoided {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got, err = choose(types[1:2], claim("spot on-demand"), true); err != nil || !got.SpotAvoided {
		t.Errorf("falling back to on-demand is not told: %v, %v", got, err)
	}
}
