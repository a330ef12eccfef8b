package bound

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// reducer turns a market into instances. Every step leaves the least cost as it was, or lowers it.
type reducer struct {
	market    solve.Market
	resources []int
	// demands is how many there are.
	demands int
	// useful is, by set of demands, what all pods with these demands need together.
	useful [][]int64
	// machines are those worth buying, by index.
	machines []int
	// demand is what stands for a demand: demands that the same machines and nodes meet are one.
	demand []int
}

// instances are the parts of a market that have nothing to do with each other: the least cost is the sum of theirs.
func instances(m solve.Market) []*instance {
	r := reducer{market: m}
	for _, l := range m.Lots {
		r.demands = max(r.demands, l.Demand+1)
	}
	r.findResources()
	r.findUseful()
	r.findMachines()
	r.mergeDemands()
	var out []*instance
	for _, p := range r.split() {
		if in := r.reduce(p); len(in.bins) > 0 {
			out = append(out, in)
		}
	}
	return out
}

// findResources keeps the resources that some lot needs.
func (r *reducer) findResources() {
	width := 0
	for _, l := range r.market.Lots {
		width = max(width, len(l.Requests))
	}
	for i := range width {
		if slices.ContainsFunc(r.market.Lots, func(l solve.Lot) bool { return l.Requests.At(i) > 0 }) {
			r.resources = append(r.resources, i)
		}
	}
}

func (r *reducer) amounts(v resource.Vector) []int64 {
	out := make([]int64, len(r.resources))
	for k, i := range r.resources {
		out[k] = max(v.At(i), 0)
	}
	return out
}

func (r *reducer) findUseful() {
	sums := make([][]int64, r.demands)
	for d := range sums {
		sums[d] = make([]int64, len(r.resources))
	}
	for _, l := range r.market.Lots {
		for k, a := range r.amounts(l.Requests) {
			sums[l.Demand][k] = addSaturated(sums[l.Demand][k], resource.MulSaturated(a, int64(l.Pods)))
		}
	}
	for _, accepts := range r.market.Accepts {
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

// clipped is room cut down to what all pods that are accepted could use.
func (r *reducer) clipped(room resource.Vector, accepts int) []int64 {
	out := r.amounts(room)
	for k := range out {
		out[k] = min(out[k], r.useful[accepts][k])
	}
	return out
}

// findMachines keeps the machines that are worth buying: those for which there is no other that has as much useful room,
// meets as many demands, can be had as often and costs no more.
func (r *reducer) findMachines() {
	all := r.market.BinTypes
	rooms := make([][]int64, len(all))
	order := make([]int, len(all))
	for i, m := range all {
		order[i] = i
		rooms[i] = r.clipped(m.Room, m.Accepts)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(all[a].Price, all[b].Price), cmp.Compare(all[a].Supply, all[b].Supply), slices.Compare(rooms[b], rooms[a]))
	})
	sets := subsets{sets: r.market.Accepts, known: map[[2]int]bool{}}
	for _, i := range order {
		dominated := slices.ContainsFunc(r.machines, func(k int) bool {
			return (all[k].Supply == none || all[k].Supply == all[i].Supply) && covers(rooms[k], rooms[i]) &&
				sets.within(all[i].Accepts, all[k].Accepts)
		})
		if !dominated {
			r.machines = append(r.machines, i)
		}
	}
	slices.Sort(r.machines)
}

func covers(a, b []int64) bool {
	for k := range b {
		if a[k] < b[k] {
			return false
		}
	}
	return true
}

// subsets remembers which sets of demands lie within which.
type subsets struct {
	sets  []solve.Accepts
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

func (r *reducer) mergeDemands() {
	used := make([]bool, len(r.market.Accepts))
	for _, i := range r.machines {
		used[r.market.BinTypes[i].Accepts] = true
	}
	for _, n := range r.market.Nodes {
		used[n.Accepts] = true
	}
	byMeeting := map[string]int{}
	r.demand = make([]int, r.demands)
	var id []byte
	for d := range r.demand {
		id = id[:0]
		for i, set := range r.market.Accepts {
			if used[i] && set[d] {
				id = binary.AppendVarint(id, int64(i))
			}
		}
		first, ok := byMeeting[string(id)]
		if !ok {
			first = d
			byMeeting[string(id)] = d
		}
		r.demand[d] = first
	}
}

// part is lots, machines and nodes of a market that have nothing to do with the others, by index.
type part struct{ lots, machines, nodes []int }

// split finds the parts: demands that one machine or node meets belong together, and so do those that share a supply.
func (r *reducer) split() []part {
	u := newUnion(r.demands + len(r.market.Supplies))
	// of is some demand of every set.
	of := make([]int, len(r.market.Accepts))
	for i, accepts := range r.market.Accepts {
		of[i] = slices.Index(accepts, true)
	}
	join := func(accepts int) {
		for d, ok := range r.market.Accepts[accepts] {
			if ok {
				u.join(d, of[accepts])
			}
		}
	}
	for _, i := range r.machines {
		m := r.market.BinTypes[i]
		join(m.Accepts)
		if m.Supply != none {
			u.join(r.demands+m.Supply, of[m.Accepts])
		}
	}
	for _, n := range r.market.Nodes {
		join(n.Accepts)
	}
	var parts []part
	number := slices.Repeat([]int{none}, len(u))
	at := func(demand int) *part {
		root := u.find(demand)
		if number[root] == none {
			number[root] = len(parts)
			parts = append(parts, part{})
		}
		return &parts[number[root]]
	}
	for i, l := range r.market.Lots {
		p := at(l.Demand)
		p.lots = append(p.lots, i)
	}
	for _, i := range r.machines {
		p := at(of[r.market.BinTypes[i].Accepts])
		p.machines = append(p.machines, i)
	}
	for i, n := range r.market.Nodes {
		p := at(of[n.Accepts])
		p.nodes = append(p.nodes, i)
	}
	return parts
}

// union keeps things together that were joined: everything points to another member of its set, or to itself.
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
