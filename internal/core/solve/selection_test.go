package solve

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

const providerKey = "cloud.test/accelerator"

// with is the type with another requirement.
func with(it *catalog.InstanceType, r requirement.Requirement) *catalog.InstanceType {
	it.Requirements = it.Requirements.Replace(r)
	return it
}

// selecting is a small shape with a selector.
func selecting(reqs ...requirement.Requirement) *model.Shape {
	s := shape(500, gi/4)
	s.Selector = requirement.NewSet(reqs...)
	return s
}

// listed are the types of the only claim of a plan.
func listed(t *testing.T, plan Plan) []string {
	t.Helper()
	if len(plan.NodeClaims) != 1 || len(plan.Unschedulable) != 0 {
		t.Fatalf("%d claims and %d unschedulable, want one claim", len(plan.NodeClaims), len(plan.Unschedulable))
	}
	return slices.Sorted(slices.Values(plan.NodeClaims[0].InstanceTypes))
}

func TestLabelsOfTheProviderSelectTypes(t *testing.T) {
	t.Attr("covers", "L103")
	plain := with(instanceType("plain", 4, 16, 0.1), requirement.New(providerKey, requirement.DoesNotExist))
	fast := with(instanceType("fast", 4, 16, 0.4), requirement.New(providerKey, requirement.In, "x1"))
	faster := with(instanceType("faster", 4, 16, 0.8), requirement.New(providerKey, requirement.In, "x2"))
	for _, c := range []struct {
		name string
		r    requirement.Requirement
		want []string
	}{
		{"a value", requirement.New(providerKey, requirement.In, "x1"), []string{"fast"}},
		{"any value", requirement.New(providerKey, requirement.Exists), []string{"fast", "faster"}},
		{"none", requirement.New(providerKey, requirement.DoesNotExist), []string{"plain"}},
		{"not a value", requirement.New(providerKey, requirement.NotIn, "x1"), []string{"faster", "plain"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := problem(pods(1, selecting(c.r)), pool("default", plain, fast, faster))
			in.Options.WellKnown = func(key string) bool { return key == providerKey || wellKnown(key) }
			if diff := cmp.Diff(c.want, listed(t, Solve(in))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTypesThatAreTooSmallAreNeverListed(t *testing.T) {
	t.Attr("covers", "L106")
	lean := instanceType("lean", 16, 4, 0.3) // enough cores, not enough memory
	p := pool("default", instanceType("small", 2, 8, 0.1), instanceType("medium", 4, 16, 0.2), instanceType("large", 8, 32, 0.4), lean)
	plan := Solve(problem(pods(1, shape(3500, 6*gi)), p))
	if diff := cmp.Diff([]string{"large", "medium"}, listed(t, plan)); diff != "" {
		t.Error(diff)
	}
	// Pods already on an open node count as well.
	plan = Solve(problem(append(pods(1, shape(3500, 6*gi)), pods(1, shape(3000, 6*gi))...), pool("default", instanceType("large", 8, 32, 0.4), instanceType("medium", 4, 16, 0.39))))
	if diff := cmp.Diff([]string{"large"}, listed(t, plan)); diff != "" {
		t.Error(diff)
	}
}

// unavailable makes the offerings of a type unavailable, in all zones or in one.
func unavailable(it *catalog.InstanceType, zone string) *catalog.InstanceType {
	for i := range it.Offerings {
		if zone == "" || it.Offerings[i].Requirements.Get(zoneKey).Has(zone) {
			it.Offerings[i].Group = catalog.Unavailable
		}
	}
	return it
}

func TestUnavailableTypesAreNotListed(t *testing.T) {
	t.Attr("covers", "L110")
	inZoneA := selecting(requirement.New(zoneKey, requirement.In, "zone-a"))
	there, gone, elsewhere := instanceType("there", 4, 16, 0.5), unavailable(instanceType("gone", 4, 16, 0.1), ""), unavailable(instanceType("elsewhere", 4, 16, 0.1), "zone-a")
	plan := Solve(problem(pods(1, inZoneA), pool("default", there, gone, elsewhere)))
	if diff := cmp.Diff([]string{"there"}, listed(t, plan)); diff != "" {
		t.Error(diff)
	}
	plan = Solve(problem(pods(1, inZoneA), pool("default", elsewhere)))
	if len(plan.NodeClaims) != 0 || !strings.HasPrefix(plan.Unschedulable[0].Reasons.String(), "no instance type has the required offering") {
		t.Errorf("%d claims, unschedulable %v; want the offering as the reason", len(plan.NodeClaims), plan.Unschedulable)
	}
}

// enriched is an instance type whose spot offering in zone-a, and only that one, has more memory.
func enriched(available bool) *catalog.InstanceType {
	it := instanceType("m", 4, 16, 0.4)
	rich := resource.Vector{}.Add(it.Groups[0].Allocatable).Set(resource.Memory, 64*gi)
	it.Groups = append(it.Groups, catalog.Group{Allocatable: rich})
	group := int32(1)
	if !available {
		it.Groups, group = it.Groups[:1], catalog.Unavailable
	}
	it.Requirements = it.Requirements.Replace(requirement.New(capacityTypeKey, requirement.In, "on-demand", "spot"))
	it.Offerings = append(it.Offerings, catalog.Offering{
		Kind: &catalog.Kind{Requirements: requirement.NewSet(
			requirement.New(zoneKey, requirement.In, "zone-a"), requirement.New(capacityTypeKey, requirement.In, "spot"),
		)},
		Price: 0.3, Group: group,
	})
	return it
}

func TestPodsFitTheCapacityOfAnAvailableOffering(t *testing.T) {
	t.Attr("covers", "L111 L112 L113")
	big := func(reqs ...requirement.Requirement) *model.Shape {
		s := shape(1000, 32*gi)
		s.Selector = requirement.NewSet(reqs...)
		return s
	}
	for _, c := range []struct {
		name      string
		available bool
		pod       *model.Shape
		fits      bool
	}{
		{"an offering with more memory is sufficient", true, big(), true},
		{"not while it is unavailable", false, big(), false},
		{"the pod requires the offering with more memory", true, big(requirement.New(capacityTypeKey, requirement.In, "spot")), true},
		{"the offering with more memory is in another zone", true, big(requirement.New(zoneKey, requirement.In, "zone-b")), false},
		{"the offering with more memory is of another capacity type", true, big(requirement.New(capacityTypeKey, requirement.In, "on-demand")), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := Solve(problem(pods(1, c.pod), pool("default", enriched(c.available))))
			if (len(plan.NodeClaims) == 1) != c.fits {
				t.Errorf("%d claims, unschedulable %v", len(plan.NodeClaims), plan.Unschedulable)
			}
		})
	}
}

// TestNoNewNodeHasTheHostnameThatAPodRequires: pending pods are rejected earlier for it, pods that move are not.
func TestNoNewNodeHasTheHostnameThatAPodRequires(t *testing.T) {
	t.Attr("covers", "L064")
	asking := selecting(requirement.New("kubernetes.io/hostname", requirement.In, "node-1"))
	plan := Solve(problem(pods(1, asking), pool("default", instanceType("m", 4, 16, 0.1))))
	if len(plan.NodeClaims) != 0 || plan.Unschedulable[0].Reasons[0].Code != unschedulable.RequirementConflict {
		t.Errorf("%d claims, unschedulable %v", len(plan.NodeClaims), plan.Unschedulable)
	}
	in := problem(pods(1, asking), pool("default", instanceType("m", 4, 16, 0.1)))
	roomy := resource.Vector{8000, 32 * gi, 110}
	for _, name := range []string{"node-0", "node-1"} {
		in.Nodes = append(in.Nodes, &model.Node{
			ID: name, Name: name, Launched: true, Initialized: true, Allocatable: roomy,
			Requirements: requirement.Labels(map[string]string{"kubernetes.io/hostname": name}),
		})
	}
	if plan := Solve(in); len(plan.Placements) != 1 || plan.Placements[0].Node.Name != "node-1" {
		t.Errorf("placed on %v, want the node of that name", plan.Placements)
	}
}
