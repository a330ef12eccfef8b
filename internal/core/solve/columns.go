package solve

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// columns is a catalog turned on its side. A column is an instance type in one of its allocatable groups; what columns
// have in common is kept as bitsets over them.
type columns struct {
	types []*catalog.InstanceType
	// owner and group tell what each column stands for.
	owner []int
	group []int
	// labels[key] are the distinct requirements that types have on the key, with the columns that have them.
	labels map[int][]labelColumn
	// silent[key] are the columns that do not define the key.
	silent map[int]bitset
	// kinds are the distinct available offerings, price aside.
	kinds []kind
	// price[kind][column] is in dollars an hour; +Inf where the column has no such offering.
	price [][]float64
	// masks remembers which columns agree with a requirement.
	masks map[term]bitset
}

type labelColumn struct {
	set     setID
	columns bitset
}

// kind is what offerings have in common that differ in instance type and price only.
type kind struct {
	terms   []term
	columns bitset
}

func newColumns(types catalog.Catalog, u *universe) *columns {
	n := 0
	for _, it := range types {
		n += len(it.Groups)
	}
	c := &columns{types: types, owner: make([]int, 0, n), group: make([]int, 0, n), masks: map[term]bitset{}}
	for t, it := range types {
		for g := range it.Groups {
			c.owner = append(c.owner, t)
			c.group = append(c.group, g)
		}
	}
	c.compileLabels(u)
	c.compileOfferings(u)
	return c
}

func (c *columns) len() int { return len(c.owner) }

func (c *columns) allocatable(column int) resource.Vector {
	return c.types[c.owner[column]].Groups[c.group[column]].Allocatable
}

// labelIndex collects the labels of one key while types are read.
type labelIndex struct {
	key   int
	found []labelColumn
	// at is where the columns of a requirement are in found, plus one, by the requirement's number.
	at      []int32
	defined bitset
	// last is the requirement that the type before had.
	last setID
}

// compileLabels reads the types one by one. Most types define the same keys, and say the same about many of them as the
// type before, so both are looked up there first.
func (c *columns) compileLabels(u *universe) {
	var indexes []*labelIndex
	byKey := map[string]*labelIndex{}
	slab := bitsetSlab{width: c.len()}
	column := 0
	for _, it := range c.types {
		for i := range it.Requirements {
			r := &it.Requirements[i]
			var x *labelIndex
			if i < len(indexes) && u.keys[indexes[i].key].name == r.Key {
				x = indexes[i]
			} else if x = byKey[r.Key]; x == nil {
				x = &labelIndex{key: u.key(r.Key), defined: slab.next(), last: undefined}
				byKey[r.Key] = x
				indexes = append(indexes, x)
			}
			had := x.columnsOf(u.keys[x.key], r, &slab)
			for g := range it.Groups {
				had.set(column + g)
				x.defined.set(column + g)
			}
		}
		column += len(it.Groups)
	}
	c.labels, c.silent = make(map[int][]labelColumn, len(indexes)), make(map[int]bitset, len(indexes))
	for _, x := range indexes {
		c.labels[x.key] = x.found
		c.silent[x.key] = x.defined.complement(c.len())
	}
}

// columnsOf is the set of the columns that have r.
func (x *labelIndex) columnsOf(k *keyspace, r *requirement.Requirement, slab *bitsetSlab) bitset {
	if x.last == undefined || !r.Equal(k.sets[x.last]) {
		x.last = k.intern(*r)
	}
	for int(x.last) >= len(x.at) {
		x.at = append(x.at, 0)
	}
	if x.at[x.last] == 0 {
		x.found = append(x.found, labelColumn{set: x.last, columns: slab.next()})
		x.at[x.last] = int32(len(x.found))
	}
	return x.found[x.at[x.last]-1].columns
}

// compileOfferings sorts offerings into kinds. Offerings that say the same mostly share their requirements, so most are
// recognised by where these are in memory.
func (c *columns) compileOfferings(u *universe) {
	byPlace := map[*requirement.Requirement]int{}
	byIdentity := map[string]int{}
	var scratch []byte
	column := 0
	for _, it := range c.types {
		for i := range it.Offerings {
			o := &it.Offerings[i]
			if !o.Available || o.Group < 0 {
				continue
			}
			var place *requirement.Requirement
			if len(o.Requirements) > 0 {
				place = &o.Requirements[0]
			}
			k, ok := byPlace[place]
			if !ok || len(c.kinds[k].terms) != len(o.Requirements) {
				scratch = o.Requirements.AppendIdentity(scratch[:0])
				if k, ok = byIdentity[string(scratch)]; !ok {
					k = c.addKind(u.terms(o.Requirements))
					byIdentity[string(scratch)] = k
				}
				byPlace[place] = k
			}
			at := column + o.Group
			c.kinds[k].columns.set(at)
			c.price[k][at] = min(c.price[k][at], o.Price)
		}
		column += len(it.Groups)
	}
}

func (c *columns) addKind(terms []term) int {
	c.kinds = append(c.kinds, kind{terms: terms, columns: newBitset(c.len())})
	c.price = append(c.price, slices.Repeat([]float64{math.Inf(1)}, c.len()))
	return len(c.kinds) - 1
}

// matching is the columns whose labels do not contradict t; columns that do not define the key never do, unless t
// contradicts itself.
func (c *columns) matching(t term, u *universe) bitset {
	if m, ok := c.masks[t]; ok {
		return m
	}
	m, ok := c.silent[t.key]
	switch r := u.keys[t.key].sets[t.set]; {
	case r.Len() == 0 && !r.AllowsAbsence():
		m = newBitset(c.len())
	case ok:
		m = m.clone()
	default:
		m = fullBitset(c.len())
	}
	for _, label := range c.labels[t.key] {
		if u.keys[t.key].overlap(label.set, t.set) {
			m.or(label.columns)
		}
	}
	c.masks[t] = m
	return m
}

// cheapest is the lowest price of every column among the kinds given; +Inf where none of them has it.
func (c *columns) cheapest(kinds bitset) []float64 {
	low := slices.Repeat([]float64{math.Inf(1)}, c.len())
	for k := range kinds.all() {
		for column, price := range c.price[k] {
			low[column] = min(low[column], price)
		}
	}
	return low
}
