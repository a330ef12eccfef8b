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
	// maxPerBin and caps are, by item type of the market, how many pods one bin may hold, and the shared caps that count them.
	maxPerBin []int
	caps      [][]int
	// itemTypeOf is the item type of the packing problem for each item type of the market, none for those of other components;
	// constraintSetOf is the constraint set of each item type of the packing problem.
	itemTypeOf      []int
	constraintSetOf []int
	out             *packingProblem
}

func (r *presolver) build(p component) *packingProblem {
	m := builder{presolver: r, component: r.withoutFree(p), out: &packingProblem{}}
	m.mergeCaps()
	m.mergeItemTypes()
	m.addBinTypes()
	m.addNodes()
	return m.out
}

// withoutFree returns a component without the bin types that are free, and without the item types that these can hold.
func (r *presolver) withoutFree(p component) component {
	free := func(i int) bool { return r.market.BinTypes[i].Supply == none && r.market.BinTypes[i].Price <= 0 }
	if !slices.ContainsFunc(p.binTypes, free) {
		return p
	}
	out := component{nodes: p.nodes}
	for _, i := range p.itemTypes {
		l := r.market.ItemTypes[i]
		if !slices.ContainsFunc(p.binTypes, func(k int) bool {
			m := r.market.BinTypes[k]
			return free(k) && r.market.Compatibility[m.Compatibility][l.ConstraintSet] && l.Requests.Fits(m.Capacity)
		}) {
			out.itemTypes = append(out.itemTypes, i)
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

// boundingCap is a cap that the pods of its item types exceed.
type boundingCap struct {
	itemTypes     []int
	pods, maxPods int
}

// minBins returns the minimum number of bins that hold the pods.
func (t boundingCap) minBins() int { return (t.pods + t.maxPods - 1) / t.maxPods }

// mergeCaps reduces the caps: loose ones are dropped, those of one item type become the item type's maxPerBin, and if more than maxCaps of
// the others are left, caps of similar tightness are added up.
func (m *builder) mergeCaps() {
	m.maxPerBin = make([]int, len(m.market.ItemTypes))
	m.caps = make([][]int, len(m.market.ItemTypes))
	for _, i := range m.component.itemTypes {
		m.maxPerBin[i] = m.market.ItemTypes[i].Pods
	}
	var shared []boundingCap
	for _, t := range m.boundingCaps() {
		for _, i := range t.itemTypes {
			m.maxPerBin[i] = min(m.maxPerBin[i], t.maxPods)
		}
		if len(t.itemTypes) > 1 {
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
		for _, i := range t.itemTypes {
			if k := len(m.caps[i]); k == 0 || m.caps[i][k-1] != n {
				m.caps[i] = append(m.caps[i], n)
			}
		}
	}
}

// boundingCaps returns the caps that bind in the component, without the loose ones.
func (m *builder) boundingCaps() []boundingCap {
	here := make([]bool, len(m.market.ItemTypes))
	for _, i := range m.component.itemTypes {
		here[i] = true
	}
	var all []boundingCap
	bins := 0
	for _, c := range m.market.Caps {
		t := boundingCap{maxPods: c.Max}
		for _, i := range c.ItemTypes {
			if here[i] {
				t.itemTypes = append(t.itemTypes, i)
				t.pods += m.market.ItemTypes[i].Pods
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
	// maxItemTypes is the number of item types that are kept as they are: each is a row of the master program. If there are more, they are
	// aggregated to about aggregatedItemTypes.
	maxItemTypes, aggregatedItemTypes = 150, 120
	// maxAggregatedItemTypes is the number of aggregated item types above which the smallest are left out.
	maxAggregatedItemTypes = 600
)

// mergeItemTypes merges item types with equal requests, constraint sets and caps.
func (m *builder) mergeItemTypes() {
	m.itemTypeOf = slices.Repeat([]int{none}, len(m.market.ItemTypes))
	known := map[string]int{}
	for _, i := range m.component.itemTypes {
		l := m.market.ItemTypes[i]
		need := m.amounts(l.Requests)
		id := m.mergeKey(i)
		for _, a := range need {
			id = binary.AppendVarint(id, a)
		}
		if m.maxPerBin[i] < l.Pods && len(m.caps[i]) == 0 {
			// Caps of one item type may be added up without loss where the item types are alike.
			id = binary.AppendVarint(binary.AppendVarint(id, int64(-l.Pods)), int64(m.maxPerBin[i]))
		}
		n, ok := known[string(id)]
		if !ok {
			n = len(m.out.itemTypes)
			known[string(id)] = n
			m.out.itemTypes = append(m.out.itemTypes, itemType{need: need, caps: m.caps[i]})
			m.constraintSetOf = append(m.constraintSetOf, l.ConstraintSet)
		}
		m.itemTypeOf[i] = n
		m.out.itemTypes[n].pods += l.Pods
		m.out.itemTypes[n].maxPerBin += m.maxPerBin[i]
	}
	if len(m.out.itemTypes) > maxItemTypes {
		m.aggregateItemTypes()
	}
	for n := range m.out.itemTypes {
		l := &m.out.itemTypes[n]
		for _, c := range l.caps {
			l.maxPerBin = min(l.maxPerBin, m.out.sharedCaps[c].maxPods)
			m.out.sharedCaps[c].itemTypes = append(m.out.sharedCaps[c].itemTypes, n)
		}
	}
}

// mergeKey is equal for item types of the market that may be aggregated, whatever their requests.
func (m *builder) mergeKey(i int) []byte {
	id := binary.AppendVarint(nil, int64(m.constraintSet[m.market.ItemTypes[i].ConstraintSet]))
	id = binary.AppendVarint(id, int64(len(m.caps[i])))
	for _, c := range m.caps[i] {
		id = binary.AppendVarint(id, int64(c))
	}
	return id
}

// aggregateItemTypes merges item types with similar requests. The merged item type needs the minimum of each resource.
func (m *builder) aggregateItemTypes() {
	known := map[string]int{}
	groups := make([]int, len(m.out.itemTypes))
	for _, i := range m.component.itemTypes {
		id := m.mergeKey(i)
		if _, ok := known[string(id)]; !ok {
			known[string(id)] = len(known)
		}
		groups[m.itemTypeOf[i]] = known[string(id)]
	}
	points, weights := make([][]int64, len(m.out.itemTypes)), make([]int, len(m.out.itemTypes))
	for n, l := range m.out.itemTypes {
		points[n], weights[n] = l.need, l.pods
	}
	var itemTypes []itemType
	var constraintSetOf []int
	for _, members := range cluster(points, weights, groups, aggregatedItemTypes) {
		sum := itemType{need: slices.Clone(points[members[0]]), caps: m.out.itemTypes[members[0]].caps}
		for _, n := range members {
			for k, a := range points[n] {
				sum.need[k] = min(sum.need[k], a)
			}
			sum.pods += m.out.itemTypes[n].pods
			sum.maxPerBin += m.out.itemTypes[n].maxPerBin
			m.out.originalItemTypes = append(m.out.originalItemTypes, originalItemType{need: points[n], pods: m.out.itemTypes[n].pods, itemType: len(itemTypes)})
		}
		itemTypes = append(itemTypes, sum)
		constraintSetOf = append(constraintSetOf, m.constraintSetOf[members[0]])
	}
	m.out.itemTypes, m.constraintSetOf = itemTypes, constraintSetOf
	if len(itemTypes) > maxAggregatedItemTypes {
		m.dropSmallest()
	}
}

// dropSmallest leaves out the item types with the smallest total requests.
func (m *builder) dropSmallest() {
	points, pods := make([][]int64, len(m.out.itemTypes)), make([]int, len(m.out.itemTypes))
	for n, l := range m.out.itemTypes {
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
	order := make([]int, len(m.out.itemTypes))
	for n := range order {
		order[n] = n
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(size(j), size(i)) })
	kept := order[:maxAggregatedItemTypes]
	slices.Sort(kept)
	m.out.originalItemTypes = nil // the indexes of their item types change
	var itemTypes []itemType
	var constraintSetOf []int
	for _, n := range kept {
		itemTypes, constraintSetOf = append(itemTypes, m.out.itemTypes[n]), append(constraintSetOf, m.constraintSetOf[n])
	}
	m.out.itemTypes, m.constraintSetOf = itemTypes, constraintSetOf
}

// bin returns a bin with the item types that it can hold, nil if there are none.
func (m *builder) bin(capacity []int64, accepts int) *bin {
	b := &bin{capacity: capacity}
	for n, l := range m.out.itemTypes {
		if !m.market.Compatibility[accepts][m.constraintSetOf[n]] {
			continue
		}
		fits := int64(l.maxPerBin)
		for k, a := range l.need {
			if a > 0 {
				fits = min(fits, b.capacity[k]/a)
			}
		}
		if fits > 0 {
			b.items = append(b.items, item{itemType: n, maxPods: int(fits)})
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
		b := m.bin(m.amounts(binType.Capacity), binType.Compatibility)
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
		id := binary.AppendVarint(nil, int64(node.Compatibility))
		for _, a := range m.clipped(node.Free, node.Compatibility) {
			id = binary.AppendVarint(id, a)
		}
		k, ok := known[string(id)]
		if !ok {
			k = none
			if b := m.bin(m.amounts(node.Free), node.Compatibility); b != nil {
				k = len(kinds)
				kinds = append(kinds, nodeGroup{bin: b})
				accepts = append(accepts, node.Compatibility)
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
