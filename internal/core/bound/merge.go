package bound

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// merger turns a part of a market into an instance.
type merger struct {
	*reducer
	part part
	// most and caps are, by lot of the market, how many pods one machine may hold, and the shared caps that count them.
	most []int
	caps [][]int
	// lotOf is the lot of the instance for each of the market, none for those of other parts; accepting are the demands of
	// the instance's lots.
	lotOf    []int
	demandOf []int
	out      *instance
}

func (r *reducer) reduce(p part) *instance {
	m := merger{reducer: r, part: r.paid(p), out: &instance{}}
	m.mergeCaps()
	m.mergeLots()
	m.sell()
	m.stand()
	return m.out
}

// paid is a part without the machines that are free, and without the lots that these can hold.
func (r *reducer) paid(p part) part {
	free := func(i int) bool { return r.market.BinTypes[i].Supply == none && r.market.BinTypes[i].Price <= 0 }
	if !slices.ContainsFunc(p.machines, free) {
		return p
	}
	out := part{nodes: p.nodes}
	for _, i := range p.lots {
		l := r.market.Lots[i]
		if !slices.ContainsFunc(p.machines, func(k int) bool {
			m := r.market.BinTypes[k]
			return free(k) && r.market.Accepts[m.Accepts][l.Demand] && l.Requests.Fits(m.Room)
		}) {
			out.lots = append(out.lots, i)
		}
	}
	out.machines = slices.DeleteFunc(slices.Clone(p.machines), free)
	return out
}

const (
	// mostCaps is how many shared caps an instance has at most: each is a row of every small program.
	mostCaps = 16
	// loose is how many times fewer machines than the tightest cap another one may ask for before it is dropped: with so
	// many machines around, it will be easy to meet.
	loose = 4
)

// tight is a cap with what it asks for.
type tight struct {
	lots       []int
	pods, most int
}

// machines is how many are needed at least to hold the pods.
func (t tight) machines() int { return (t.pods + t.most - 1) / t.most }

// mergeCaps sorts caps: those that are easy to meet are dropped, those of one lot become a property of it, and if there are
// too many of the others, those that are about as tight are added up.
func (m *merger) mergeCaps() {
	m.most = make([]int, len(m.market.Lots))
	m.caps = make([][]int, len(m.market.Lots))
	for _, i := range m.part.lots {
		m.most[i] = m.market.Lots[i].Pods
	}
	var shared []tight
	for _, t := range m.tightCaps() {
		for _, i := range t.lots {
			m.most[i] = min(m.most[i], t.most)
		}
		if len(t.lots) > 1 {
			shared = append(shared, t)
		}
	}
	slices.SortStableFunc(shared, func(a, b tight) int { return cmp.Compare(b.machines(), a.machines()) })
	for i, t := range shared {
		n := i
		if len(shared) > mostCaps {
			n = i * mostCaps / len(shared)
		}
		if n == len(m.out.caps) {
			m.out.caps = append(m.out.caps, capped{})
		}
		m.out.caps[n].most += t.most
		for _, i := range t.lots {
			if k := len(m.caps[i]); k == 0 || m.caps[i][k-1] != n {
				m.caps[i] = append(m.caps[i], n)
			}
		}
	}
}

// tightCaps are the caps that matter to the part.
func (m *merger) tightCaps() []tight {
	here := make([]bool, len(m.market.Lots))
	for _, i := range m.part.lots {
		here[i] = true
	}
	var all []tight
	machines := 0
	for _, c := range m.market.Caps {
		t := tight{most: c.Most}
		for _, i := range c.Lots {
			if here[i] {
				t.lots = append(t.lots, i)
				t.pods += m.market.Lots[i].Pods
			}
		}
		if t.pods > t.most {
			all = append(all, t)
			machines = max(machines, t.machines())
		}
	}
	return slices.DeleteFunc(all, func(t tight) bool { return t.machines()*loose < machines })
}

const (
	// mostLots is how many lots are taken as they are: each is a row of the master program. If there are more, they are
	// lumped together into lumpedLots, where they may be.
	mostLots, lumpedLots = 150, 120
	// allLots is the number of lots above which the smallest are left out.
	allLots = 600
)

// mergeLots makes lots one that need the same, demand the same and are capped alike.
func (m *merger) mergeLots() {
	m.lotOf = slices.Repeat([]int{none}, len(m.market.Lots))
	known := map[string]int{}
	for _, i := range m.part.lots {
		l := m.market.Lots[i]
		need := m.amounts(l.Requests)
		id := m.company(i)
		for _, a := range need {
			id = binary.AppendVarint(id, a)
		}
		if m.most[i] < l.Pods && len(m.caps[i]) == 0 {
			// Caps of one lot may be added up without loss where the lots are alike.
			id = binary.AppendVarint(binary.AppendVarint(id, int64(-l.Pods)), int64(m.most[i]))
		}
		n, ok := known[string(id)]
		if !ok {
			n = len(m.out.lots)
			known[string(id)] = n
			m.out.lots = append(m.out.lots, lot{need: need, caps: m.caps[i]})
			m.demandOf = append(m.demandOf, l.Demand)
		}
		m.lotOf[i] = n
		m.out.lots[n].pods += l.Pods
		m.out.lots[n].most += m.most[i]
	}
	if len(m.out.lots) > mostLots {
		m.lump()
	}
	for n := range m.out.lots {
		l := &m.out.lots[n]
		for _, c := range l.caps {
			l.most = min(l.most, m.out.caps[c].most)
			m.out.caps[c].lots = append(m.out.caps[c].lots, n)
		}
	}
}

// company is equal for lots of the market that may become one, whatever they need.
func (m *merger) company(i int) []byte {
	id := binary.AppendVarint(nil, int64(m.demand[m.market.Lots[i].Demand]))
	id = binary.AppendVarint(id, int64(len(m.caps[i])))
	for _, c := range m.caps[i] {
		id = binary.AppendVarint(id, int64(c))
	}
	return id
}

// lump makes lots one that need about the same: as little as the least of them.
func (m *merger) lump() {
	known := map[string]int{}
	groups := make([]int, len(m.out.lots))
	for _, i := range m.part.lots {
		id := m.company(i)
		if _, ok := known[string(id)]; !ok {
			known[string(id)] = len(known)
		}
		groups[m.lotOf[i]] = known[string(id)]
	}
	points, weights := make([][]int64, len(m.out.lots)), make([]int, len(m.out.lots))
	for n, l := range m.out.lots {
		points[n], weights[n] = l.need, l.pods
	}
	var lots []lot
	var demandOf []int
	for _, members := range cluster(points, weights, groups, lumpedLots) {
		sum := lot{need: slices.Clone(points[members[0]]), caps: m.out.lots[members[0]].caps}
		for _, n := range members {
			for k, a := range points[n] {
				sum.need[k] = min(sum.need[k], a)
			}
			sum.pods += m.out.lots[n].pods
			sum.most += m.out.lots[n].most
			m.out.fine = append(m.out.fine, fineLot{need: points[n], pods: m.out.lots[n].pods, lot: len(lots)})
		}
		lots = append(lots, sum)
		demandOf = append(demandOf, m.demandOf[members[0]])
	}
	m.out.lots, m.demandOf = lots, demandOf
	if len(lots) > allLots {
		m.drop()
	}
}

// drop leaves out the lots that need the least.
func (m *merger) drop() {
	points, pods := make([][]int64, len(m.out.lots)), make([]int, len(m.out.lots))
	for n, l := range m.out.lots {
		points[n], pods[n] = l.need, l.pods
	}
	all := totals(points, pods)
	size := func(n int) float64 {
		sum := 0.0
		for k, a := range points[n] {
			if all[k] > 0 {
				sum += float64(a) * float64(pods[n]) / all[k]
			}
		}
		return sum
	}
	order := make([]int, len(m.out.lots))
	for n := range order {
		order[n] = n
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(size(j), size(i)) })
	kept := order[:allLots]
	slices.Sort(kept)
	m.out.fine = nil // their lots get other numbers
	var lots []lot
	var demandOf []int
	for _, n := range kept {
		lots, demandOf = append(lots, m.out.lots[n]), append(demandOf, m.demandOf[n])
	}
	m.out.lots, m.demandOf = lots, demandOf
}

// bin is a machine or node with the lots it can hold, nil when there are none.
func (m *merger) bin(room []int64, accepts int) *bin {
	b := &bin{room: room}
	for n, l := range m.out.lots {
		if !m.market.Accepts[accepts][m.demandOf[n]] {
			continue
		}
		most := int64(l.most)
		for k, a := range l.need {
			if a > 0 {
				most = min(most, b.room[k]/a)
			}
		}
		if most > 0 {
			b.items = append(b.items, item{lot: n, most: int(most)})
		}
	}
	if len(b.items) == 0 {
		return nil
	}
	return b
}

// sell adds the machines, with the supplies that are drawn on.
func (m *merger) sell() {
	numbers := map[int]int{}
	for _, i := range m.part.machines {
		machine := m.market.BinTypes[i]
		b := m.bin(m.amounts(machine.Room), machine.Accepts)
		if b == nil {
			continue
		}
		b.price, b.supply = machine.Price, none
		if machine.Supply != none {
			s, ok := numbers[machine.Supply]
			if !ok {
				s = len(m.out.supplies)
				numbers[machine.Supply] = s
				m.out.supplies = append(m.out.supplies, m.market.Supplies[machine.Supply])
			}
			b.supply = s
		}
		m.out.bins = append(m.out.bins, b)
	}
}

// mostKinds is how many kinds of nodes an instance has at most: each is a row of the master program.
const mostKinds = 48

// stand adds the nodes, a supply for each kind.
func (m *merger) stand() {
	known := map[string]int{}
	var kinds []crowded
	var accepts []int
	for _, i := range m.part.nodes {
		node := m.market.Nodes[i]
		id := binary.AppendVarint(nil, int64(node.Accepts))
		for _, a := range m.clipped(node.Room, node.Accepts) {
			id = binary.AppendVarint(id, a)
		}
		k, ok := known[string(id)]
		if !ok {
			k = none
			if b := m.bin(m.amounts(node.Room), node.Accepts); b != nil {
				k = len(kinds)
				kinds = append(kinds, crowded{bin: b})
				accepts = append(accepts, node.Accepts)
			}
			known[string(id)] = k
		}
		if k != none {
			kinds[k].count++
		}
	}
	if len(kinds) > mostKinds {
		m.out.crowd, m.out.standIns = kinds, len(m.out.supplies)
		kinds = m.middling(kinds, accepts)
	}
	for _, kind := range kinds {
		kind.supply = len(m.out.supplies)
		m.out.supplies = append(m.out.supplies, kind.count)
		m.out.bins = append(m.out.bins, kind.bin)
	}
}

// middling are few nodes that stand for many.
func (m *merger) middling(kinds []crowded, accepts []int) []crowded {
	points, weights := make([][]int64, len(kinds)), make([]int, len(kinds))
	for k, kind := range kinds {
		points[k], weights[k] = kind.room, kind.count
	}
	var out []crowded
	for _, members := range cluster(points, weights, accepts, mostKinds) {
		count, sums := 0, make([]float64, len(m.resources))
		for _, k := range members {
			count += kinds[k].count
			for r, a := range kinds[k].room {
				sums[r] += float64(a) * float64(kinds[k].count)
			}
		}
		room := make([]int64, len(sums))
		for r, sum := range sums {
			room[r] = int64(sum / float64(count))
		}
		if b := m.bin(room, accepts[members[0]]); b != nil {
			out = append(out, crowded{b, count})
		}
	}
	return out
}
