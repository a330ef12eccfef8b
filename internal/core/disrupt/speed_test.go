package disrupt

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// large is a fleet of n nodes with 20 pods each, of 300 instance types. Every other workload spreads over zones.
func large(b *testing.B, n int) *fleet {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a benchmark
	var types catalog.Catalog
	for i := range 300 {
		it := typeOf(fmt.Sprintf("t%03d", i), int64(1+i%48), onDemand, spot)
		for k := range it.Offerings {
			it.Offerings[k].Price *= 1 + float64(i)/1000
		}
		types = append(types, it)
	}
	types = append(types, typeOf("x16", 16, onDemand, spot))
	f := newFleet(new(testing.T), types)
	shapes, faces := make([]*model.Shape, 40), make([]*model.Labels, 40)
	for i := range shapes {
		shapes[i] = f.run(&model.Node{}, "shape", 300+int64(i*23)).Shape
		faces[i] = &model.Labels{Namespace: "default", Values: map[string]string{"app": fmt.Sprint(i)}}
		if i%2 == 0 {
			app := topology.NewSelector(requirement.NewSet(requirement.New("app", requirement.In, fmt.Sprint(i))))
			shapes[i].Spreads = []topology.Spread{{Key: zoneKey, MaxSkew: 5, Selector: app, Namespace: "default"}}
		}
	}
	for i := range n {
		node := f.node(fmt.Sprintf("n%05d", i), []string{onDemand, spot}[i%2], "x16")
		for k := range 20 {
			s := random.IntN(len(shapes))
			p := f.run(node, fmt.Sprintf("p-%d-%d", i, k), shapes[s].Requests[0])
			p.Shape, p.Labels = shapes[s], faces[s]
		}
	}
	b.ResetTimer()
	return f
}

// BenchmarkSingle evaluates every node of the fleet, with as many goroutines as sims.
func BenchmarkSingle(b *testing.B) {
	f := large(b, 2000)
	for b.Loop() {
		d := f.decide(singleNode(), 200)
		b.ReportMetric(float64(len(d.Commands)), "commands")
	}
}

func BenchmarkMulti(b *testing.B) {
	f := large(b, 2000)
	for b.Loop() {
		d := f.decide(multiNode(), 200)
		saved := 0.0
		for _, c := range d.Commands {
			saved += c.Savings()
		}
		b.ReportMetric(saved, "$/h")
	}
}

// BenchmarkMultiAtLimit has far more nodes that could be deleted than one command may have.
func BenchmarkMultiAtLimit(b *testing.B) {
	f := newFleet(new(testing.T), sizes(1, onDemand))
	for i := range 2000 {
		f.node(fmt.Sprintf("n%05d", i), onDemand, []string{"x1", "x2", "x3"}[i%3], 100+int64(i%7)*50)
	}
	b.ResetTimer()
	for b.Loop() {
		d := f.decide(multiNode(), 2000)
		b.ReportMetric(d.Commands[0].Savings(), "$/h")
	}
}

// BenchmarkDrift decides about 5000 drifted nodes with a budget of a tenth.
func BenchmarkDrift(b *testing.B) {
	f := large(b, 5000)
	for i, n := range f.nodes {
		drifted(n, i)
	}
	for b.Loop() {
		d := f.decide(drift(), 500)
		b.ReportMetric(float64(len(d.Commands)), "commands")
	}
}

// BenchmarkArrivals asks whether a node may be removed after 50 others, in fleets of more and more nodes. The pods on these have affinity to the
// others of their workload, each of which has four pods, none elsewhere.
func BenchmarkArrivals(b *testing.B) {
	for _, n := range []int{1000, 2000, 4000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := large(b, n)
			f.input.Problem.Nodes = f.nodes
			const moved = 51
			pods := 0
			var gone []Candidate
			for i, node := range f.nodes[:moved] {
				for k, p := range node.Pods {
					shape, app := *p.Shape, fmt.Sprintf("small-%d", pods%(moved*len(node.Pods)/4))
					selector := topology.NewSelector(requirement.NewSet(requirement.New("app", requirement.In, app)))
					shape.Affinities = []topology.Affinity{{Key: zoneKey, Selector: selector, Namespaces: []string{"default"}}}
					p.Shape, p.Labels, p.UID = &shape, &model.Labels{Namespace: "default", Values: map[string]string{"app": app}}, fmt.Sprint(i, k)
					pods++
				}
				gone = append(gone, Candidate{Node: node, PodsToMove: node.Pods})
			}
			sim := f.input.Simulator(gone, ForConsolidation)
			for i := range moved - 1 {
				sim.assumed.assume(gone[i:i+1], solve.Plan{Placements: []solve.Placement{{Node: f.nodes[n-1-i], Pods: gone[i].PodsToMove}}})
			}
			last := solve.Plan{Placements: []solve.Placement{{Node: f.nodes[n-moved], Pods: gone[moved-1].PodsToMove}}}
			b.ReportAllocs()
			for b.Loop() {
				if unmet := sim.withUnmetAffinity(gone[moved-1:], last); len(unmet) > 0 {
					b.Fatalf("%d pods wait", len(unmet))
				}
			}
		})
	}
}
