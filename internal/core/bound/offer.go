package bound

import (
	"math"
	"slices"
)

// margin is more than rounding can add up to anywhere here: some thousands of operations, each good to 1 part in 10¹⁵.
const margin = 1e-9

// offer is values of pods with the bound that they prove.
type offer struct {
	values []float64
	// excess is the factor by which some machine may be worth more than it costs, at least 1.
	excess float64
	bound  float64
}

// judge works out the bound that values prove, given the worth of every bin at these values. They are scaled down until no
// machine can be worth more than it costs. Then the pods are worth no more than the machines that hold them cost, and than
// those of a supply cost and would earn.
func (g *generator) judge(values []float64) offer {
	o := offer{values: slices.Clone(values), excess: 1}
	for _, b := range g.in.bins {
		if b.supply == none {
			o.excess = max(o.excess, b.worth/b.price)
		}
	}
	earned := make([]float64, len(g.in.supplies))
	for _, b := range g.in.bins {
		if b.supply != none {
			earned[b.supply] = max(earned[b.supply], o.earns(b))
		}
	}
	o.bound = g.gross(o)
	for s, count := range g.in.supplies {
		o.bound -= earned[s] * float64(count)
	}
	return o
}

// gross is what the pods are worth.
func (g *generator) gross(o offer) float64 {
	sum := 0.0
	for n, l := range g.in.lots {
		sum += o.values[n] * float64(l.pods)
	}
	return sum / o.excess * (1 - margin)
}

// earns is what a bin of a supply can be worth beyond its price.
func (o offer) earns(b *bin) float64 { return max(b.worth/o.excess*(1+margin)-b.price, 0) }

// proven is the bound of the best values. Nodes that others stood for are looked at one by one.
func (g *generator) proven() float64 {
	if len(g.in.crowd) == 0 {
		return max(g.best.bound, 0)
	}
	bound, spent := g.gross(g.best), make([]float64, g.in.standIns)
	for _, b := range g.in.bins {
		if b.supply != none && b.supply < g.in.standIns {
			g.weigh(b, g.best.values)
			spent[b.supply] = max(spent[b.supply], g.best.earns(b))
		}
	}
	for s, earned := range spent {
		bound -= earned * float64(g.in.supplies[s])
	}
	for _, c := range g.in.crowd {
		c.prepare(g.in)
		g.weigh(c.bin, g.best.values)
		bound -= g.best.earns(c.bin) * float64(c.count)
		c.rows, c.weights, c.columns = nil, nil, nil
	}
	return max(bound, 0)
}

// fluid is an offer to begin with: what pods are worth if only what all of them need together had to be bought, of machines
// that take any of them.
func (g *generator) fluid() offer {
	values := g.fluidValues()
	for _, b := range g.in.bins {
		g.weigh(b, values)
	}
	o := g.judge(values)
	for n := range o.values {
		o.values[n] /= o.excess
	}
	o.excess = 1
	return o
}

func (g *generator) fluidValues() []float64 {
	total := make([]float64, len(g.in.lots[0].need))
	for _, l := range g.in.lots {
		for r, a := range l.need {
			total[r] += float64(a) * float64(l.pods)
		}
	}
	var p program
	var basis []int
	for r := range total {
		p.right = append(p.right, 1)
		basis = append(basis, p.add(column{[]int{r}, []float64{1}}, 1e9, math.Inf(1)))
		p.add(column{[]int{r}, []float64{-1}}, 0, math.Inf(1))
	}
	for _, b := range g.in.bins {
		if b.supply != none {
			continue
		}
		var c column
		for r, room := range b.room {
			if room > 0 && total[r] > 0 {
				c.rows, c.values = append(c.rows, r), append(c.values, float64(room)/total[r])
			}
		}
		p.add(c, b.price, math.Inf(1))
	}
	p.start(basis)
	p.solve(1000)
	values := make([]float64, len(g.in.lots))
	for n, l := range g.in.lots {
		for r, a := range l.need {
			if total[r] > 0 {
				values[n] += max(p.duals[r], 0) * float64(a) / total[r]
			}
		}
	}
	return values
}
