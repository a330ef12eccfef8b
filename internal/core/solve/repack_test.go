package solve

import (
	"fmt"
	"math"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// cores is instance types with one core to n, and 2 GiB and a dollar per core; daemons take nothing.
func cores(n int64) []*catalog.InstanceType {
	var out []*catalog.InstanceType
	for i := int64(1); i <= n; i++ {
		it := instanceType(fmt.Sprintf("m-%d", i), i, 2*i, float64(i))
		it.Groups[0].Allocatable = it.Capacity
		out = append(out, it)
	}
	return out
}

func named(list []*model.Pod, prefix string) []*model.Pod {
	for i, p := range list {
		p.UID = fmt.Sprintf("%s-%03d", prefix, i)
	}
	return list
}

func TestPodsHeavyOnDifferentResourcesShareNodes(t *testing.T) {
	// Together they fill 40 cores and 80 GiB; each kind alone would leave half of its nodes empty.
	in := problem(append(named(pods(32, shape(1000, gi/2)), "cpu"), named(pods(16, shape(500, 4*gi)), "memory")...), pool("default", cores(10)...))
	if got := Solve(in).Price(); math.Abs(got-40) > 1e-9 {
		t.Errorf("$%.2f/h, want $40: every core and every byte in use", got)
	}
}

func TestNodesOfPodsWithAntiAffinityAreFilledUp(t *testing.T) {
	alone := shape(500, gi)
	alone.Affinities = []topology.Affinity{far(hostnameKey, "alone")}
	in := problem(append(labelled(named(pods(10, alone), "alone"), "alone"), named(pods(10, shape(500, gi)), "other")...), pool("default", cores(8)...))
	plan := Solve(in)
	if got := plan.Price(); math.Abs(got-10) > 1e-9 || len(plan.NodeClaims) != 10 {
		t.Errorf("%d nodes at $%.2f/h, want 10 at $10: one of each on every node", len(plan.NodeClaims), got)
	}
}

func TestPodsWithAntiAffinityShareNodesWithThoseOfOtherWorkloads(t *testing.T) {
	// In each of 20 workloads, ten pods keep away from all pods of the workload: these need 10 nodes,
	// and the others some more.
	var list []*model.Pod
	for i := range 20 {
		app := fmt.Sprintf("app-%d", i)
		for j := range int64(40) {
			s := shape(100+(j*7+int64(i))%5*300, gi/4*(1+(j*5+int64(i))%9))
			if j%4 == 0 {
				s.Affinities = []topology.Affinity{far(hostnameKey, app)}
			}
			list = append(list, labelled(named(pods(1, s), fmt.Sprintf("%s-%d", app, j)), app)...)
		}
	}
	plan := Solve(problem(list, pool("default", cores(200)...)))
	// A bin for each of the 200 pods that exclude others would be 145 nodes at $566.
	if len(plan.NodeClaims) > 40 || plan.Price() > 580 {
		t.Errorf("%d nodes at $%.2f/h, want 40 at $580 at most", len(plan.NodeClaims), plan.Price())
	}
}

func TestOfSeveralAlternativesTheCheapestIsTaken(t *testing.T) {
	s := shape(1000, gi)
	s.Required = []requirement.Set{
		requirement.NewSet(requirement.New(instanceTypeKey, requirement.In, "expensive")),
		requirement.NewSet(requirement.New(instanceTypeKey, requirement.In, "cheap")),
	}
	in := problem(pods(3, s), pool("default", instanceType("expensive", 4, 16, 3), instanceType("cheap", 4, 16, 1)))
	if got := Solve(in).Price(); math.Abs(got-1) > 1e-9 {
		t.Errorf("$%.2f/h, want $1: either type will do", got)
	}
}

func TestAlternativesDoNotLeadAwayFromVolumes(t *testing.T) {
	s := shape(1000, gi)
	here := requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-a"))
	s.Required = []requirement.Set{here, requirement.NewSet(requirement.New(instanceTypeKey, requirement.In, "cheap"))}
	s.VolumeTopology = []requirement.Set{here}
	cheap := instanceType("cheap", 4, 16, 1)
	cheap.Offerings = cheap.Offerings[1:] // not in zone-a
	in := problem(pods(3, s), pool("default", instanceType("expensive", 4, 16, 3), cheap))
	for _, c := range Solve(in).NodeClaims {
		if got := c.Requirements.Get(zoneKey); got.Len() != 1 || !got.Has("zone-a") {
			t.Errorf("zones %v, the volume is in zone-a alone", got)
		}
	}
}

func TestPodsWithoutConstraintsAreNotMovedWhereTheyAreCounted(t *testing.T) {
	// Three pods spread over the zones count all that carry their label. Ten more that carry it have no constraint: if one
	// zone took them all, they would violate the spread. Deciding their zones would save nothing: the three fill a node each.
	spread := shape(7500, gi)
	spread.Spreads = []topology.Spread{spreadOver(zoneKey, 1, "web")}
	list := append(labelled(named(pods(10, shape(3600, gi)), "free"), "web"), labelled(named(pods(3, spread), "spread"), "web")...)
	plan := Solve(problem(list, pool("default", cores(8)...)))
	if unschedulablePods(plan) != 0 {
		t.Fatalf("unschedulable: %v", plan.Unschedulable)
	}
	for _, c := range plan.NodeClaims {
		free, zones := 0, c.Requirements.Get(zoneKey)
		for _, p := range c.Pods {
			if len(p.Shape.Spreads) == 0 {
				free++
			}
		}
		if free > 1 && zones.Len() == 1 {
			t.Errorf("%d pods without cares are bound to %v", free, zones)
		}
	}
}

func TestTheSameMoneyBuysFewerNodes(t *testing.T) {
	in := problem(pods(32, shape(1000, 2*gi)), pool("default", cores(16)...))
	if plan := Solve(in); len(plan.NodeClaims) != 2 {
		t.Errorf("%d claims, want 2: large nodes cost no more", len(plan.NodeClaims))
	}
}

func TestRepackingStaysWithinLimits(t *testing.T) {
	// Two large nodes would be sufficient for $20, within the limit; sixteen small ones for $16 would have too many cores.
	small, large := instanceType("small", 6, 16, 1), instanceType("large", 8, 32, 10)
	p := pool("default", small, large)
	p.Limits = map[int]int64{resource.CPU: 16_000}
	plan := Solve(problem(pods(16, shape(1000, gi)), p))
	sum := int64(0)
	for _, c := range plan.NodeClaims {
		worst := int64(0)
		for _, it := range p.Catalog {
			for _, name := range c.InstanceTypes {
				if name == it.Name {
					worst = max(worst, it.Capacity.At(resource.CPU))
				}
			}
		}
		sum += worst
	}
	if sum > 16_000 {
		t.Errorf("nodes of %d thousandths of a core, the limit is 16 cores", sum)
	}
}
