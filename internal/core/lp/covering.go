package lp

import (
	"math"
	"slices"
	"sync"
)

// Covering is a linear program with a few rows and many columns: buy bins by the piece, as cheaply as possible, so that their
// capacities cover a demand. Minimise Σ price·x where Σ capacity·x ≥ demand and x ≥ 0. Its dual prices are the values of a unit of
// each resource: the value of a bin's capacity never exceeds its price, and equals it for the bins that are bought.
//
// Where one demand follows another on the same bins, the search begins from the basis where the last one ended.
//
// Source: Dantzig, Linear Programming and Extensions, 1963, chapter 9; Gilmore and Gomory, A Linear Programming Approach to the
// Cutting-Stock Problem, 1961.
type Covering struct {
	program Program
	// every is the number of each row.
	every []int
	// artificial are the columns that cover a row's demand without any bin, at a price above that of any bin. They are added
	// when the first demand is known.
	artificial []int
	// most is the highest price of a unit of any row, were its demand bought alone.
	most float64
}

const (
	// pivotsPerRow ends a search that cycles; its dual prices are a fair estimate by then.
	pivotsPerRow = 20
	// penaltyFactor is how much more a unit costs from an artificial column than from any bin.
	penaltyFactor = 1e3
)

// released are programs whose memory is used again: a plan solves many, each with a column per instance type.
var released = sync.Pool{New: func() any { return new(Covering) }} //nolint:gochecknoglobals // memory only: results do not depend on it

// NewCovering is a program of so many rows without bins.
func NewCovering(rows int) *Covering {
	c := released.Get().(*Covering)
	c.program.Clear()
	c.every, c.artificial, c.most = c.every[:0], c.artificial[:0], 0
	for r := range rows {
		c.program.AddRow(0)
		c.every = append(c.every, r)
	}
	return c
}

// Release ends the use of the program; a later one takes over its memory.
func (c *Covering) Release() { released.Put(c) }

// Grow prepares for so many bins.
func (c *Covering) Grow(bins int) { c.program.Grow(bins + 2*len(c.every)) }

// AddBin adds a bin that can be bought; capacity has an entry for each row. The program keeps capacity and does not change it.
// All bins are added before the first call of DualPrices.
func (c *Covering) AddBin(capacity []float64, price float64) {
	for _, amount := range capacity {
		if amount > 0 {
			c.most = max(c.most, price/amount)
		}
	}
	c.program.Add(Column{Rows: c.every, Values: capacity}, price, math.Inf(1))
}

// DualPrices returns the dual price of every row for a demand, at least zero. The search begins from the last basis if that is
// feasible for the demand: what is left of the same demand is mostly covered by the same bins.
func (c *Covering) DualPrices(demand []float64) []float64 {
	if len(c.artificial) == 0 {
		for r := range c.every {
			row := c.every[r : r+1]
			c.artificial = append(c.artificial, c.program.Add(Column{Rows: row, Values: []float64{1}}, penaltyFactor*(1+c.most), math.Inf(1)))
			c.program.Add(Column{Rows: row, Values: []float64{-1}}, 0, math.Inf(1)) // capacity in excess of the demand
		}
		c.program.Start(slices.Clone(c.artificial))
	}
	if !c.program.SetRight(demand) {
		c.program.Start(slices.Clone(c.artificial))
	}
	c.program.Solve(pivotsPerRow * len(demand))
	duals := make([]float64, len(demand))
	for r := range duals {
		duals[r] = max(c.program.Dual(r), 0)
	}
	return duals
}
