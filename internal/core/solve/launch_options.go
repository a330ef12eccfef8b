package solve

import (
	"cmp"
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
)

// launchOptions is what follows from the state and candidates of an open node. Open nodes that ended equal share one, so it
// is never changed.
type launchOptions struct {
	// names are the instance types, cheapest first and exotic ones last, cut to the longest list; columns are theirs.
	names   []string
	columns bitset.Set
	cut     bool
	price   float64
	// requirements bind the launch, labels are those that the node carries for the pods.
	requirements requirement.Set
	labels       map[string]string
	// daemons is the capacity that daemons take on any candidate: the minimum over the candidates.
	daemons resource.Vector

	priceOverlaid, capacityOverlaid bool
}

// defaultMaxInstanceTypes is how many instance types a NodeClaim lists unless the options say otherwise.
const defaultMaxInstanceTypes = 600

// launchOptionsCache caches launch options.
type launchOptionsCache struct {
	limit  int
	custom func(string) bool
	known  map[launchOptionsKey]*launchOptions
	// lists are by columns, because many launch options have theirs in common.
	lists map[listKey]list
	// allNames are the names of instance types, by columns, for the first state that needed them, cheapest first.
	allNames map[*index.Columns][]string
	// requirements, names and text are scratch memory: for those of a state, and for the text of a mask.
	requirements requirement.Set
	names        []string
	text         []byte
}

type launchOptionsKey struct {
	t     *compile.Template
	state compile.StateID
	mask  string
}

type listKey struct {
	columns *index.Columns
	mask    string
}

// list is the instance types of some columns: their names, cheapest first, and the demand for one of them.
type list struct {
	names []string
	types requirement.Requirement
}

func newLaunchOptionsCache(o Options) *launchOptionsCache {
	return &launchOptionsCache{
		limit: cmp.Or(o.MaxInstanceTypes, defaultMaxInstanceTypes), custom: o.Custom,
		known: map[launchOptionsKey]*launchOptions{}, lists: map[listKey]list{}, allNames: map[*index.Columns][]string{},
	}
}

func (ms *launchOptionsCache) of(on *compile.OpenNode) *launchOptions {
	ms.text = on.Mask.AppendText(ms.text[:0])
	if m, ok := ms.known[launchOptionsKey{on.Template, on.State, string(ms.text)}]; ok {
		return m
	}
	key := launchOptionsKey{on.Template, on.State, string(ms.text)}
	t, st := on.Template, on.Template.States[on.State]
	m := &launchOptions{columns: bitset.New(t.Columns.Len()), price: math.Inf(1)}
	names, taken := slices.Grow(ms.names[:0], len(t.Columns.Types)), bitset.New(len(t.Columns.Types))
	for _, column := range t.ByPrice(st) {
		owner := t.Columns.Owner[column]
		if !on.Mask.Has(int(column)) || taken.Has(int(owner)) {
			continue
		}
		if len(names) == ms.limit {
			m.cut = true
			break
		}
		it := t.Columns.Types[owner]
		taken.Add(int(owner))
		m.columns.Add(int(column))
		if len(names) == 0 {
			m.price = t.Prices(st)[column]
		}
		names = append(names, it.Name)
		m.priceOverlaid = m.priceOverlaid || it.PriceOverlaid
		m.capacityOverlaid = m.capacityOverlaid || it.CapacityOverlaid
	}
	ms.names = names
	l := ms.list(t, st, m.columns, names)
	m.names = l.names
	reqs := t.AppendRequirements(ms.requirements[:0], st)
	ms.requirements = reqs
	m.requirements = narrow(t, reqs, m.columns, l.types, st)
	m.labels = customLabels(reqs, ms.custom)
	m.daemons, _ = t.CapacityIn(st).DaemonRange(on.Mask)
	ms.known[key] = m
	return m
}

// list returns the list of a mask; names are those of its instance types, cheapest first. Where the same mask has another
// order, because other offerings count, it gets a new list.
func (ms *launchOptionsCache) list(t *compile.Template, st *compile.State, mask bitset.Set, names []string) list {
	ms.text = mask.AppendText(ms.text[:0])
	l, ok := ms.lists[listKey{t.Columns, string(ms.text)}]
	if ok && slices.Equal(l.names, names) {
		return l
	}
	l.names = ms.share(t, st, names)
	if !ok {
		sorted := make([]string, 0, len(names))
		for _, column := range t.ByName() {
			if mask.Has(int(column)) {
				sorted = append(sorted, t.Columns.Types[t.Columns.Owner[column]].Name)
			}
		}
		l.types = requirement.New(compile.InstanceTypeKey, requirement.In, sorted...)
	}
	ms.lists[listKey{t.Columns, string(ms.text)}] = l
	return l
}

// share is a list equal to names that is never changed: a part of allNames where that is possible. Small instance types
// drop out first, so what is left is often its end.
func (ms *launchOptionsCache) share(t *compile.Template, st *compile.State, names []string) []string {
	longest, ok := ms.allNames[t.Columns]
	if !ok {
		longest = make([]string, 0, t.Columns.Len())
		for _, column := range t.ByPrice(st) {
			longest = append(longest, t.Columns.Types[t.Columns.Owner[column]].Name)
		}
		ms.allNames[t.Columns] = longest
	}
	if len(names) > 0 {
		if i := slices.Index(longest, names[0]); i >= 0 && len(names) <= len(longest)-i && slices.Equal(longest[i:i+len(names)], names) {
			return longest[i : i+len(names) : i+len(names)]
		}
	}
	return slices.Clone(names)
}

// narrow adds what the candidates imply: their names, and the capacity types they come in.
func narrow(t *compile.Template, reqs requirement.Set, mask bitset.Set, types requirement.Requirement, st *compile.State) requirement.Set {
	out := make([]requirement.Requirement, 0, len(reqs)+2)
	for _, r := range reqs {
		if r.Key != compile.InstanceTypeKey {
			out = append(out, r)
		}
	}
	out = append(out, types.WithMinValues(reqs.Get(compile.InstanceTypeKey).MinValues()))
	var capacityTypes []string
	key, ok := t.Universe.Index[compile.CapacityTypeKey]
	for k := range st.Kinds.All() {
		if !ok || !t.Columns.Kinds[k].Columns.Intersects(mask) {
			continue
		}
		for _, have := range t.Columns.Kinds[k].Terms {
			if have.Key == key {
				capacityTypes = append(capacityTypes, t.Universe.Keys[key].Sets[have.Set].Values()...)
			}
		}
	}
	slices.Sort(capacityTypes)
	capacityTypes = slices.Compact(capacityTypes)
	// Capacity types that have no offering at the moment stay where minValues needs them.
	if len(capacityTypes) > 0 && len(capacityTypes) >= reqs.Get(compile.CapacityTypeKey).MinValues() {
		out = append(out, requirement.New(compile.CapacityTypeKey, requirement.In, capacityTypes...))
	}
	return requirement.Gather(out)
}
