package bound

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/lp"
)

// margin exceeds the relative rounding error of every sum in this package: some thousands of operations, each exact to 1 part
// in 10¹⁵.
const margin = 1e-9

// dualBound is a dual solution, the value of a pod by item type, with the lower bound that it proves.
type dualBound struct {
	values []float64
	// scale is the largest ratio of the value that a bin type of unlimited number may hold to its price, at least 1. Values
	// divided by scale are feasible.
	scale float64
	bound float64
}

// dualBoundAt returns values with the bound that they prove. Every bin's valueBound has to be computed at these values. The
// bound is the value of all pods, scaled, less the surplus of the bins that are limited by a supply.
func (g *columnGenerator) dualBoundAt(values []float64) dualBound {
	o := dualBound{values: slices.Clone(values), scale: 1}
	for _, b := range g.in.bins {
		if b.supply == none {
			o.scale = max(o.scale, b.valueBound/b.price)
		}
	}
	surplus := make([]float64, len(g.in.supplies))
	for _, b := range g.in.bins {
		if b.supply != none {
			surplus[b.supply] = max(surplus[b.supply], o.surplus(b))
		}
	}
	o.bound = g.totalValue(o)
	for s, count := range g.in.supplies {
		o.bound -= surplus[s] * float64(count)
	}
	return o
}

// totalValue returns the scaled value of all pods, lowered by margin.
func (g *columnGenerator) totalValue(o dualBound) float64 {
	sum := 0.0
	for n, l := range g.in.itemTypes {
		sum += o.values[n] * float64(l.pods)
	}
	return sum / o.scale * (1 - margin)
}

// surplus returns the scaled value beyond its price that a bin limited by a supply can hold.
func (o dualBound) surplus(b *bin) float64 { return max(b.valueBound/o.scale*(1+margin)-b.price, 0) }

// provenBound returns the bound of the best dual solution. The bins that represent nodeGroups do not count; the groups
// themselves do.
func (g *columnGenerator) provenBound() float64 {
	if len(g.in.nodeGroups) == 0 {
		return max(g.best.bound, 0)
	}
	bound, surplus := g.totalValue(g.best), make([]float64, g.in.firstAggregate)
	for _, b := range g.in.bins {
		if b.supply != none && b.supply < g.in.firstAggregate {
			g.solveRelaxation(b, g.best.values)
			surplus[b.supply] = max(surplus[b.supply], g.best.surplus(b))
		}
	}
	for s, v := range surplus {
		bound -= v * float64(g.in.supplies[s])
	}
	for _, c := range g.in.nodeGroups {
		c.buildRows(g.in)
		g.solveRelaxation(c.bin, g.best.values)
		bound -= g.best.surplus(c.bin) * float64(c.count)
		c.rows, c.weights, c.columns = nil, nil, nil
	}
	return max(bound, 0)
}

// initialDuals returns the dual solution to start from: the values of pods if only the total of each resource had to be bought,
// of bin types that accept every pod.
func (g *columnGenerator) initialDuals() dualBound {
	values := g.resourceValues()
	for _, b := range g.in.bins {
		g.solveRelaxation(b, values)
	}
	o := g.dualBoundAt(values)
	for n := range o.values {
		o.values[n] /= o.scale
	}
	o.scale = 1
	return o
}

// resourceValues returns the values of pods at the dual prices of resources.
func (g *columnGenerator) resourceValues() []float64 {
	total := make([]float64, len(g.in.itemTypes[0].need))
	for _, l := range g.in.itemTypes {
		for r, a := range l.need {
			total[r] += float64(a) * float64(l.pods)
		}
	}
	var p lp.Program
	var basis []int
	for r := range total {
		p.AddRow(1)
		basis = append(basis, p.Add(lp.Column{Rows: []int{r}, Values: []float64{1}}, 1e9, math.Inf(1)))
		p.Add(lp.Column{Rows: []int{r}, Values: []float64{-1}}, 0, math.Inf(1))
	}
	for _, b := range g.in.bins {
		if b.supply != none {
			continue
		}
		var c lp.Column
		for r, amount := range b.capacity {
			if amount > 0 && total[r] > 0 {
				c.Rows, c.Values = append(c.Rows, r), append(c.Values, float64(amount)/total[r])
			}
		}
		p.Add(c, b.price, math.Inf(1))
	}
	p.Start(basis)
	p.Solve(1000)
	values := make([]float64, len(g.in.itemTypes))
	for n, l := range g.in.itemTypes {
		for r, a := range l.need {
			if total[r] > 0 {
				values[n] += max(p.Dual(r), 0) * float64(a) / total[r]
			}
		}
	}
	return values
}
