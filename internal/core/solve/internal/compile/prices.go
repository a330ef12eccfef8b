package compile

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/device"
)

// ByPrice is the columns of a state's mask in the order of launches: cheapest first, those of last resort at the end, ties by name.
func (t *Template) ByPrice(st *State) []int32 {
	if st.byPrice == nil {
		prices := t.Prices(st)
		st.byPrice = make([]int32, 0, st.Mask.Len())
		for column := range st.Mask.All() {
			st.byPrice = append(st.byPrice, int32(column))
		}
		name := func(column int32) string { return t.Columns.Types[t.Columns.Owner[column]].Name }
		slices.SortFunc(st.byPrice, func(a, b int32) int {
			if last := st.LastResort(t, a); last != st.LastResort(t, b) {
				return launchedLast(last)
			}
			return cmp.Or(cmp.Compare(prices[a], prices[b]), strings.Compare(name(a), name(b)), cmp.Compare(a, b))
		})
	}
	return st.byPrice
}

// launchedLast orders a column of exotic types after one of others, and the reverse.
func launchedLast(exotic bool) int {
	if exotic {
		return 1
	}
	return -1
}

// LastResort reports whether the cloud launches a column of the template only if no other column can be: its type is exotic, and there
// are no minValues, for which all types count.
func (s *State) LastResort(t *Template, column int32) bool {
	return len(s.Minimums) == 0 && t.Columns.Types[t.Columns.Owner[column]].Exotic
}

// HasLastResort reports whether LastResort holds for any column of a state.
func (s *State) HasLastResort(t *Template) bool {
	order := t.ByPrice(s)
	return len(order) > 0 && s.LastResort(t, order[len(order)-1])
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

// Cheapest is the candidate of the open node with the lowest price, of last resort only if there is no other; -1 for one without
// candidates.
func (on *OpenNode) Cheapest() int {
	for _, column := range on.Template.ByPrice(on.Template.States[on.State]) {
		if on.Mask.Has(int(column)) {
			return int(column)
		}
	}
	return -1
}

// Price is that of the cheapest candidate of on.
func (on *OpenNode) Price() float64 {
	if column := on.Cheapest(); column >= 0 {
		return on.Template.Prices(on.Template.States[on.State])[column]
	}
	return math.Inf(1)
}

// PriceWith is the price of the open node once it has accepted the offer.
func (on *OpenNode) PriceWith(o *Offer) float64 {
	for _, column := range on.Template.ByPrice(on.Template.States[o.State]) {
		if o.Mask.Has(int(column)) {
			return on.Template.Prices(on.Template.States[o.State])[column]
		}
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

// CheapestIn is the lowest price of a node of a template in a state that holds a pod of the class, in dollars per hour; infinite if none
// does.
func (c *Class) CheapestIn(t *Template, st *State) float64 {
	capacity := t.CapacityIn(st)
	for _, column := range t.ByPrice(st) {
		if c.Count(capacity.Available[column], nil, 1) > 0 {
			return t.Prices(st)[column]
		}
	}
	return math.Inf(1)
}

// MaxCapacity is the most that a node to launch has of a resource, in the unit of the vectors.
func (r *Run) MaxCapacity(kind int) int64 {
	most := int64(0)
	for _, t := range r.Templates {
		most = max(most, t.Most.index(kind).Largest(t.States[t.Root].Mask))
	}
	return most
}
