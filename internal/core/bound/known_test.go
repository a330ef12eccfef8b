package bound_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/bound"
	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// one returns a problem with one type of 4 CPUs for $1 in every zone and of every capacity type, and pods of one kind.
func one(pods int, kind tinyKind) tiny {
	if kind.preferred == 0 {
		kind.preferred = -1
	}
	t := tiny{
		types: []tinyType{{size: [2]int64{4000, 16}, price: [zones][2]float64{{1, 1}, {1, 1}}}},
		pools: []tinyPool{{zone: -1}},
		kinds: []tinyKind{kind},
	}
	for range pods {
		t.pods = append(t.pods, 0)
	}
	return t
}

func boundOf(p solve.Problem) float64 { return bound.Of(p, solve.Solve(p)) }

func TestKnownAnswers(t *testing.T) {
	cpu := func(milli int64) tinyKind { return tinyKind{size: [2]int64{milli, 0}} }
	for name, c := range map[string]struct {
		tiny tiny
		want float64
	}{
		"no pods":                           {one(0, cpu(1000)), 0},
		"one pod needs a whole node":        {one(1, cpu(100)), 1},
		"eight cores need two nodes":        {one(8, cpu(1000)), 2},
		"nine cores need three nodes":       {one(9, cpu(1000)), 3},
		"fragmented capacity is unusable":   {one(6, cpu(3000)), 6},
		"pods with anti-affinity":           {one(5, tinyKind{size: [2]int64{100, 0}, apart: 1, anti: true}), 5},
		"pods that are spread":              {one(5, tinyKind{size: [2]int64{100, 0}, apart: 2}), 3},
		"pods with the same host port":      {one(3, tinyKind{size: [2]int64{100, 0}, port: 80}), 3},
		"daemons run on every node":         {with(one(4, cpu(1000)), func(t *tiny) { t.daemon = [2]int64{100, 1} }), 2},
		"a node takes some of the pods":     {with(one(9, cpu(1000)), func(t *tiny) { t.nodes = []tinyNode{{size: [2]int64{1500, 1}}} }), 2},
		"a node takes all of the pods":      {with(one(3, cpu(1000)), func(t *tiny) { t.nodes = []tinyNode{{size: [2]int64{3000, 1}}} }), 0},
		"a node with an untolerated taint":  {with(one(4, cpu(1000)), func(t *tiny) { t.nodes = []tinyNode{{size: [2]int64{4000, 1}, tainted: true}} }), 1},
		"the expensive zone required":       {with(one(4, tinyKind{size: [2]int64{1000, 0}, zones: []int{1}}), expensiveZone), 3},
		"either zone required":              {with(one(4, tinyKind{size: [2]int64{1000, 0}, zones: []int{1, 0}}), expensiveZone), 1},
		"the expensive zone preferred":      {with(one(4, tinyKind{size: [2]int64{1000, 0}, preferred: 1}), expensiveZone), 1},
		"on-demand capacity required":       {with(one(4, tinyKind{size: [2]int64{1000, 0}, onDemand: true}), func(t *tiny) { t.types[0].price = [zones][2]float64{{1, 2}, {1, 2}} }), 2},
		"reservations for two of the nodes": {with(one(12, cpu(1000)), func(t *tiny) { t.reserved = 2 }), 1 + 2*reservedFee},
	} {
		if got := boundOf(c.tiny.problem()); math.Abs(got-c.want) > 1e-7 || got > c.want {
			t.Errorf("%s: the bound is %.9f, want %.9f", name, got, c.want)
		}
	}
}

func with(t tiny, change func(*tiny)) tiny {
	change(&t)
	return t
}

func expensiveZone(t *tiny) { t.types[0].price = [zones][2]float64{{1, 1}, {3, 3}} }

func TestFreeInstanceTypesMakeTheBoundZero(t *testing.T) {
	p := one(4, tinyKind{size: [2]int64{1000, 0}}).problem()
	for i := range p.Pools[0].Catalog[0].Offerings {
		p.Pools[0].Catalog[0].Offerings[i].Price = 0
	}
	if got := boundOf(p); got != 0 {
		t.Errorf("the bound is %v, want 0", got)
	}
}

func TestUnplacedPodsDoNotCount(t *testing.T) {
	p := one(4, tinyKind{size: [2]int64{1000, 0}}).problem()
	p.Pods = append(p.Pods, &model.Pod{UID: "huge", Name: "huge", Namespace: "default", Shape: &model.Shape{Requests: vector([2]int64{5000, 0}, 1)}})
	if got := boundOf(p); math.Abs(got-1) > 1e-7 {
		t.Errorf("the bound is %v, want 1", got)
	}
}

func TestGap(t *testing.T) {
	for _, c := range []struct{ price, bound, want float64 }{{4, 3, 0.25}, {4, 4, 0}, {0, 0, 0}} {
		if got := bound.Gap(c.price, c.bound); got != c.want {
			t.Errorf("the gap of %v over %v is %v, want %v", c.price, c.bound, got, c.want)
		}
	}
}

// broad returns a problem of n pods of many sizes on types with different ratios of memory to CPU.
func broad(n, sizes, nodes int) solve.Problem {
	r := rand.New(rand.NewPCG(uint64(n), uint64(sizes)))
	var types catalog.Catalog
	for i := range 24 {
		cores := int64(1 + i%16)
		gib := cores * int64(2<<(i%3))
		it := tinyType{size: [2]int64{cores * 1000, gib}}
		for z := range zones {
			price := 0.03*float64(cores) + 0.004*float64(gib) + 0.0001*float64(z)
			it.price[z] = [2]float64{price * 0.7, price}
		}
		types = append(types, it.catalog(i, 0))
	}
	p := solve.Problem{
		Resources: resource.NewTable().Names(),
		Pools:     []*model.Pool{{Name: "default", Catalog: types, Requirements: requirement.NewSet(in("karpenter.sh/nodepool", "default"))}},
		Options:   solve.Options{WellKnown: func(string) bool { return true }},
	}
	var shapes []*model.Shape
	for range sizes {
		requests := resource.Vector{}.Set(resource.CPU, 50+r.Int64N(1900)).Set(resource.Memory, (64+r.Int64N(4000))<<20).Set(resource.Pods, 1)
		shapes = append(shapes, &model.Shape{Requests: requests})
	}
	for i := range n {
		name := fmt.Sprintf("pod-%05d", i)
		p.Pods = append(p.Pods, &model.Pod{UID: name, Namespace: "default", Name: name, Shape: shapes[i%sizes]})
	}
	for i := range nodes {
		name := fmt.Sprintf("node-%05d", i)
		allocatable := resource.Vector{}.Set(resource.CPU, r.Int64N(4000)).Set(resource.Memory, r.Int64N(16)<<30).Set(resource.Pods, 20)
		p.Nodes = append(p.Nodes, &model.Node{ID: name, Name: name, NodeName: name, Launched: true, Initialized: true, Allocatable: allocatable})
	}
	return p
}

// resourceBound is a lower bound of the cost from the totals of CPU and memory that pods request beyond the capacity of nodes:
// the best over prices of the two at which the resources of no instance type exceed its price.
func resourceBound(p solve.Problem) float64 {
	var cpu, memory float64
	for _, pod := range p.Pods {
		cpu += float64(pod.Shape.Requests.At(resource.CPU))
		memory += float64(pod.Shape.Requests.At(resource.Memory))
	}
	for _, n := range p.Nodes {
		cpu -= float64(n.Allocatable.At(resource.CPU))
		memory -= float64(n.Allocatable.At(resource.Memory))
	}
	best := 0.0
	for share := 0.0; share <= 1; share += 0.01 {
		// The value of a CPU is share and of a GiB 1 − share, times the largest unit that is feasible for every instance type.
		unit := math.Inf(1)
		for _, it := range p.Pools[0].Catalog {
			allocatable := it.Groups[0].Allocatable
			offer := share*float64(allocatable.At(resource.CPU))/1000 + (1-share)*float64(allocatable.At(resource.Memory))/float64(memoryUnit)
			for _, o := range it.Offerings {
				unit = min(unit, o.Price/offer)
			}
		}
		best = max(best, unit*(share*cpu/1000+(1-share)*memory/float64(memoryUnit)))
	}
	return best
}

func TestLargeProblems(t *testing.T) {
	for name, c := range map[string]struct {
		problem solve.Problem
		// reach is the minimum ratio of the bound to resourceBound.
		reach float64
	}{
		"few sizes":                   {broad(300, 20, 0), 1},
		"a size for every pod":        {broad(300, 200, 0), 0.97},
		"a few nodes":                 {broad(300, 20, 20), 1},
		"a node of every size":        {broad(300, 20, 60), 0.97},
		"sizes and nodes of any size": {broad(300, 200, 60), 0.94},
	} {
		t.Run(name, func(t *testing.T) {
			plan := solve.Solve(c.problem)
			got, least := bound.Of(c.problem, plan), resourceBound(c.problem)
			t.Logf("gap %.4f, %.4f of the bound by resources", bound.Gap(plan.Price(), got), got/least)
			if got > plan.Price() || got < least*c.reach {
				t.Errorf("the bound is %.4f, the plan costs %.4f, resources cost %.4f", got, plan.Price(), least)
			}
		})
	}
}

func TestEqualInputGivesEqualBounds(t *testing.T) {
	p := broad(200, 30, 10)
	first := boundOf(p)
	if again := boundOf(p); again != first {
		t.Errorf("a second run says %v, the first one %v", again, first)
	}
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(p.Pods), func(i, j int) { p.Pods[i], p.Pods[j] = p.Pods[j], p.Pods[i] })
	if shuffled := boundOf(p); shuffled != first {
		t.Errorf("with the pods in another order the bound is %v, before it was %v", shuffled, first)
	}
}

func BenchmarkOf(b *testing.B) {
	for _, c := range []struct{ pods, sizes, nodes int }{{500, 40, 0}, {10000, 40, 0}, {10000, 10000, 0}, {10000, 40, 1000}} {
		b.Run(fmt.Sprintf("pods=%d/sizes=%d/nodes=%d", c.pods, c.sizes, c.nodes), func(b *testing.B) {
			p := broad(c.pods, c.sizes, c.nodes)
			plan := solve.Solve(p)
			b.ReportAllocs()
			var got float64
			for b.Loop() {
				got = bound.Of(p, plan)
			}
			b.ReportMetric(100*bound.Gap(plan.Price(), got), "%gap")
		})
	}
}
