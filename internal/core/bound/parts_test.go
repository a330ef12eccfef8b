package bound

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// randomBin is a bin of few pods with two or three resources and perhaps a cap, and values of its lots.
func randomBin(r *rand.Rand) (*instance, *bin, []float64) {
	in := &instance{caps: []capped{{most: 1 + r.IntN(3)}}}
	resources := 2 + r.IntN(2)
	b := &bin{price: 1, supply: none}
	for range resources {
		b.room = append(b.room, 1+r.Int64N(40))
	}
	var values []float64
	for n := range 1 + r.IntN(4) {
		l := lot{pods: 1 + r.IntN(6)}
		l.most = l.pods
		if r.IntN(3) == 0 {
			l.caps, l.most = []int{0}, min(l.pods, in.caps[0].most)
		}
		fits := int64(l.most)
		for k := range resources {
			need := r.Int64N(15)
			l.need = append(l.need, need)
			if need > 0 {
				fits = min(fits, b.room[k]/need)
			}
		}
		in.lots = append(in.lots, l)
		values = append(values, float64(r.IntN(20))/7)
		if fits > 0 {
			b.items = append(b.items, item{lot: n, most: int(fits)})
		}
	}
	b.prepare(in)
	return in, b, values
}

// enumerate is the most that whole pods are worth in b, by trying all of them.
func enumerate(in *instance, b *bin, values []float64) float64 {
	f, best := newFilling(in, b), 0.0
	var try func(i int)
	try = func(i int) {
		if i == len(b.items) {
			best = max(best, f.worth(values))
			return
		}
		for n := f.fitting(i); n >= 0; n-- {
			f.take(i, n)
			try(i + 1)
			f.take(i, -n)
		}
	}
	try(0)
	return best
}

func TestWhatABinHoldsIsNeverUnderrated(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var searched, tabled, total int
	for n := range 3000 {
		in, b, values := randomBin(r)
		best, s := enumerate(in, b, values), &scales{in: in}
		prices := make([]float64, len(b.rows))
		for k := range prices {
			prices[k] = r.Float64() * 5
		}
		check := func(how string, worth float64) bool {
			if worth < best*(1-1e-12) {
				t.Fatalf("problem %d: %s says %v, %v can be held", n, how, worth, best)
			}
			return worth <= best*(1+1e-9)
		}
		check("any prices", b.most(values, prices))
		s.weigh(b, values)
		check("weighing", b.worth)
		if best == 0 {
			continue
		}
		total++
		target := best * pick(r, 0.5, 0.9, 1)
		held, load := s.explore(b, values, target, 1+r.IntN(3))
		check("a short search", b.worth)
		checkHeld(t, in, b, values, held, target)
		if load == nil && target == best && b.worth > best*(1+1e-9) {
			t.Errorf("problem %d: the search is done, at %v, and %v is the most", n, b.worth, best)
		}
		s.weigh(b, values)
		held, _ = s.explore(b, values, best*0.9, 10_000)
		checkHeld(t, in, b, values, held, best*0.9)
		if check("a long search", b.worth) {
			searched++
		}
		s.weigh(b, values)
		s.tabulate(b, values, best, pick(r, 10, 100, 100_000))
		if check("a table", b.worth) {
			tabled++
		}
	}
	if searched < total || tabled*2 < total {
		t.Errorf("of %d problems, long searches are exact for %d and tables for %d; want all and half", total, searched, tabled)
	}
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// checkHeld fails for a filling that does not fit or is not worth more than target.
func checkHeld(t *testing.T, in *instance, b *bin, values []float64, held []int, target float64) {
	t.Helper()
	if held == nil {
		return
	}
	f := newFilling(in, b)
	for i, n := range held {
		if n > f.fitting(i) {
			t.Fatalf("%d of item %d do not fit", n, i)
		}
		f.take(i, n)
	}
	if f.worth(values) <= target {
		t.Fatalf("the filling is worth %v, which is not more than %v", f.worth(values), target)
	}
}

// A solved program has duals that prove that its solution is the best.
func TestProgramsAreSolved(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for n := range 500 {
		rows, columns := 1+r.IntN(8), 1+r.IntN(30)
		var p program
		var basis []int
		for i := range rows {
			p.right = append(p.right, r.Float64()*10)
			basis = append(basis, p.add(column{[]int{i}, []float64{1}}, 0, math.Inf(1)))
		}
		for range columns {
			var c column
			for i := range rows {
				if r.IntN(2) == 0 {
					c.rows, c.values = append(c.rows, i), append(c.values, 0.1+r.Float64())
				}
			}
			p.add(c, -r.Float64(), pick(r, 1, 2.5, 100))
		}
		p.start(basis)
		p.solve(1000)
		p.refactor()
		cost, proof := 0.0, 0.0
		used := make([]float64, rows)
		for i, right := range p.right {
			proof += p.duals[i] * right
		}
		for j := range p.columns {
			x := p.value(j)
			if x < -1e-7 || x > p.upper[j]+1e-7 {
				t.Fatalf("program %d: a variable is %v, beyond 0 and %v", n, x, p.upper[j])
			}
			cost += p.cost[j] * x
			for i, row := range p.columns[j].rows {
				used[row] += p.columns[j].values[i] * x
			}
			if d := p.reduced(j); d < 0 && !math.IsInf(p.upper[j], 1) {
				proof += d * p.upper[j]
			} else if d < -1e-7 {
				t.Fatalf("program %d: column %d would improve it by %v", n, j, d)
			}
		}
		for i, right := range p.right {
			if math.Abs(used[i]-right) > 1e-6 {
				t.Fatalf("program %d: row %d is %v, want %v", n, i, used[i], right)
			}
		}
		if math.Abs(cost-proof) > 1e-6 {
			t.Fatalf("program %d: the solution costs %v and its duals prove %v", n, cost, proof)
		}
	}
}

func TestColumnsOfNoUseAreShed(t *testing.T) {
	p := program{right: []float64{1}}
	basis := []int{p.add(column{[]int{0}, []float64{1}}, 1, math.Inf(1))}
	for cost := range 100 {
		p.add(column{[]int{0}, []float64{1}}, float64(cost+1)/200, math.Inf(1))
	}
	p.start(basis)
	p.solve(100)
	before := p.duals[0]
	p.shed(10)
	if p.solve(100); len(p.columns) > 10 || p.duals[0] != before || !p.refactor() {
		t.Errorf("%d columns are left, and the dual is %v after %v", len(p.columns), p.duals[0], before)
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
		{"free machines", 0.2, []float64{0, 0.3}, 0.2},
		{"no common step", 0.7, []float64{math.Pi / 100, 0.5}, 0.7},
	} {
		got := roundUp(c.bound, c.prices)
		if got > c.want || got < c.want*(1-1e-8) {
			t.Errorf("%s: %v is rounded up to %v, want %v", c.name, c.bound, got, c.want)
		}
	}
}

func TestClustersPartThePoints(t *testing.T) {
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

func TestPartsThatShareNothingAreApart(t *testing.T) {
	need := resource.Vector{1}
	m := solve.Market{
		Lots:    []solve.Lot{{Requests: need, Pods: 1}, {Requests: need, Pods: 1, Demand: 1}, {Requests: need, Pods: 1, Demand: 2}, {Requests: need, Pods: 1, Demand: 3}},
		Accepts: []solve.Accepts{{true, false, false, false}, {false, true, true, false}, {false, false, false, true}},
		BinTypes: []solve.BinType{
			{Price: 1, Room: need, Accepts: 0, Supply: -1},
			{Price: 1, Room: need, Accepts: 1, Supply: -1},
			{Price: 1, Room: need, Accepts: 2, Supply: 0},
			{Price: 2, Room: need, Accepts: 2, Supply: -1},
			{Price: 3, Room: need, Accepts: 0, Supply: -1},
		},
		Supplies: []int{1},
	}
	var got []int
	for _, in := range instances(m) {
		got = append(got, len(in.bins))
	}
	if !slices.Equal(got, []int{1, 1, 2}) {
		t.Errorf("the parts have %v machines, want 1, 1 and 2", got)
	}
	m.Nodes = []solve.ExistingNode{{Room: need, Accepts: 0}}
	m.Accepts[0][3] = true
	if parts := len(instances(m)); parts != 2 {
		t.Errorf("with a node that is for pods of two parts there are %d, want 2", parts)
	}
}
