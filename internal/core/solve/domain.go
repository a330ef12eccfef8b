package solve

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// domains numbers the values of the labels that some group has a say in.
type domains struct {
	u *universe
	// byKey[key] are the values of one label; nil for labels that no group cares about.
	byKey map[int]*values
}

// values numbers the values of one label.
type values struct {
	names []string
	index map[string]int
	// within[set] tells which of them a requirement allows.
	within map[setID][]bool
	// listed[set] are those that a concrete requirement lists.
	listed map[setID][]int
	// rates is what domains cost.
	pricesPerCore []float64
	// counting is the numbers from zero on, as far as they were needed; alone cuts its lists out of it.
	counting []int
}

func newDomains(u *universe) *domains { return &domains{u: u, byKey: map[int]*values{}} }

func (ds *domains) of(key int) *values {
	v, ok := ds.byKey[key]
	if !ok {
		v = &values{index: map[string]int{}, within: map[setID][]bool{}, listed: map[setID][]int{}}
		ds.byKey[key] = v
	}
	return v
}

// number is that of a value, which is a new one if it was not seen before.
func (v *values) number(name string) int {
	n, ok := v.index[name]
	if !ok {
		n = len(v.names)
		v.index[name] = n
		v.names = append(v.names, name)
	}
	return n
}

// alone is the list of d and nothing else.
func (v *values) alone(d int) []int {
	for len(v.counting) <= d {
		v.counting = append(v.counting, len(v.counting))
	}
	return v.counting[d : d+1 : d+1]
}

// allowed tells which values of key a conjunction leaves open.
func (ds *domains) allowed(key int, c *conjunction) topology.DomainFilter {
	for _, t := range c.terms {
		if t.key != key {
			continue
		}
		v, set := ds.of(key), t.set
		known := v.within[set]
		for d := len(known); d < len(v.names); d++ {
			known = append(known, ds.u.keys[key].sets[set].Has(v.names[d]))
		}
		v.within[set] = known
		return func(d int) bool { return d < len(known) && known[d] }
	}
	return anyDomain
}

func anyDomain(int) bool { return true }

// possible are the domains that a node may be in by what is known about its label: the values of a concrete requirement,
// every known value that another one allows, and none where absence is all that is left. Nobody changes the list.
func (ds *domains) possible(key int, set setID) []int {
	v := ds.of(key)
	if set == undefined {
		return v.numbers(v.names)
	}
	r := ds.u.keys[key].sets[set]
	if !r.Complement() {
		known, ok := v.listed[set]
		if !ok {
			known = v.numbers(r.Values())
			v.listed[set] = known
		}
		return known
	}
	return v.numbers(slices.DeleteFunc(slices.Clone(v.names), func(name string) bool { return !r.Has(name) }))
}

func (v *values) numbers(names []string) []int {
	out := make([]int, len(names))
	for i, name := range names {
		out[i] = v.number(name)
	}
	return out
}

// values are those that a label can have on machines in state st that are one of the columns in mask, sorted: what is on
// offer for labels that offerings have, else what the instance types say, else the pool's own list. ok is false when
// nothing is known about the label.
func (t *template) values(key int, st *state, mask bitset.Set) (names []string, ok bool) {
	k := t.u.keys[key]
	names = t.names[:0]
	narrow := func(r requirement.Requirement) {
		if r.Complement() {
			return
		}
		ok = true
		if have := st.get(key); have != undefined {
			r = r.Intersect(k.sets[have])
		}
		names = append(names, r.Values()...)
	}
	for i := range st.kinds.All() {
		if !t.columns.kinds[i].columns.Intersects(mask) {
			continue
		}
		for _, term := range t.columns.kinds[i].terms {
			if term.key == key {
				narrow(k.sets[term.set])
			}
		}
	}
	if !ok {
		for _, label := range t.columns.label(key).values {
			if label.columns.Intersects(mask) {
				narrow(k.sets[label.set])
			}
		}
	}
	if have := st.get(key); !ok && have != undefined {
		narrow(k.sets[have])
	}
	slices.Sort(names)
	t.names = names
	return slices.Clone(slices.Compact(names)), ok
}
