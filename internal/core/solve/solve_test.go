package solve

import (
	"fmt"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
)

// Labels that pods of tests ask for.
const (
	hostnameKey          = compile.HostnameKey
	instanceTypeKey      = compile.InstanceTypeKey
	capacityTypeKey      = compile.CapacityTypeKey
	capacityTypeReserved = compile.CapacityTypeReserved
)

const (
	zoneKey = "topology.kubernetes.io/zone"
	archKey = "kubernetes.io/arch"
	gi      = int64(1) << 30
)

func wellKnown(key string) bool {
	switch key {
	case zoneKey, archKey, capacityTypeKey, instanceTypeKey, "karpenter.sh/nodepool":
		return true
	}
	return false
}

// instanceType is one of the given size, on demand in three zones at the given price.
func instanceType(name string, cores, gib int64, price float64) *catalog.InstanceType {
	zones := []string{"zone-a", "zone-b", "zone-c"}
	size := resource.Vector{}.Set(resource.CPU, cores*1000).Set(resource.Memory, gib*gi).Set(resource.Pods, 110)
	it := &catalog.InstanceType{
		Name: name,
		Requirements: requirement.NewSet(
			requirement.New(instanceTypeKey, requirement.In, name),
			requirement.New(archKey, requirement.In, "amd64"),
			requirement.New(zoneKey, requirement.In, zones...),
			requirement.New(capacityTypeKey, requirement.In, "on-demand"),
		),
		Capacity: size,
		Groups:   []catalog.Group{{Allocatable: size.Sub(resource.Vector{100, 10 << 20})}},
	}
	for _, z := range zones {
		it.Offerings = append(it.Offerings, catalog.Offering{
			Kind: &catalog.Kind{Requirements: requirement.NewSet(
				requirement.New(zoneKey, requirement.In, z),
				requirement.New(capacityTypeKey, requirement.In, "on-demand"),
			)},
			Price: price,
		})
	}
	return it
}

func pool(name string, types ...*catalog.InstanceType) *model.Pool {
	return &model.Pool{
		Name:         name,
		Requirements: requirement.NewSet(requirement.New("karpenter.sh/nodepool", requirement.In, name)),
		Catalog:      types,
	}
}

func shape(milliCPU, memory int64) *model.Shape {
	return &model.Shape{Requests: resource.Vector{}.Set(resource.CPU, milliCPU).Set(resource.Memory, memory).Set(resource.Pods, 1)}
}

func pods(n int, s *model.Shape) []*model.Pod {
	out := make([]*model.Pod, n)
	for i := range out {
		name := fmt.Sprintf("pod-%p-%d", s, i)
		out[i] = &model.Pod{UID: name, Namespace: "default", Name: name, Shape: s, Created: int64(i)}
	}
	return out
}

func problem(p []*model.Pod, pools ...*model.Pool) Problem {
	return Problem{
		Resources: resource.NewTable().Names(),
		Pods:      p,
		Pools:     pools,
		Options:   Options{WellKnown: wellKnown},
	}
}

func TestPriceDecidesBetweenOneExpensiveNodeAndSeveralCheapOnes(t *testing.T) {
	p := pool("default", instanceType("small", 4, 16, 0.10), instanceType("large", 16, 64, 1.00))
	plan := Solve(problem(pods(15, shape(1000, gi)), p))
	if got := plan.Price(); got > 0.501 || got < 0.499 {
		t.Errorf("15 one-core pods cost $%.2f/h, want $0.50/h on five small nodes", got)
	}
	if len(plan.NodeClaims) != 5 || len(plan.Unschedulable) != 0 {
		t.Errorf("got %d claims and %d unschedulable, want 5 and 0", len(plan.NodeClaims), len(plan.Unschedulable))
	}
}

// mixedProblem is n pods of mixed sizes, some bound to zones, over types instance types.
func mixedProblem(n, types, distinct int) Problem {
	var cat []*catalog.InstanceType
	for i := range types {
		cores := int64(1 + i%64)
		gib := cores * int64(2+2*(i%4))
		cat = append(cat, instanceType(fmt.Sprintf("m-%03d", i), cores, gib, 0.02*float64(cores)+0.003*float64(gib)))
	}
	var all []*model.Pod
	for i := range distinct {
		s := shape(100+int64(i*37%1900), int64(64+i*53%4000)<<20)
		if i%5 == 0 {
			s.Selector = requirement.NewSet(requirement.New(zoneKey, requirement.In, []string{"zone-a", "zone-b", "zone-c"}[i%3]))
		}
		all = append(all, pods(n/distinct, s)...)
	}
	return problem(all, pool("default", cat...))
}

func BenchmarkSolve(b *testing.B) {
	for _, c := range []struct{ pods, distinct int }{{500, 50}, {5000, 50}, {10000, 50}, {10000, 10000}, {100000, 200}} {
		b.Run(fmt.Sprintf("pods=%d/shapes=%d", c.pods, c.distinct), func(b *testing.B) {
			p := mixedProblem(c.pods, 400, c.distinct)
			b.ReportAllocs()
			var plan Plan
			for b.Loop() {
				plan = Solve(p)
			}
			b.ReportMetric(float64(len(plan.NodeClaims)), "claims")
			b.ReportMetric(plan.Price(), "$/h")
			if len(plan.Unschedulable) > 0 {
				b.Fatalf("%d unschedulable: %v", len(plan.Unschedulable), plan.Unschedulable[0].Reasons)
			}
		})
	}
}
