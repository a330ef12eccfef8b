package compile

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/device"
)

// ByPrice is the columns of a state's mask, cheapest first, ties by name.
func (t *Template) ByPrice(st *State) []int32 {
	if st.byPrice == nil {
		prices := t.Prices(st)
		st.byPrice = make([]int32, 0, st.Mask.Len())
		for column := range st.Mask.All() {
			st.byPrice = append(st.byPrice, int32(column))
		}
		name := func(column int32) string { return t.Columns.Types[t.Columns.Owner[column]].Name }
		slices.SortFunc(st.byPrice, func(a, b int32) int {
			return cmp.Or(cmp.Compare(prices[a], prices[b]), strings.Compare(name(a), name(b)), cmp.Compare(a, b))
		})
	}
	return st.byPrice
}

// ByName is the columns in the order of their instance types' names.
func (t *Template) ByName() []int32 {
	if t.nameOrder == nil {
		t.nameOrder = make([]int32, len(t.Columns.Owner))
		for column := range t.nameOrder {
			t.nameOrder[column] = int32(column)
		}
		slices.SortStableFunc(t.nameOrder, func(a, b int32) int {
			return strings.Compare(t.Columns.Types[t.Columns.Owner[a]].Name, t.Columns.Types[t.Columns.Owner[b]].Name)
		})
	}
	return t.nameOrder
}

// cheapest is the candidate of the open node with the lowest price; -1 for one without candidates.
func (on *OpenNode) cheapest() int {
	for _, column := range on.Template.ByPrice(on.Template.States[on.State]) {
		if on.Mask.Has(int(column)) {
			return int(column)
		}
	}
	return -1
}

// Price is that of the cheapest candidate of on.
func (on *OpenNode) Price() float64 {
	if column := on.cheapest(); column >= 0 {
		return on.Template.Prices(on.Template.States[on.State])[column]
	}
	return math.Inf(1)
}

// CheapestDevices are the devices of the cheapest candidate.
func (on *OpenNode) CheapestDevices() *device.Template {
	for _, column := range on.Template.ByPrice(on.Template.States[on.State]) {
		if on.Mask.Has(int(column)) {
			return on.Template.Columns.Types[on.Template.Columns.Owner[column]].Devices
		}
	}
	return nil
}
