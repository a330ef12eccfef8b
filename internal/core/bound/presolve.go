package bound

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// presolver reduces a market to packing problems. Every step preserves the minimum cost, or lowers it.
type presolver struct {
	market    solve.Market
	resources []int
	// constraintSets is their number.
	constraintSets int
	// useful is the total request of all pods with these constraint sets, by set of constraint sets.
	useful [][]int64
	// binTypes are the indexes of those that are not dominated.
	binTypes []int
	// constraintSet is the representative of each constraint set: constraint sets that the same bin types and nodes accept are merged.
	constraintSet []int
}

// packingProblems returns the independent components of a market: the minimum cost is the sum of theirs.
func packingProblems(m solve.Market) []*packingProblem {
	r := presolver{market: m}
	for _, l := range m.ItemTypes {
		r.constraintSets = max(r.constraintSets, l.ConstraintSet+1)
	}
	r.findResources()
	r.findUseful()
	r.findBinTypes()
	r.mergeConstraintSets()
	var out []*packingProblem
	for _, p := range r.split() {
		if in := r.build(p); len(in.bins) > 0 {
			out = append(out, in)
		}
	}
	return out
}

// findResources sets resources to those that some item type requests.
func (r *presolver) findResources() {
	width := 0
	for _, l := range r.market.ItemTypes {
		width = max(width, len(l.Requests))
	}
	for i := range width {
		if slices.ContainsFunc(r.market.ItemTypes, func(l solve.ItemType) bool { return l.Requests.At(i) > 0 }) {
			r.resources = append(r.resources, i)
		}
	}
}

func (r *presolver) amounts(v resource.Vector) []int64 {
	out := make([]int64, len(r.resources))
	for k, i := range r.resources {
		out[k] = max(v.At(i), 0)
	}
	return out
}

func (r *presolver) findUseful() {
	sums := make([][]int64, r.constraintSets)
	for d := range sums {
		sums[d] = make([]int64, len(r.resources))
	}
	for _, l := range r.market.ItemTypes {
		for k, a := range r.amounts(l.Requests) {
			sums[l.ConstraintSet][k] = addSaturated(sums[l.ConstraintSet][k], resource.MulSaturated(a, int64(l.Pods)))
		}
	}
	for _, accepts := range r.market.Compatibility {
		sum := make([]int64, len(r.resources))
		for d, ok := range accepts {
			if !ok {
				continue
			}
			for k, a := range sums[d] {
				sum[k] = addSaturated(sum[k], a)
			}
		}
		r.useful = append(r.useful, sum)
	}
}

func addSaturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// clipped returns capacity limited to the total request of all pods that are accepted.
func (r *presolver) clipped(capacity resource.Vector, accepts int) []int64 {
	out := r.amounts(capacity)
	for k := range out {
		out[k] = min(out[k], r.useful[accepts][k])
	}
	return out
}

// findBinTypes sets binTypes to those that no other one dominates: with at least the same useful capacity and constraint sets, at
// least as available, and no more expensive.
func (r *presolver) findBinTypes() {
	all := r.market.BinTypes
	capacities := make([][]int64, len(all))
	order := make([]int, len(all))
	for i, m := range all {
		order[i] = i
		capacities[i] = r.clipped(m.Capacity, m.Compatibility)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(all[a].Price, all[b].Price), cmp.Compare(all[a].Supply, all[b].Supply), slices.Compare(capacities[b], capacities[a]))
	})
	sets := subsets{sets: r.market.Compatibility, known: map[[2]int]bool{}}
	for _, i := range order {
		dominated := slices.ContainsFunc(r.binTypes, func(k int) bool {
			return (all[k].Supply == none || all[k].Supply == all[i].Supply) && covers(capacities[k], capacities[i]) &&
				sets.within(all[i].Compatibility, all[k].Compatibility)
		})
		if !dominated {
			r.binTypes = append(r.binTypes, i)
		}
	}
	slices.Sort(r.binTypes)
}

func covers(a, b []int64) bool {
	for k := range b {
		if a[k] < b[k] {
			return false
		}
	}
	return true
}

// subsets caches which sets of constraint sets contain each other.
type subsets struct {
	sets  []solve.Compatibility
	known map[[2]int]bool
}

func (s subsets) within(a, b int) bool {
	if a == b {
		return true
	}
	yes, ok := s.known[[2]int{a, b}]
	if !ok {
		yes = true
		for d := 0; d < len(s.sets[a]) && yes; d++ {
			yes = !s.sets[a][d] || s.sets[b][d]
		}
		s.known[[2]int{a, b}] = yes
	}
	return yes
}

func (r *presolver) mergeConstraintSets() {
	used := make([]bool, len(r.market.Compatibility))
	for _, i := range r.binTypes {
		used[r.market.BinTypes[i].Compatibility] = true
	}
	for _, n := range r.market.Nodes {
		used[n.Compatibility] = true
	}
	byMeeting := map[string]int{}
	r.constraintSet = make([]int, r.constraintSets)
	var id []byte
	for d := range r.constraintSet {
		id = id[:0]
		for i, set := range r.market.Compatibility {
			if used[i] && set[d] {
				id = binary.AppendVarint(id, int64(i))
			}
		}
		first, ok := byMeeting[string(id)]
		if !ok {
			first = d
			byMeeting[string(id)] = d
		}
		r.constraintSet[d] = first
	}
}

// component is a set of item types, bin types and nodes of a market, by index, that is independent of the others.
type component struct{ itemTypes, binTypes, nodes []int }

// split returns the connected components: constraint sets that one bin type or node accepts belong together, and so do those of
// bin types that share a supply.
func (r *presolver) split() []component {
	u := newUnion(r.constraintSets + len(r.market.Supplies))
	// of is the first constraint set of every set.
	of := make([]int, len(r.market.Compatibility))
	for i, accepts := range r.market.Compatibility {
		of[i] = slices.Index(accepts, true)
	}
	join := func(accepts int) {
		for d, ok := range r.market.Compatibility[accepts] {
			if ok {
				u.join(d, of[accepts])
			}
		}
	}
	for _, i := range r.binTypes {
		m := r.market.BinTypes[i]
		join(m.Compatibility)
		if m.Supply != none {
			u.join(r.constraintSets+m.Supply, of[m.Compatibility])
		}
	}
	for _, n := range r.market.Nodes {
		join(n.Compatibility)
	}
	var components []component
	number := slices.Repeat([]int{none}, len(u))
	at := func(constraintSet int) *component {
		root := u.find(constraintSet)
		if number[root] == none {
			number[root] = len(components)
			components = append(components, component{})
		}
		return &components[number[root]]
	}
	for i, l := range r.market.ItemTypes {
		p := at(l.ConstraintSet)
		p.itemTypes = append(p.itemTypes, i)
	}
	for _, i := range r.binTypes {
		p := at(of[r.market.BinTypes[i].Compatibility])
		p.binTypes = append(p.binTypes, i)
	}
	for i, n := range r.market.Nodes {
		p := at(of[n.Compatibility])
		p.nodes = append(p.nodes, i)
	}
	return components
}

// union is a disjoint-set forest: every element points to another member of its set, or to itself.
type union []int

func newUnion(n int) union {
	u := make(union, n)
	for i := range u {
		u[i] = i
	}
	return u
}

func (u union) find(i int) int {
	for u[i] != i {
		u[i] = u[u[i]]
		i = u[i]
	}
	return i
}

func (u union) join(i, j int) { u[u.find(i)] = u.find(j) }
