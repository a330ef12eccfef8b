package solve

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// daemonRange is the least and the most that daemons take of each resource on the candidates.
func (t *template) daemonRange(mask bitset.Set) (least, most resource.Vector) {
	if !t.daemoned {
		return nil, nil
	}
	first := true
	for column := range mask.All() {
		if first {
			least, most, first = t.daemons[column].Clone(), t.daemons[column].Clone(), false
			continue
		}
		least, most = least.Min(t.daemons[column]), most.Max(t.daemons[column])
	}
	return least, most
}

// byPrice is the columns of a state's mask, cheapest first, ties by name.
func (t *template) byPrice(st *state) []int32 {
	if st.byPrice == nil {
		prices := t.prices(st)
		st.byPrice = make([]int32, 0, st.mask.Len())
		for column := range st.mask.All() {
			st.byPrice = append(st.byPrice, int32(column))
		}
		name := func(column int32) string { return t.columns.types[t.columns.owner[column]].Name }
		slices.SortFunc(st.byPrice, func(a, b int32) int {
			return cmp.Or(cmp.Compare(prices[a], prices[b]), strings.Compare(name(a), name(b)), cmp.Compare(a, b))
		})
	}
	return st.byPrice
}

// byName is the columns in the order of their instance types' names.
func (t *template) byName() []int32 {
	if t.nameOrder == nil {
		t.nameOrder = make([]int32, len(t.columns.owner))
		for column := range t.nameOrder {
			t.nameOrder[column] = int32(column)
		}
		slices.SortStableFunc(t.nameOrder, func(a, b int32) int {
			return strings.Compare(t.columns.types[t.columns.owner[a]].Name, t.columns.types[t.columns.owner[b]].Name)
		})
	}
	return t.nameOrder
}

// cheapest is the candidate of on with the lowest price; -1 for a claim without candidates.
func (on *openNode) cheapest() int {
	for _, column := range on.t.byPrice(on.t.states[on.state]) {
		if on.mask.Has(int(column)) {
			return int(column)
		}
	}
	return -1
}

// price is that of the cheapest candidate of on.
func (on *openNode) price() float64 {
	if column := on.cheapest(); column >= 0 {
		return on.t.prices(on.t.states[on.state])[column]
	}
	return math.Inf(1)
}

// cheapestDevices are what the cheapest candidate comes with.
func (on *openNode) cheapestDevices() *device.Template {
	for _, column := range on.t.byPrice(on.t.states[on.state]) {
		if on.mask.Has(int(column)) {
			return on.t.columns.types[on.t.columns.owner[column]].Devices
		}
	}
	return nil
}
