package lp

import (
	"math"
	"slices"
)

// Program is a linear program: minimise cost·x where columns·x = right and 0 ≤ x ≤ upper. The zero value has no rows and no
// columns.
//
// Problem: a few hundred rows, columns that are added between solves, and thousands of small programs. Approach: revised
// simplex with an explicit dense inverse, bounds on variables, the steepest reduced cost, and Bland's rule once progress
// stalls. Invariant: the basis is feasible at all times, so work can stop after any pivot; the solution is feasible then,
// not necessarily optimal. Cost: rows² and the entries of all columns per pivot.
type Program struct {
	right   []float64
	columns []Column
	cost    []float64
	upper   []float64
	// basis is the column of each row; place is the row of each column, atLower or atUpper.
	basis, place []int
	// inverse of the basis, row by row; level is the value of each row's basic Column.
	inverse, level  []float64
	duals, entering []float64
	// age is the number of pivots since the inverse was computed from scratch.
	age int
}

// Column is a sparse column: Values[i] is its entry in row Rows[i]. A program keeps the slices and does not change them.
type Column struct {
	Rows   []int
	Values []float64
}

const (
	atLower = -1
	atUpper = -2
	// refreshAfter is the number of pivots after which the inverse is computed from scratch.
	refreshAfter = 100
	// stallLimit is the number of pivots without progress after which Bland's rule is used.
	stallLimit = 50
)

// AddRow appends a row with its right-hand side. Rows are added before Start.
func (p *Program) AddRow(right float64) { p.right = append(p.right, right) }

// Rows is the number of rows.
func (p *Program) Rows() int { return len(p.right) }

// Columns is the number of columns.
func (p *Program) Columns() int { return len(p.columns) }

// Add appends a column at its lower bound, zero, and returns its number. upper may be infinite.
func (p *Program) Add(c Column, cost, upper float64) int {
	p.columns = append(p.columns, c)
	p.cost = append(p.cost, cost)
	p.upper = append(p.upper, upper)
	p.place = append(p.place, atLower)
	return len(p.columns) - 1
}

// Grow prepares for so many more columns.
func (p *Program) Grow(columns int) {
	p.columns, p.cost = slices.Grow(p.columns, columns), slices.Grow(p.cost, columns)
	p.upper, p.place = slices.Grow(p.upper, columns), slices.Grow(p.place, columns)
}

// Clear removes all rows and columns and keeps the memory.
func (p *Program) Clear() {
	p.columns, p.cost, p.upper, p.place, p.right = p.columns[:0], p.cost[:0], p.upper[:0], p.place[:0], p.right[:0]
}

// Start begins from a diagonal basis: basis[i] is the number of a column with one entry, in row i, whose sign is that of the
// right-hand side. The program keeps the slice.
func (p *Program) Start(basis []int) {
	p.basis = basis
	rows := len(basis)
	p.inverse = resize(p.inverse, rows*rows)
	p.level = resize(p.level, rows)
	p.duals = resize(p.duals, rows)
	p.entering = resize(p.entering, rows)
	clear(p.inverse)
	for j := range p.place {
		p.place[j] = atLower
	}
	for row, j := range basis {
		p.place[j] = row
		pivot := p.columns[j].Values[0]
		p.inverse[row*rows+row] = 1 / pivot
		p.level[row] = p.right[row] / pivot
	}
	p.age = 0
}

// SetRight replaces the right-hand sides of all rows and keeps the basis. It reports whether the basis is feasible for them; if
// not, Start has to follow. No column may be at a finite upper bound.
func (p *Program) SetRight(right []float64) bool {
	copy(p.right, right)
	feasible := true
	for row := range p.level {
		p.level[row] = Dot(p.inverse[row*len(right):(row+1)*len(right)], right)
		feasible = feasible && p.level[row] >= -Negligible
	}
	return feasible
}

func resize(s []float64, n int) []float64 { return slices.Grow(s[:0], n)[:n] }

// Solve improves the solution until it is optimal or limit pivots are done.
func (p *Program) Solve(limit int) {
	stalled := 0
	for range limit {
		p.price()
		j, direction := p.choose(stalled > stallLimit)
		if j < 0 {
			return
		}
		step := p.move(j, direction)
		if math.IsInf(step, 1) {
			return
		}
		if step > Negligible {
			stalled = 0
		} else {
			stalled++
		}
		if p.age >= refreshAfter && !p.refactor() {
			return
		}
	}
	p.price()
}

// price computes the duals.
func (p *Program) price() {
	clear(p.duals)
	for row, j := range p.basis {
		if c := p.cost[j]; c != 0 {
			for i, v := range p.inverse[row*len(p.basis) : (row+1)*len(p.basis)] {
				p.duals[i] += c * v
			}
		}
	}
}

// reduced is the reduced cost of column j.
func (p *Program) reduced(j int) float64 {
	d := p.cost[j]
	c := &p.columns[j]
	for i, row := range c.Rows {
		d -= p.duals[row] * c.Values[i]
	}
	return d
}

// choose is a column that improves the solution when it grows (direction 1) or shrinks (−1), or −1 if there is none.
func (p *Program) choose(bland bool) (j int, direction float64) {
	best := Negligible
	j = -1
	for k, place := range p.place {
		if place >= 0 || p.upper[k] == 0 {
			continue
		}
		gain, way := -p.reduced(k), 1.0
		if place == atUpper {
			gain, way = -gain, -1
		}
		if gain > best {
			best, j, direction = gain, k, way
			if bland {
				return j, direction
			}
		}
	}
	return j, direction
}

// move brings column j in and returns how far it went.
func (p *Program) move(j int, direction float64) float64 {
	p.transform(j)
	step, leaving := p.ratio(j, direction)
	if math.IsInf(step, 1) {
		return step
	}
	for row := range p.level {
		p.level[row] -= direction * step * p.entering[row]
	}
	if leaving < 0 {
		p.place[j] = atLower
		if direction > 0 {
			p.place[j] = atUpper
		}
		return step
	}
	out := p.basis[leaving]
	p.place[out] = atLower
	if direction*p.entering[leaving] < 0 {
		p.place[out] = atUpper
	}
	p.level[leaving] = step
	if direction < 0 {
		p.level[leaving] = p.upper[j] - step
	}
	p.basis[leaving], p.place[j] = j, leaving
	p.pivot(leaving)
	return step
}

// transform computes entering = inverse·column j.
func (p *Program) transform(j int) {
	c := &p.columns[j]
	for row := range len(p.basis) {
		sum := 0.0
		line := p.inverse[row*len(p.basis) : (row+1)*len(p.basis)]
		for i, r := range c.Rows {
			sum += line[r] * c.Values[i]
		}
		p.entering[row] = sum
	}
}

// ratio is how far column j can go and the row that stops it, −1 if that is its own other bound.
func (p *Program) ratio(j int, direction float64) (step float64, leaving int) {
	step, leaving = p.upper[j], -1
	for row, e := range p.entering {
		rate := direction * e
		var far float64
		switch {
		case rate > Negligible:
			far = max(p.level[row], 0) / rate
		case rate < -Negligible && !math.IsInf(p.upper[p.basis[row]], 1):
			far = max(p.upper[p.basis[row]]-p.level[row], 0) / -rate
		default:
			continue
		}
		if far < step-Negligible || far <= step && leaving >= 0 && math.Abs(e) > math.Abs(p.entering[leaving]) || far < step && leaving < 0 {
			step, leaving = far, row
		}
	}
	return step, leaving
}

// pivot makes the entering column basic in row leaving.
func (p *Program) pivot(leaving int) {
	n := len(p.basis)
	line := p.inverse[leaving*n : (leaving+1)*n]
	scale := 1 / p.entering[leaving]
	for i := range line {
		line[i] *= scale
	}
	for row, e := range p.entering {
		if row == leaving || e == 0 {
			continue
		}
		other := p.inverse[row*n : (row+1)*n]
		for i, v := range line {
			other[i] -= e * v
		}
	}
	p.age++
}

// refactor computes inverse and levels from scratch. It fails when the basis has become singular.
func (p *Program) refactor() bool {
	n := len(p.basis)
	matrix := make([]float64, n*n)
	for row, j := range p.basis {
		c := &p.columns[j]
		for i, r := range c.Rows {
			matrix[r*n+row] = c.Values[i]
		}
	}
	inverse, ok := invert(matrix, n)
	if !ok {
		return false
	}
	p.inverse, p.age = inverse, 0
	right := slices.Clone(p.right)
	for j, place := range p.place {
		if place == atUpper {
			c := &p.columns[j]
			for i, r := range c.Rows {
				right[r] -= p.upper[j] * c.Values[i]
			}
		}
	}
	for row := range n {
		sum := 0.0
		for i, v := range inverse[row*n : (row+1)*n] {
			sum += v * right[i]
		}
		p.level[row] = sum
	}
	return true
}

// invert is the inverse of an n by n matrix, which is overwritten.
func invert(m []float64, n int) ([]float64, bool) {
	inverse := make([]float64, n*n)
	for i := range n {
		inverse[i*n+i] = 1
	}
	for k := range n {
		top := k
		for i := k + 1; i < n; i++ {
			if math.Abs(m[i*n+k]) > math.Abs(m[top*n+k]) {
				top = i
			}
		}
		if math.Abs(m[top*n+k]) < 1e-12 {
			return nil, false
		}
		if top != k {
			swap(m[top*n:(top+1)*n], m[k*n:(k+1)*n])
			swap(inverse[top*n:(top+1)*n], inverse[k*n:(k+1)*n])
		}
		scale(m[k*n:(k+1)*n], inverse[k*n:(k+1)*n], 1/m[k*n+k])
		for i := range n {
			if f := m[i*n+k]; i != k && f != 0 {
				subtract(m[i*n+k:(i+1)*n], m[k*n+k:(k+1)*n], f)
				subtract(inverse[i*n:(i+1)*n], inverse[k*n:(k+1)*n], f)
			}
		}
	}
	return inverse, true
}

func swap(a, b []float64) {
	for i := range a {
		a[i], b[i] = b[i], a[i]
	}
}

func scale(a, b []float64, f float64) {
	for i := range a {
		a[i] *= f
		b[i] *= f
	}
}

func subtract(from, what []float64, times float64) {
	for i, v := range what {
		from[i] -= times * v
	}
}

// Prune drops the columns with the highest reduced costs, until about keep are left. Columns in the basis stay. Numbers of
// columns change.
func (p *Program) Prune(keep int) {
	if len(p.columns) <= keep {
		return
	}
	far := make([]float64, len(p.columns))
	for j, place := range p.place {
		if place == atLower {
			far[j] = p.reduced(j)
		}
	}
	limit := slices.Sorted(slices.Values(far))[keep]
	n := 0
	for j := range p.columns {
		if far[j] > 0 && far[j] >= limit {
			continue
		}
		if row := p.place[j]; row >= 0 {
			p.basis[row] = n
		}
		p.columns[n], p.cost[n], p.upper[n], p.place[n] = p.columns[j], p.cost[j], p.upper[j], p.place[j]
		n++
	}
	p.columns, p.cost, p.upper, p.place = p.columns[:n], p.cost[:n], p.upper[:n], p.place[:n]
}

// Right is the right-hand side of a row.
func (p *Program) Right(row int) float64 { return p.right[row] }

// Dual is the dual price of a row, as of the last pivot that Solve considered: by how much the cost grows with its
// right-hand side.
func (p *Program) Dual(row int) float64 { return p.duals[row] }

// Value is the value of column j in the current solution.
func (p *Program) Value(j int) float64 {
	switch place := p.place[j]; place {
	case atLower:
		return 0
	case atUpper:
		return p.upper[j]
	default:
		return p.level[place]
	}
}
