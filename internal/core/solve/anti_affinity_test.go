package solve

import (
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

func TestDifferentDemandsGetDifferentNodes(t *testing.T) {
	t.Attr("covers", "L100")
	arm := with(instanceType("arm", 4, 16, 0.1), requirement.New(archKey, requirement.In, "arm64"))
	types := []*catalog.InstanceType{instanceType("one", 4, 16, 0.1), instanceType("other", 4, 16, 0.1), arm}
	for name, demands := range map[string][2]requirement.Requirement{
		"architectures":  {requirement.New(archKey, requirement.In, "amd64"), requirement.New(archKey, requirement.In, "arm64")},
		"instance types": {requirement.New(instanceTypeKey, requirement.In, "one"), requirement.New(instanceTypeKey, requirement.In, "other")},
		"zones":          {requirement.New(zoneKey, requirement.In, "zone-a"), requirement.New(zoneKey, requirement.In, "zone-b")},
	} {
		plan := Solve(problem(append(pods(1, selecting(demands[0])), pods(1, selecting(demands[1]))...), pool("default", types...)))
		if len(plan.NodeClaims) != 2 || len(plan.Unschedulable) != 0 {
			t.Errorf("%s: %d claims, want one for each pod", name, len(plan.NodeClaims))
		}
		plan = Solve(problem(pods(2, selecting(demands[0])), pool("default", types...)))
		if len(plan.NodeClaims) != 1 {
			t.Errorf("%s: %d claims for pods that agree, want one", name, len(plan.NodeClaims))
		}
	}
}

// TestResourcesOfDifferentTypes: two kinds of devices that no node has both of.
func TestResourcesOfDifferentTypes(t *testing.T) {
	t.Attr("covers", "L102")
	names := append(resource.NewTable().Names(), "test/gpu", "test/fpga")
	gpu, fpga := len(names)-2, len(names)-1
	having := func(name string, device int) *catalog.InstanceType {
		it := instanceType(name, 4, 16, 1)
		it.Capacity = it.Capacity.Clone().Set(device, 1)
		it.Groups[0].Allocatable = it.Groups[0].Allocatable.Clone().Set(device, 1)
		return it
	}
	wanting := func(devices ...int) *model.Shape {
		s := shape(500, gi)
		for _, d := range devices {
			s.Requests = s.Requests.Set(d, 1)
		}
		return s
	}
	solve := func(pods []*model.Pod) Plan {
		in := problem(pods, pool("default", instanceType("plain", 4, 16, 0.1), having("g", gpu), having("f", fpga)))
		in.Resources = names
		return Solve(in)
	}
	plan := solve(append(pods(1, wanting(gpu)), pods(1, wanting(fpga))...))
	var types []string
	for _, c := range plan.NodeClaims {
		types = append(types, c.InstanceTypes...)
	}
	if slices.Sort(types); !slices.Equal(types, []string{"f", "g"}) || len(plan.NodeClaims) != 2 {
		t.Errorf("%d claims of %v, want one of each kind", len(plan.NodeClaims), types)
	}
	if plan := solve(pods(1, wanting(gpu, fpga))); len(plan.NodeClaims) != 0 || plan.Unschedulable[0].Reasons[0].Code != unschedulable.NoInstanceType {
		t.Errorf("both at once: %d claims, unschedulable %v", len(plan.NodeClaims), plan.Unschedulable)
	}
}

func TestLimitsOfEveryResourceHold(t *testing.T) {
	t.Attr("covers", "L204")
	names := append(resource.NewTable().Names(), "test/gpu")
	gpu := len(names) - 1
	big := instanceType("gpu", 4, 16, 1)
	big.Capacity = big.Capacity.Clone().Set(gpu, 4)
	big.Groups[0].Allocatable = big.Groups[0].Allocatable.Clone().Set(gpu, 4)
	for name, limits := range map[string]map[int]int64{
		"cpu":    {resource.CPU: 3999},
		"memory": {resource.Memory: 16*gi - 1},
		"pods":   {resource.Pods: 109},
		"gpu":    {gpu: 3},
	} {
		s := shape(500, gi)
		s.Requests = s.Requests.Set(gpu, 1)
		p := pool("default", big)
		p.Limits = limits
		in := problem(pods(1, s), p)
		in.Resources = names
		if plan := Solve(in); len(plan.NodeClaims) != 0 || plan.Unschedulable[0].Reasons[0].Code != unschedulable.LimitsExceeded {
			t.Errorf("%s: %d claims, unschedulable %v; want the limit", name, len(plan.NodeClaims), plan.Unschedulable)
		}
		for i := range limits {
			limits[i]++
		}
		if plan := Solve(in); len(plan.NodeClaims) != 1 {
			t.Errorf("%s: unschedulable although the limit is the node's size: %v", name, plan.Unschedulable)
		}
	}
}

// TestStartedNodesComeFirstThenNames tries every order of four nodes on which the pod fits.
func TestStartedNodesComeFirstThenNames(t *testing.T) {
	t.Attr("covers", "L178")
	node := func(name string, initialized bool) *model.Node {
		return &model.Node{
			ID: name, Name: name, ClaimName: name, Managed: true, Launched: true, Initialized: initialized,
			Allocatable: resource.Vector{1000, 4 * gi, 10},
		}
	}
	nodes := []*model.Node{node("d", true), node("a", false), node("b", false), node("c", true)}
	for i := range nodes {
		in := problem(pods(4, shape(900, gi)), pool("default", instanceType("m", 4, 16, 1)))
		for waiting := range in.Pods {
			in.Pods[waiting].Created = 0
		}
		in.Nodes = append(slices.Clone(nodes[i:]), nodes[:i]...)
		for n, want := range []string{"c", "c d", "a c d", "a b c d"} {
			in := in
			in.Pods = in.Pods[:n+1]
			var got []string
			for _, p := range Solve(in).Placements {
				got = append(got, p.Node.Name)
			}
			if slices.Sort(got); strings.Join(got, " ") != want {
				t.Errorf("%d pods go to %v, want %s", n+1, got, want)
			}
		}
	}
}

func TestHintsForLabelsThatLookLikeKnownOnes(t *testing.T) {
	t.Attr("covers", "L054 L055")
	for _, c := range []struct{ name, key, want string }{
		{"truncated zone", "zone", zoneKey},
		{"zone of a wrong domain", "kubernetes.io/zone", zoneKey},
		{"truncated pool", "nodepool", "karpenter.sh/nodepool"},
		{"pool of a wrong domain", "karpenter.k8s.io/nodepool", "karpenter.sh/nodepool"},
		{"truncated instance type", "instance-type", instanceTypeKey},
		{"instance type of a wrong domain", "kubernetes.io/instance-type", instanceTypeKey},
		{"truncated architecture", "arch", archKey},
		{"architecture of a wrong domain", "node.kubernetes.io/arch", archKey},
		{"truncated capacity type", "capacity-type", capacityTypeKey},
		{"capacity type of a wrong domain", "node.karpenter/capacity-type", capacityTypeKey},
		{"nothing alike", "example.com/colour", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := Solve(problem(pods(1, selecting(requirement.New(c.key, requirement.In, "x"))), pool("default", instanceType("m", 4, 16, 1))))
			if len(plan.Unschedulable) != 1 {
				t.Fatal("it was placed")
			}
			why := plan.Unschedulable[0].Reasons[0]
			if why.Code != unschedulable.LabelUndefined || why.Hint != c.want {
				t.Errorf("%s with hint %q, want %q", why.Code, why.Hint, c.want)
			}
		})
	}
}
