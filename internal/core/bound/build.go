package bound

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// builder turns a component of a market into a packing problem.
type builder struct {
	*presolver
	component component
	// maxPerBin and caps are, by lot of the market, how many pods one bin may hold, and the shared caps that count them.
	maxPerBin []int
	caps      [][]int
	// lotOf is the lot of the packing problem for each lot of the market, none for lots of other components; demandOf is the
	// demand of each lot of the packing problem.
	lotOf    []int
	demandOf []int
	out      *packingProblem
}

func (r *presolver) build(p component) *packingProblem {
	m := builder{presolver: r, component: r.withoutFree(p), out: &packingProblem{}}
	m.mergeCaps()
	m.mergeLots()
	m.addBinTypes()
	m.addNodes()
	return m.out
}

// withoutFree returns a component without the bin types that are free, and without the lots that these can hold.
func (r *presolver) withoutFree(p component) component {
	free := func(i int) bool { return r.market.BinTypes[i].Supply == none && r.market.BinTypes[i].Price <= 0 }
	if !slices.ContainsFunc(p.binTypes, free) {
		return p
	}
	out := component{nodes: p.nodes}
	for _, i := range p.lots {
		l := r.market.Lots[i]
		if !slices.ContainsFunc(p.binTypes, func(k int) bool {
			m := r.market.BinTypes[k]
			return free(k) && r.market.Accepts[m.Accepts][l.Demand] && l.Requests.Fits(m.Capacity)
		}) {
			out.lots = append(out.lots, i)
		}
	}
	out.binTypes = slices.DeleteFunc(slices.Clone(p.binTypes), free)
	return out
}

const (
	// maxCaps limits the shared caps of a packing problem: each is a row of every relaxation.
	maxCaps = 16
	// looseFactor decides which caps are dropped: those that need fewer bins than the tightest cap by more than this factor,
	// since with that many bins they hardly bind.
	looseFactor = 4
)

// boundingCap is a cap that the pods of its lots exceed.
type boundingCap struct {
	lots          []int
	pods, maxPods int
}

// minBins returns the minimum number of bins that hold the pods.
func (t boundingCap) minBins() int { return (t.pods + t.maxPods - 1) / t.maxPods }

// mergeCaps reduces the caps: loose ones are dropped, those of one lot become the lot's maxPerBin, and if more than maxCaps of
// the others are left, caps of similar tightness are added up.
func (m *builder) mergeCaps() {
	m.maxPerBin = make([]int, len(m.market.Lots))
	m.caps = make([][]int, len(m.market.Lots))
	for _, i := range m.component.lots {
		m.maxPerBin[i] = m.market.Lots[i].Pods
	}
	var shared []boundingCap
	for _, t := range m.boundingCaps() {
		for _, i := range t.lots {
			m.maxPerBin[i] = min(m.maxPerBin[i], t.maxPods)
		}
		if len(t.lots) > 1 {
			shared = append(shared, t)
		}
	}
	slices.SortStableFunc(shared, func(a, b boundingCap) int { return cmp.Compare(b.minBins(), a.minBins()) })
	for i, t := range shared {
		n := i
		if len(shared) > maxCaps {
			n = i * maxCaps / len(shared)
		}
		if n == len(m.out.sharedCaps) {
			m.out.sharedCaps = append(m.out.sharedCaps, sharedCap{})
		}
		m.out.sharedCaps[n].maxPods += t.maxPods
		for _, i := range t.lots {
			if k := len(m.caps[i]); k == 0 || m.caps[i][k-1] != n {
				m.caps[i] = append(m.caps[i], n)
			}
		}
	}
}

// boundingCaps returns the caps that bind in the component, without the loose ones.
func (m *builder) boundingCaps() []boundingCap {
	here := make([]bool, len(m.market.Lots))
	for _, i := range m.component.lots {
		here[i] = true
	}
	var all []boundingCap
	bins := 0
	for _, c := range m.market.Caps {
		t := boundingCap{maxPods: c.Max}
		for _, i := range c.Lots {
			if here[i] {
				t.lots = append(t.lots, i)
				t.pods += m.market.Lots[i].Pods
			}
		}
		if t.pods > t.maxPods {
			all = append(all, t)
			bins = max(bins, t.minBins())
		}
	}
	return slices.DeleteFunc(all, func(t boundingCap) bool { return t.minBins()*looseFactor < bins })
}

const (
	// maxLots is the number of lots that are kept as they are: each is a row of the master program. If there are more, they are
	// aggregated to about aggregatedLots.
	maxLots, aggregatedLots = 150, 120
	// maxAggregatedLots is the number of aggregated lots above which the smallest are left out.
	maxAggregatedLots = 600
)

// mergeLots merges lots with equal requests, demands and caps.
func (m *builder) mergeLots() {
	m.lotOf = slices.Repeat([]int{none}, len(m.market.Lots))
	known := map[string]int{}
	for _, i := range m.component.lots {
		l := m.market.Lots[i]
		need := m.amounts(l.Requests)
		id := m.mergeKey(i)
		for _, a := range need {
			id = binary.AppendVarint(id, a)
		}
		if m.maxPerBin[i] < l.Pods && len(m.caps[i]) == 0 {
			// Caps of one lot may be added up without loss where the lots are alike.
			id = binary.AppendVarint(binary.AppendVarint(id, int64(-l.Pods)), int64(m.maxPerBin[i]))
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
		m.out.lots[n].maxPerBin += m.maxPerBin[i]
	}
	if len(m.out.lots) > maxLots {
		m.aggregateLots()
	}
	for n := range m.out.lots {
		l := &m.out.lots[n]
		for _, c := range l.caps {
			l.maxPerBin = min(l.maxPerBin, m.out.sharedCaps[c].maxPods)
			m.out.sharedCaps[c].lots = append(m.out.sharedCaps[c].lots, n)
		}
	}
}

// mergeKey is equal for lots of the market that may be aggregated, whatever their requests.
func (m *builder) mergeKey(i int) []byte {
	id := binary.AppendVarint(nil, int64(m.demand[m.market.Lots[i].Demand]))
	id = binary.AppendVarint(id, int64(len(m.caps[i])))
	for _, c := range m.caps[i] {
		id = binary.AppendVarint(id, int64(c))
	}
	return id
}

// aggregateLots merges lots with similar requests. The merged lot needs the minimum of each resource.
func (m *builder) aggregateLots() {
	known := map[string]int{}
	groups := make([]int, len(m.out.lots))
	for _, i := range m.component.lots {
		id := m.mergeKey(i)
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
	for _, members := range cluster(points, weights, groups, aggregatedLots) {
		sum := lot{need: slices.Clone(points[members[0]]), caps: m.out.lots[members[0]].caps}
		for _, n := range members {
			for k, a := range points[n] {
				sum.need[k] = min(sum.need[k], a)
			}
			sum.pods += m.out.lots[n].pods
			sum.maxPerBin += m.out.lots[n].maxPerBin
			m.out.originalLots = append(m.out.originalLots, originalLot{need: points[n], pods: m.out.lots[n].pods, lot: len(lots)})
		}
		lots = append(lots, sum)
		demandOf = append(demandOf, m.demandOf[members[0]])
	}
	m.out.lots, m.demandOf = lots, demandOf
	if len(lots) > maxAggregatedLots {
		m.dropSmallest()
	}
}

// dropSmallest leaves out the lots with the smallest total requests.
func (m *builder) dropSmallest() {
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
	kept := order[:maxAggregatedLots]
	slices.Sort(kept)
	m.out.originalLots = nil // the indexes of their lots change
	var lots []lot
	var demandOf []int
	for _, n := range kept {
		lots, demandOf = append(lots, m.out.lots[n]), append(demandOf, m.demandOf[n])
	}
	m.out.lots, m.demandOf = lots, demandOf
}

// bin returns a bin with the lots that it can hold, nil if there are none.
func (m *builder) bin(capacity []int64, accepts int) *bin {
	b := &bin{capacity: capacity}
	for n, l := range m.out.lots {
		if !m.market.Accepts[accepts][m.demandOf[n]] {
			continue
		}
		fits := int64(l.maxPerBin)
		for k, a := range l.need {
			if a > 0 {
				fits = min(fits, b.capacity[k]/a)
			}
		}
		if fits > 0 {
			b.items = append(b.items, item{lot: n, maxPods: int(fits)})
		}
	}
	if len(b.items) == 0 {
		return nil
	}
	return b
}

// addBinTypes adds the bin types, with their supplies.
func (m *builder) addBinTypes() {
	numbers := map[int]int{}
	for _, i := range m.component.binTypes {
		binType := m.market.BinTypes[i]
		b := m.bin(m.amounts(binType.Capacity), binType.Accepts)
		if b == nil {
			continue
		}
		b.price, b.supply = binType.Price, none
		if binType.Supply != none {
			s, ok := numbers[binType.Supply]
			if !ok {
				s = len(m.out.supplies)
				numbers[binType.Supply] = s
				m.out.supplies = append(m.out.supplies, m.market.Supplies[binType.Supply])
			}
			b.supply = s
		}
		m.out.bins = append(m.out.bins, b)
	}
}

// maxNodeGroups limits the groups of nodes in a packing problem: each is a row of the master program.
const maxNodeGroups = 48

// addNodes adds the nodes, with a supply for each group of equal ones.
func (m *builder) addNodes() {
	known := map[string]int{}
	var kinds []nodeGroup
	var accepts []int
	for _, i := range m.component.nodes {
		node := m.market.Nodes[i]
		id := binary.AppendVarint(nil, int64(node.Accepts))
		for _, a := range m.clipped(node.Free, node.Accepts) {
			id = binary.AppendVarint(id, a)
		}
		k, ok := known[string(id)]
		if !ok {
			k = none
			if b := m.bin(m.amounts(node.Free), node.Accepts); b != nil {
				k = len(kinds)
				kinds = append(kinds, nodeGroup{bin: b})
				accepts = append(accepts, node.Accepts)
			}
			known[string(id)] = k
		}
		if k != none {
			kinds[k].count++
		}
	}
	if len(kinds) > maxNodeGroups {
		m.out.nodeGroups, m.out.firstAggregate = kinds, len(m.out.supplies)
		kinds = m.aggregateNodes(kinds, accepts)
	}
	for _, kind := range kinds {
		kind.supply = len(m.out.supplies)
		m.out.supplies = append(m.out.supplies, kind.count)
		m.out.bins = append(m.out.bins, kind.bin)
	}
}

// aggregateNodes returns at most about maxNodeGroups groups with the average capacity of those that they represent.
func (m *builder) aggregateNodes(kinds []nodeGroup, accepts []int) []nodeGroup {
	points, weights := make([][]int64, len(kinds)), make([]int, len(kinds))
	for k, kind := range kinds {
		points[k], weights[k] = kind.capacity, kind.count
	}
	var out []nodeGroup
	for _, members := range cluster(points, weights, accepts, maxNodeGroups) {
		count, sums := 0, make([]float64, len(m.resources))
		for _, k := range members {
			count += kinds[k].count
			for r, a := range kinds[k].capacity {
				sums[r] += float64(a) * float64(kinds[k].count)
			}
		}
		capacity := make([]int64, len(sums))
		for r, sum := range sums {
			capacity[r] = int64(sum / float64(count))
		}
		if b := m.bin(capacity, accepts[members[0]]); b != nil {
			out = append(out, nodeGroup{b, count})
		}
	}
	return out
}
