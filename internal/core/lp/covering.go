package lp

import (
	"math"
	"slices"
)

// Covering is a linear program with a few rows and many columns: buy bins by the piece, as cheaply as possible, so that their
// capacities cover a demand. Minimise Σ price·x where Σ capacity·x ≥ demand and x ≥ 0. Its dual prices are the values of a unit of
// each resource: the value of a bin's capacity never exceeds its price, and equals it for the bins that are bought.
//
// There is a row per resource only, so every step of the simplex method solves systems of that size from scratch and considers
// each bin once. Where one demand follows another on the same bins, the search begins from the basis where the last one
// ended.
//
// Source: Dantzig, Linear Programming and Extensions, 1963, chapter 9; Gilmore and Gomory, A Linear Programming Approach to the
// Cutting-Stock Problem, 1961.
type Covering struct {
	demand     []float64
	capacities [][]float64
	prices     []float64
	// penalty is the price of a unit of an artificial variable: more than that of any bin.
	penalty float64
	// basis has as many members as there are rows: bins by index, or the numbers that slack and artificial return.
	basis []int
	// matrix and side are scratch of solveBasis and dualPrices.
	matrix [][]float64
	side   []float64
}

const (
	// stepsPerRow ends a search that cycles; its duals are a fair estimate by then.
	stepsPerRow = 20
	// penaltyFactor is how much more a unit costs from an artificial variable than from any bin.
	penaltyFactor = 1e3
)

// slack is the number of the variable for capacity in excess of a row's demand.
func slack(row int) int { return -2 - 2*row }

// artificial is the number of the variable that covers a row's demand without any bin, at the penalty.
func artificial(row int) int { return -3 - 2*row }

// DualPrices returns the dual price of every row of the covering program, at least zero.
func DualPrices(demand []float64, capacities [][]float64, prices []float64) []float64 {
	return NewCovering(capacities, prices, len(demand)).DualPrices(demand)
}

// NewCovering is the program of covering demands of so many rows with bins: capacities[j] and prices[j] are those of bin j. It
// keeps the slices and does not change them.
func NewCovering(capacities [][]float64, prices []float64, rows int) *Covering {
	c := &Covering{capacities: capacities, prices: prices, basis: make([]int, rows), matrix: make([][]float64, rows), side: make([]float64, rows)}
	for r := range rows {
		c.basis[r], c.matrix[r] = artificial(r), make([]float64, rows)
		for j, capacity := range capacities {
			// The most that the row could cost, were its demand bought alone.
			if capacity[r] > 0 {
				c.penalty = max(c.penalty, prices[j]/capacity[r])
			}
		}
	}
	c.penalty = penaltyFactor * (1 + c.penalty)
	return c
}

// DualPrices returns the dual price of every row for a demand, at least zero. The search begins from the last basis if that is
// feasible for the demand: what is left of the same demand is mostly covered by the same bins. The program keeps demand until
// the next call.
func (c *Covering) DualPrices(demand []float64) []float64 {
	c.demand = demand
	if !c.feasible() {
		for r := range c.basis {
			c.basis[r] = artificial(r)
		}
	}
	for range stepsPerRow * len(demand) {
		enter := c.improving(c.dualPrices())
		if enter == none || !c.pivot(enter) {
			break
		}
	}
	duals := c.dualPrices()
	for r := range duals {
		duals[r] = max(duals[r], 0)
	}
	return duals
}

// feasible reports whether the basis covers the demand.
func (c *Covering) feasible() bool {
	for _, amount := range c.solveBasis(func(r int) float64 { return c.demand[r] }) {
		if amount < -Negligible {
			return false
		}
	}
	return true
}

// entry is what one unit of a variable adds to a row.
func (c *Covering) entry(variable, row int) float64 {
	switch {
	case variable >= 0:
		return c.capacities[variable][row]
	case variable == slack(row):
		return -1
	case variable == artificial(row):
		return 1
	}
	return 0
}

// dualPrices are the prices of rows at which the value of every variable of the basis equals its cost.
func (c *Covering) dualPrices() []float64 {
	for i, variable := range c.basis {
		switch {
		case variable >= 0:
			c.side[i] = c.prices[variable]
		case variable%2 == 0: // a slack
			c.side[i] = 0
		default:
			c.side[i] = c.penalty
		}
		for r := range c.demand {
			c.matrix[i][r] = c.entry(variable, r)
		}
	}
	return eliminate(c.matrix, c.side)
}

// improving is the bin whose value exceeds its price by the largest part of the price; else a slack that would lower
// the cost; none at the optimum.
func (c *Covering) improving(duals []float64) int {
	enter, most := none, Negligible
	for j, capacity := range c.capacities {
		if gain := (Dot(duals, capacity) - c.prices[j]) / (1 + c.prices[j]); gain > most {
			enter, most = j, gain
		}
	}
	if enter != none {
		return enter
	}
	for r, dual := range duals {
		if dual < -Negligible {
			return slack(r)
		}
	}
	return none
}

// pivot lets one variable enter the basis and another leave it, so that it stays feasible. It reports whether one had to
// leave.
func (c *Covering) pivot(enter int) bool {
	now := c.solveBasis(func(r int) float64 { return c.demand[r] })
	step := c.solveBasis(func(r int) float64 { return c.entry(enter, r) })
	leave, least := none, math.Inf(1)
	for i := range step {
		if step[i] > Negligible {
			if ratio := max(now[i], 0) / step[i]; ratio < least {
				leave, least = i, ratio
			}
		}
	}
	if leave == none {
		return false
	}
	c.basis[leave] = enter
	return true
}

// solveBasis is how much of each variable of the basis adds up to the right-hand side.
func (c *Covering) solveBasis(right func(row int) float64) []float64 {
	for r := range c.demand {
		c.side[r] = right(r)
		for i, variable := range c.basis {
			c.matrix[r][i] = c.entry(variable, r)
		}
	}
	return eliminate(c.matrix, c.side)
}

// eliminate solves matrix·x = side by Gaussian elimination with partial pivoting, and overwrites both. Unknowns that the
// matrix leaves undetermined are zero.
func eliminate(matrix [][]float64, side []float64) []float64 {
	n := len(side)
	for c := range n {
		pivot := c
		for r := c + 1; r < n; r++ {
			if math.Abs(matrix[r][c]) > math.Abs(matrix[pivot][c]) {
				pivot = r
			}
		}
		if matrix[pivot][c] == 0 {
			continue
		}
		matrix[c], matrix[pivot], side[c], side[pivot] = matrix[pivot], matrix[c], side[pivot], side[c]
		for r := range n {
			if r == c || matrix[r][c] == 0 {
				continue
			}
			f := matrix[r][c] / matrix[c][c]
			for k := c; k < n; k++ {
				matrix[r][k] -= f * matrix[c][k]
			}
			side[r] -= f * side[c]
		}
	}
	x := slices.Repeat([]float64{0}, n)
	for c := range n {
		if matrix[c][c] != 0 {
			x[c] = side[c] / matrix[c][c]
		}
	}
	return x
}
