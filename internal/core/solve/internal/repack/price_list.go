package repack

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/lp"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
)

// Every node counts as slightly more expensive than its price, as if this much of its capacity were lost: a failure is more
// likely with more nodes.
const (
	overheadCPU    = 100       // thousandths of a core
	overheadMemory = 400 << 20 // bytes
)

// priceList is the columns that can be bought, with their prices, in states that do not differ in that.
type priceList struct {
	mask   bitset.Set
	prices []float64
	// program finds the dual prices, from where the last search ended; demand is what they are for, left what is requested
	// now.
	program      *lp.Covering
	demand, left []float64
	// choices is how many ways there are to launch a node.
	choices int
	// dualPrices are the prices of one unit of each resource, nodeOverhead is the cost of a node in addition to its price.
	dualPrices   []float64
	nodeOverhead float64
	// values is that of every column's capacity.
	values []float64
}

// priceListOf is the price list for open nodes in a state.
func (rp *repacker) priceListOf(st *compile.State) *priceList {
	prices := rp.t.Prices(st)
	for _, s := range rp.priceLists {
		if s.offers(st.Mask, prices) {
			return s
		}
	}
	s := &priceList{
		mask: st.Mask, prices: prices, values: make([]float64, len(prices)),
		choices: st.Mask.Len()*len(rp.t.Columns.Kinds) + st.Kinds.Len(),
	}
	rp.priceLists = append(rp.priceLists, s)
	return s
}

func (s *priceList) offers(mask bitset.Set, prices []float64) bool {
	if !slices.Equal(s.mask, mask) {
		return false
	}
	for column := range mask.All() {
		if prices[column] != s.prices[column] {
			return false
		}
	}
	return true
}

// list adds the columns in mask to the program of dual prices, once.
func (s *priceList) list(capacity [][]float64, rows int) {
	if s.program != nil {
		return
	}
	s.program = lp.NewCovering(rows)
	s.program.Grow(s.mask.Len())
	for column := range s.mask.All() {
		s.program.AddBin(capacity[column], s.prices[column])
	}
}

// release gives back the memory of the programs of dual prices.
func (rp *repacker) release() {
	for _, s := range rp.priceLists {
		if s.program != nil {
			s.program.Release()
			s.program = nil
		}
	}
}

// price computes the dual prices of every price list for the pods that are left, and from them the values of columns and
// item types.
func (rp *repacker) price() {
	clear(rp.separate)
	for _, s := range rp.priceLists {
		if s.left == nil {
			s.left, s.demand = make([]float64, len(rp.t.Wanted)), make([]float64, len(rp.t.Wanted))
		}
		clear(s.left)
	}
	for _, p := range rp.itemTypes {
		for r, amount := range p.amounts {
			p.group.left[r] += amount * float64(p.pods)
		}
	}
	for _, s := range rp.priceLists {
		if slices.Max(s.left) == 0 || slices.Equal(s.left, s.demand) {
			continue
		}
		copy(s.demand, s.left)
		s.list(rp.capacity, len(s.demand))
		s.dualPrices, s.nodeOverhead = s.program.DualPrices(s.demand), 0
		for i, r := range rp.t.Wanted {
			switch r {
			case resource.CPU:
				s.nodeOverhead += overheadCPU * rp.scale[i] * s.dualPrices[i]
			case resource.Memory:
				s.nodeOverhead += overheadMemory * rp.scale[i] * s.dualPrices[i]
			}
		}
		for column := range s.mask.All() {
			s.values[column] = lp.Dot(s.dualPrices, rp.capacity[column])
		}
	}
	for _, p := range rp.itemTypes {
		p.value = p.markup * lp.Dot(p.group.dualPrices, p.amounts)
	}
}
