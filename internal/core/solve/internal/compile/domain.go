package compile

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// Domains numbers the values of the labels that some group constrains.
type Domains struct {
	u *index.Universe
	// byKey[key] are the values of one label; nil for labels that no group uses.
	byKey []*Values
}

// Values numbers the values of one label.
type Values struct {
	Names []string
	index map[string]int
	// within[set] is which of them a requirement allows.
	within map[index.SetID][]bool
	// listed[set] are those that a concrete requirement lists; nil as long as they are not needed.
	listed [][]int
	// PricesPerCore[d] is the lowest price of a core in domain d, in dollars per hour.
	PricesPerCore []float64
	// lacked is set when some existing or new node may have no such label; lackedKnown once that is known.
	lacked, lackedKnown bool
	// counting is the numbers from zero on, as far as they were needed; Alone returns parts of it.
	counting []int
}

func newDomains(u *index.Universe) *Domains { return &Domains{u: u} }

// Of returns the known values of a label key, by the number of the key.
func (ds *Domains) Of(key int) *Values {
	if key >= len(ds.byKey) {
		ds.byKey = append(ds.byKey, make([]*Values, key+1-len(ds.byKey))...)
	}
	if ds.byKey[key] == nil {
		ds.byKey[key] = &Values{index: map[string]int{}, within: map[index.SetID][]bool{}}
	}
	return ds.byKey[key]
}

// number is the number of a value, a new one if the value is new.
func (v *Values) number(name string) int {
	n, ok := v.index[name]
	if !ok {
		n = len(v.Names)
		v.index[name] = n
		v.Names = append(v.Names, name)
	}
	return n
}

// MayLack reports whether some existing node or some node of the templates may have no label of that key.
func (ct *Counts) MayLack(key int, templates []*Template) bool {
	v, k := ct.Domains.Of(key), ct.u.Keys[key]
	if !v.lackedKnown {
		v.lackedKnown = true
		v.lacked = slices.ContainsFunc(ct.targets.List, func(t *Target) bool { return nodeLacks(t.Node, k) }) ||
			slices.ContainsFunc(templates, func(t *Template) bool { return t.mayLack(key) })
	}
	return v.lacked
}

// mayLack reports whether pods may keep the label off nodes of the template.
func (t *Template) mayLack(key int) bool {
	k, have := t.Universe.Keys[key], t.States[t.Root].Get(key)
	switch {
	case have != index.Undefined && !k.Sets[have].AllowsAbsence():
		return false
	case !k.WellKnown:
		return true
	}
	return !t.Columns.Label(key).Absent.Empty() && !t.Columns.OfferingsDefine(key)
}

// Alone is the list of d only.
func (v *Values) Alone(d int) []int {
	for len(v.counting) <= d {
		v.counting = append(v.counting, len(v.counting))
	}
	return v.counting[d : d+1 : d+1]
}

// Allowed is a filter of the values of key that a conjunction allows.
func (ds *Domains) Allowed(key int, c *Conjunction) topology.DomainFilter {
	for _, t := range c.Terms {
		if t.Key != key {
			continue
		}
		v, set := ds.Of(key), t.Set
		known := v.within[set]
		for d := len(known); d < len(v.Names); d++ {
			known = append(known, allowsDomain(ds.u.Keys[key].Sets[set], v.Names[d]))
		}
		v.within[set] = known
		return func(d int) bool { return d < len(known) && known[d] }
	}
	return AnyDomain
}

// allowsDomain reports whether a requirement on a label allows nodes in a domain of that label.
func allowsDomain(r requirement.Requirement, name string) bool {
	if name == noZone {
		return r.AllowsAbsence()
	}
	return r.Has(name)
}

// AnyDomain is a filter of domains that accepts every domain.
func AnyDomain(int) bool { return true }

// Possible are the values that the label of a node may have, given the requirement on it: the values of a concrete requirement,
// every known value that another one allows, and none where only absence is left. Callers must not change the list.
func (ds *Domains) Possible(key int, set index.SetID) []int {
	v := ds.Of(key)
	if set != index.Undefined && int(set) < len(v.listed) && v.listed[set] != nil {
		return v.listed[set]
	}
	var r requirement.Requirement
	if set != index.Undefined {
		if r = ds.u.Keys[key].Sets[set]; !r.Complement() {
			return v.list(set, r)
		}
	}
	out := make([]int, 0, len(v.Names))
	for d, name := range v.Names {
		if !v.Lacks(d) && (set == index.Undefined || r.Has(name)) {
			out = append(out, d)
		}
	}
	return out
}

// list remembers the values that a concrete requirement lists.
func (v *Values) list(set index.SetID, r requirement.Requirement) []int {
	if more := int(set) + 1 - len(v.listed); more > 0 {
		v.listed = append(v.listed, make([][]int, more)...)
	}
	v.listed[set] = v.numbers(r.Values())
	return v.listed[set]
}

func (v *Values) numbers(names []string) []int {
	out := make([]int, len(names))
	for i, name := range names {
		out[i] = v.number(name)
	}
	return out
}

// values are those that a label can have on nodes in state st that are one of the columns in mask, sorted: those of
// available offerings for labels that offerings have, else those of the instance types, else those of the pool. ok is false
// when nothing is known about the label.
func (t *Template) values(key int, st *State, mask bitset.Set) (names []string, ok bool) {
	k := t.Universe.Keys[key]
	names = t.names[:0]
	narrow := func(r requirement.Requirement) {
		if r.Complement() {
			return
		}
		ok = true
		if have := st.Get(key); have != index.Undefined {
			r = r.Intersect(k.Sets[have])
		}
		names = append(names, r.Values()...)
	}
	for i := range st.Kinds.All() {
		if !t.Columns.Kinds[i].Columns.Intersects(mask) {
			continue
		}
		for _, term := range t.Columns.Kinds[i].Terms {
			if term.Key == key {
				narrow(k.Sets[term.Set])
			}
		}
	}
	if !ok {
		for _, label := range t.Columns.Label(key).Values {
			if label.Columns.Intersects(mask) {
				narrow(k.Sets[label.Set])
			}
		}
	}
	if have := st.Get(key); !ok && have != index.Undefined {
		narrow(k.Sets[have])
	}
	slices.Sort(names)
	t.names = names
	return slices.Clone(slices.Compact(names)), ok
}
