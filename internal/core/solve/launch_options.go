package solve

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// menu is what follows from a claim's state and candidates. Claims that ended alike share one; nobody changes it.
type launchOptions struct {
	// names are the instance types, cheapest first, cut to the longest list; columns are theirs.
	names   []string
	columns bitset.Set
	cut     bool
	price   float64
	// requirements is what the launch has to respect, labels what the machine carries for the pods.
	requirements requirement.Set
	labels       map[string]string
	// daemons is what daemons will take on whatever candidate is launched: the minimum over the candidates.
	daemons resource.Vector

	priceOverlaid, capacityOverlaid bool
}

// menus remembers them.
type launchOptionsCache struct {
	limit  int
	custom func(string) bool
	known  map[launchOptionsKey]*launchOptions
	// lists are by columns, because many menus have theirs in common.
	lists map[listKey]list
	// longest are names of instance types, by columns: those of the first state that was asked about, cheapest first.
	allNames map[*columns][]string
	// said and text are used again: for what a state says, and for the text of a mask.
	requirements requirement.Set
	text         []byte
}

type launchOptionsKey struct {
	t     *template
	state stateID
	mask  string
}

type listKey struct {
	columns *columns
	mask    string
}

// list is the instance types of some columns: their names, cheapest first, and the demand for one of them.
type list struct {
	names []string
	types requirement.Requirement
}

func newLaunchOptionsCache(o Options) *launchOptionsCache {
	return &launchOptionsCache{
		limit: o.maxInstanceTypes(), custom: o.Custom,
		known: map[launchOptionsKey]*launchOptions{}, lists: map[listKey]list{}, allNames: map[*columns][]string{},
	}
}

func (ms *launchOptionsCache) of(on *openNode) *launchOptions {
	ms.text = on.mask.AppendText(ms.text[:0])
	if m, ok := ms.known[launchOptionsKey{on.t, on.state, string(ms.text)}]; ok {
		return m
	}
	key := launchOptionsKey{on.t, on.state, string(ms.text)}
	t, st := on.t, on.t.states[on.state]
	m := &launchOptions{columns: bitset.New(t.columns.len()), price: math.Inf(1)}
	names, taken := slices.Grow(t.names[:0], len(t.columns.types)), t.taken
	clear(taken)
	for _, column := range t.byPrice(st) {
		owner := t.columns.owner[column]
		if !on.mask.Has(int(column)) || taken.Has(int(owner)) {
			continue
		}
		if len(names) == ms.limit {
			m.cut = true
			break
		}
		it := t.columns.types[owner]
		taken.Add(int(owner))
		m.columns.Add(int(column))
		names = append(names, it.Name)
		m.price = min(m.price, t.prices(st)[column])
		m.priceOverlaid = m.priceOverlaid || it.PriceOverlaid
		m.capacityOverlaid = m.capacityOverlaid || it.CapacityOverlaid
	}
	t.names = names
	l := ms.list(t, st, m.columns, names)
	m.names = l.names
	reqs := t.appendRequirements(ms.requirements[:0], st)
	ms.requirements = reqs
	m.requirements = t.narrow(reqs, m.columns, l.types, st)
	m.labels = customLabels(reqs, ms.custom)
	m.daemons, _ = t.daemonRange(on.mask)
	ms.known[key] = m
	return m
}

// list is what there is to say about a mask; names are those of its instance types, cheapest first. Where the same mask has another
// order, because other offerings count, it gets a list anew.
func (ms *launchOptionsCache) list(t *template, st *state, mask bitset.Set, names []string) list {
	ms.text = mask.AppendText(ms.text[:0])
	l, ok := ms.lists[listKey{t.columns, string(ms.text)}]
	if ok && slices.Equal(l.names, names) {
		return l
	}
	l.names = ms.share(t, st, names)
	if !ok {
		sorted := make([]string, 0, len(names))
		for _, column := range t.byName() {
			if mask.Has(int(column)) {
				sorted = append(sorted, t.columns.types[t.columns.owner[column]].Name)
			}
		}
		l.types = requirement.New(instanceTypeKey, requirement.In, sorted...)
	}
	ms.lists[listKey{t.columns, string(ms.text)}] = l
	return l
}

// share is a list equal to names that nobody changes: a part of the longest one where that is possible. Small machines drop out of claims
// first, so what is left is often its end.
func (ms *launchOptionsCache) share(t *template, st *state, names []string) []string {
	longest, ok := ms.allNames[t.columns]
	if !ok {
		longest = make([]string, 0, t.columns.len())
		for _, column := range t.byPrice(st) {
			longest = append(longest, t.columns.types[t.columns.owner[column]].Name)
		}
		ms.allNames[t.columns] = longest
	}
	if len(names) > 0 {
		if i := slices.Index(longest, names[0]); i >= 0 && len(names) <= len(longest)-i && slices.Equal(longest[i:i+len(names)], names) {
			return longest[i : i+len(names) : i+len(names)]
		}
	}
	return slices.Clone(names)
}

// narrow adds what the candidates imply: their names, and the capacity types they come in.
func (t *template) narrow(reqs requirement.Set, mask bitset.Set, types requirement.Requirement, st *state) requirement.Set {
	out := make([]requirement.Requirement, 0, len(reqs)+2)
	for _, r := range reqs {
		if r.Key != instanceTypeKey {
			out = append(out, r)
		}
	}
	out = append(out, types.WithMinValues(reqs.Get(instanceTypeKey).MinValues()))
	var capacityTypes []string
	key, ok := t.u.index[capacityTypeKey]
	for k := range st.kinds.All() {
		if !ok || !t.columns.kinds[k].columns.Intersects(mask) {
			continue
		}
		for _, have := range t.columns.kinds[k].terms {
			if have.key == key {
				capacityTypes = append(capacityTypes, t.u.keys[key].sets[have.set].Values()...)
			}
		}
	}
	if len(capacityTypes) > 0 {
		out = append(out, requirement.New(capacityTypeKey, requirement.In, capacityTypes...))
	}
	return requirement.Gather(out)
}

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
