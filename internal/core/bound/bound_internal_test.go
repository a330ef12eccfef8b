package bound

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// randomBin returns a bin of few pods with two or three resources and sometimes a cap, and values of its item types.
func randomBin(r *rand.Rand) (*packingProblem, *bin, []float64) {
	in := &packingProblem{sharedCaps: []sharedCap{{maxPods: 1 + r.IntN(3)}}}
	resources := 2 + r.IntN(2)
	b := &bin{price: 1, supply: none}
	for range resources {
		b.capacity = append(b.capacity, 1+r.Int64N(40))
	}
	var values []float64
	for n := range 1 + r.IntN(4) {
		l := itemType{pods: 1 + r.IntN(6)}
		l.maxPerBin = l.pods
		if r.IntN(3) == 0 {
			l.caps, l.maxPerBin = []int{0}, min(l.pods, in.sharedCaps[0].maxPods)
		}
		fits := int64(l.maxPerBin)
		for k := range resources {
			need := r.Int64N(15)
			l.need = append(l.need, need)
			if need > 0 {
				fits = min(fits, b.capacity[k]/need)
			}
		}
		in.itemTypes = append(in.itemTypes, l)
		values = append(values, float64(r.IntN(20))/7)
		if fits > 0 {
			b.items = append(b.items, item{itemType: n, maxPods: int(fits)})
		}
	}
	b.buildRows(in)
	return in, b, values
}

// bruteForce returns the value of the best pattern of b, by trying all patterns.
func bruteForce(in *packingProblem, b *bin, values []float64) float64 {
	f, best := newPattern(in, b), 0.0
	var try func(i int)
	try = func(i int) {
		if i == len(b.items) {
			best = max(best, f.value(values))
			return
		}
		for n := f.maxFit(i); n >= 0; n-- {
			f.add(i, n)
			try(i + 1)
			f.add(i, -n)
		}
	}
	try(0)
	return best
}

func TestValueBoundsAreNeverTooLow(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var searched, tabled, total int
	for n := range 3000 {
		in, b, values := randomBin(r)
		best, s := bruteForce(in, b, values), &knapsackSolver{in: in}
		prices := make([]float64, len(b.rows))
		for k := range prices {
			prices[k] = r.Float64() * 5
		}
		check := func(how string, bound float64) bool {
			if bound < best*(1-1e-12) {
				t.Fatalf("problem %d: the bound of %s is %v, below the value %v of a pattern", n, how, bound, best)
			}
			return bound <= best*(1+1e-9)
		}
		check("any prices", b.valueBoundAt(values, prices))
		s.solveRelaxation(b, values)
		check("the relaxation", b.valueBound)
		if best == 0 {
			continue
		}
		total++
		target := best * pick(r, 0.5, 0.9, 1)
		counts, load := s.searchPattern(b, values, target, 1+r.IntN(3))
		check("a short search", b.valueBound)
		checkCounts(t, in, b, values, counts, target)
		if load == nil && target == best && b.valueBound > best*(1+1e-9) {
			t.Errorf("problem %d: the search ended at %v, and the best value is %v", n, b.valueBound, best)
		}
		s.solveRelaxation(b, values)
		counts, _ = s.searchPattern(b, values, best*0.9, 10_000)
		checkCounts(t, in, b, values, counts, best*0.9)
		if check("a long search", b.valueBound) {
			searched++
		}
		s.solveRelaxation(b, values)
		s.solveTable(b, values, best, pick(r, 10, 100, 100_000))
		if check("a table", b.valueBound) {
			tabled++
		}
	}
	if searched < total || tabled*2 < total {
		t.Errorf("of %d problems, long searches are exact for %d and tables for %d; want all and half", total, searched, tabled)
	}
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// checkCounts fails for a pattern that does not fit or whose value does not exceed target.
func checkCounts(t *testing.T, in *packingProblem, b *bin, values []float64, counts []int, target float64) {
	t.Helper()
	if counts == nil {
		return
	}
	f := newPattern(in, b)
	for i, n := range counts {
		if n > f.maxFit(i) {
			t.Fatalf("%d of item %d do not fit", n, i)
		}
		f.add(i, n)
	}
	if f.value(values) <= target {
		t.Fatalf("the value of the pattern is %v, want more than %v", f.value(values), target)
	}
}

func TestSumsOfPrices(t *testing.T) {
	for _, c := range []struct {
		name   string
		bound  float64
		prices []float64
		want   float64
	}{
		{"one price", 0.145, []float64{0.019}, 0.152},
		{"a sum already", 0.152 * (1 - margin), []float64{0.019}, 0.152},
		{"two prices", 0.7, []float64{0.3, 0.5}, 0.8},
		{"a common step", 0.0425, []float64{0.01, 0.015}, 0.045},
		{"nothing to buy", 0, []float64{0.3}, 0},
		{"free bin types", 0.2, []float64{0, 0.3}, 0.2},
		{"no common step", 0.7, []float64{math.Pi / 100, 0.5}, 0.7},
	} {
		got := roundUp(c.bound, c.prices)
		if got > c.want || got < c.want*(1-1e-8) {
			t.Errorf("%s: %v is rounded up to %v, want %v", c.name, c.bound, got, c.want)
		}
	}
}

func TestClustersPartitionThePoints(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 100 {
		n, limit := 1+r.IntN(60), 1+r.IntN(20)
		points, weights, groups := make([][]int64, n), make([]int, n), make([]int, n)
		for i := range n {
			points[i], weights[i], groups[i] = []int64{r.Int64N(8), r.Int64N(8)}, 1+r.IntN(5), r.IntN(4)
		}
		boxes := cluster(points, weights, groups, limit)
		if len(boxes) > max(limit, 4) {
			t.Fatalf("%d boxes, want at most %d", len(boxes), limit)
		}
		var all []int
		for _, members := range boxes {
			all = append(all, members...)
			for _, i := range members {
				if groups[i] != groups[members[0]] {
					t.Fatalf("points of groups %d and %d share a box", groups[i], groups[members[0]])
				}
			}
		}
		slices.Sort(all)
		if len(all) != n || len(slices.Compact(all)) != n {
			t.Fatalf("%d points are in boxes, want each of %d once", len(all), n)
		}
	}
}

func TestIndependentComponentsAreSeparate(t *testing.T) {
	need := resource.Vector{1}
	m := solve.Market{
		ItemTypes:     []solve.ItemType{{Requests: need, Pods: 1}, {Requests: need, Pods: 1, ConstraintSet: 1}, {Requests: need, Pods: 1, ConstraintSet: 2}, {Requests: need, Pods: 1, ConstraintSet: 3}},
		Compatibility: []solve.Compatibility{{true, false, false, false}, {false, true, true, false}, {false, false, false, true}},
		BinTypes: []solve.BinType{
			{Price: 1, Capacity: need, Compatibility: 0, Supply: -1},
			{Price: 1, Capacity: need, Compatibility: 1, Supply: -1},
			{Price: 1, Capacity: need, Compatibility: 2, Supply: 0},
			{Price: 2, Capacity: need, Compatibility: 2, Supply: -1},
			{Price: 3, Capacity: need, Compatibility: 0, Supply: -1},
		},
		Supplies: []int{1},
	}
	var got []int
	for _, in := range packingProblems(m) {
		got = append(got, len(in.bins))
	}
	if !slices.Equal(got, []int{1, 1, 2}) {
		t.Errorf("the components have %v bin types, want 1, 1 and 2", got)
	}
	m.Nodes = []solve.ExistingNode{{Free: need, Compatibility: 0}}
	m.Compatibility[0][3] = true
	if parts := len(packingProblems(m)); parts != 2 {
		t.Errorf("with a node for pods of two components there are %d, want 2", parts)
	}
}
