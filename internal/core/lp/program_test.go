package lp

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestProgramsAreSolved: the dual prices of a solved program prove that its solution is optimal.
func TestProgramsAreSolved(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for n := range 500 {
		rows, columns := 1+r.IntN(8), 1+r.IntN(30)
		var p Program
		var basis []int
		for i := range rows {
			p.AddRow(r.Float64() * 10)
			basis = append(basis, p.Add(Column{[]int{i}, []float64{1}}, 0, math.Inf(1)))
		}
		for range columns {
			var c Column
			for i := range rows {
				if r.IntN(2) == 0 {
					c.Rows, c.Values = append(c.Rows, i), append(c.Values, 0.1+r.Float64())
				}
			}
			p.Add(c, -r.Float64(), []float64{1, 2.5, 100}[r.IntN(3)])
		}
		p.Start(basis)
		p.Solve(1000)
		p.refactor()
		cost, proof := 0.0, 0.0
		used := make([]float64, rows)
		for i, right := range p.right {
			proof += p.Dual(i) * right
		}
		for j := range p.Columns() {
			x := p.Value(j)
			if x < -1e-7 || x > p.upper[j]+1e-7 {
				t.Fatalf("program %d: a variable is %v, beyond 0 and %v", n, x, p.upper[j])
			}
			cost += p.cost[j] * x
			for i, row := range p.columns[j].Rows {
				used[row] += p.columns[j].Values[i] * x
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

func TestUselessColumnsArePruned(t *testing.T) {
	var p Program
	p.AddRow(1)
	basis := []int{p.Add(Column{[]int{0}, []float64{1}}, 1, math.Inf(1))}
	for cost := range 100 {
		p.Add(Column{[]int{0}, []float64{1}}, float64(cost+1)/200, math.Inf(1))
	}
	p.Start(basis)
	p.Solve(100)
	before := p.Dual(0)
	p.Prune(10)
	if p.Solve(100); p.Columns() > 10 || p.Dual(0) != before || !p.refactor() {
		t.Errorf("%d columns are left, and the dual is %v after %v", p.Columns(), p.Dual(0), before)
	}
}

// TestClearedProgramsStartAnew: a cleared program forgets its rows and columns.
func TestClearedProgramsStartAnew(t *testing.T) {
	var p Program
	for _, cost := range []float64{3, 5} {
		p.Clear()
		p.AddRow(2)
		first := p.Add(Column{[]int{0}, []float64{1}}, cost, math.Inf(1))
		p.Add(Column{[]int{0}, []float64{1}}, cost+1, math.Inf(1))
		p.Start([]int{first})
		p.Solve(10)
		if p.Rows() != 1 || p.Columns() != 2 || p.Right(0) != 2 || p.Value(first) != 2 || p.Dual(0) != cost {
			t.Errorf("%d rows, %d columns, value %v, dual price %v", p.Rows(), p.Columns(), p.Value(first), p.Dual(0))
		}
	}
}
