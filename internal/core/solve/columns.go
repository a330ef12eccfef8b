package solve

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// columns is a catalog turned on its side. A column is an instance type in one of its allocatable groups; what columns
// have in common is kept as bitsets over them.
type columns struct {
	types []*catalog.InstanceType
	// owner and group tell what each column stands for.
	owner, group []int32
	u            *universe
	// read are the labels that somebody has asked about, by key.
	read map[int]*label
	// kinds are the distinct available offerings, price aside.
	kinds []kind
	// gone are those that are not available; nil until somebody asks.
	unavailableKinds []kind
	// price[kind][column] is in dollars an hour; +Inf where the column has no such offering.
	price [][]float64
	// shelves are those of templates whose machines run no daemons.
	capacityIndexes []*capacityIndex
	// masks remembers which columns agree with a requirement.
	masks map[term]bitset.Set
}

// label is what types say about one key: their distinct requirements in order of appearance, with the columns that have
// them, and the columns that do not define the key.
type label struct {
	values []labelColumn
	absent bitset.Set
}

type labelColumn struct {
	set     setID
	columns bitset.Set
}

// kind is what offerings have in common that differ in instance type and price only.
type kind struct {
	terms   []term
	columns bitset.Set
}

func newColumns(types catalog.Catalog, u *universe) *columns {
	n := 0
	for _, it := range types {
		n += len(it.Groups)
	}
	c := &columns{
		types: types, u: u, read: map[int]*label{}, masks: map[term]bitset.Set{},
		owner: make([]int32, 0, n), group: make([]int32, 0, n),
	}
	for t, it := range types {
		for g := range it.Groups {
			c.owner = append(c.owner, int32(t))
			c.group = append(c.group, int32(g))
		}
	}
	c.learnKeys()
	c.compileOfferings()
	return c
}

func (c *columns) len() int { return len(c.owner) }

func (c *columns) allocatable(column int) resource.Vector {
	return c.types[c.owner[column]].Groups[c.group[column]].Allocatable
}

// learnKeys gives a number to every key that some type defines. Most types define the same ones in the same places.
func (c *columns) learnKeys() {
	var before requirement.Set
	for _, it := range c.types {
		for i := range it.Requirements {
			if i >= len(before) || before[i].Key != it.Requirements[i].Key {
				c.u.key(it.Requirements[i].Key)
			}
		}
		before = it.Requirements
	}
}

// label is what the types say about a key. It is read on first demand: a catalogue has many labels, and few of them matter
// to the pods of one run.
func (c *columns) label(key int) *label {
	if l, ok := c.read[key]; ok {
		return l
	}
	k := c.u.keys[key]
	slab := bitset.NewSlab(c.len())
	l := &label{absent: bitset.Full(c.len())}
	at := map[setID]int{}
	last, column := undefined, 0
	for _, it := range c.types {
		if i, ok := it.Requirements.Find(k.name); ok {
			r := &it.Requirements[i]
			// Types often say the same as the one before.
			if last == undefined || !r.Equal(k.sets[last]) {
				last = k.intern(*r)
			}
			n, known := at[last]
			if !known {
				n = len(l.values)
				at[last] = n
				l.values = append(l.values, labelColumn{set: last, columns: slab.Next()})
			}
			for g := range it.Groups {
				l.values[n].columns.Add(column + g)
				l.absent.Remove(column + g)
			}
		}
		column += len(it.Groups)
	}
	c.read[key] = l
	return l
}

// compileOfferings sorts offerings into kinds. Those of one catalog share them; kinds that say the same are one here.
func (c *columns) compileOfferings() {
	known := map[*catalog.Kind]int{}
	byIdentity := map[string]int{}
	var scratch []byte
	column := 0
	for _, it := range c.types {
		for i := range it.Offerings {
			o := &it.Offerings[i]
			if !o.Available() {
				continue
			}
			k, ok := known[o.Kind]
			if !ok {
				scratch = o.Requirements.AppendIdentity(scratch[:0])
				if k, ok = byIdentity[string(scratch)]; !ok {
					k = c.addKind(c.u.terms(o.Requirements))
					byIdentity[string(scratch)] = k
				}
				known[o.Kind] = k
			}
			at := column + int(o.Group)
			c.kinds[k].columns.Add(at)
			c.price[k][at] = min(c.price[k][at], o.Price)
		}
		column += len(it.Groups)
	}
}

func (c *columns) addKind(terms []term) int {
	c.kinds = append(c.kinds, kind{terms: terms, columns: bitset.New(c.len())})
	c.price = append(c.price, slices.Repeat([]float64{math.Inf(1)}, c.len()))
	return len(c.kinds) - 1
}

// matching is the columns whose labels do not contradict t; columns that do not define the key never do, unless t
// contradicts itself.
func (c *columns) matching(t term) bitset.Set {
	if m, ok := c.masks[t]; ok {
		return m
	}
	k, l := c.u.keys[t.key], c.label(t.key)
	m := bitset.New(c.len())
	if r := k.sets[t.set]; r.Len() > 0 || r.AllowsAbsence() {
		m = l.absent.Clone()
	}
	for _, value := range l.values {
		if k.overlap(value.set, t.set) {
			m.Or(value.columns)
		}
	}
	c.masks[t] = m
	return m
}

// cheapest is the lowest price of every column among the kinds given; +Inf where none of them has it.
func (c *columns) cheapest(kinds bitset.Set) []float64 {
	low := slices.Repeat([]float64{math.Inf(1)}, c.len())
	for k := range kinds.All() {
		for column, price := range c.price[k] {
			low[column] = min(low[column], price)
		}
	}
	return low
}

// unavailable are the distinct offerings that cannot be had at the moment, price aside, each with the first column of the
// types that come in it.
func (c *columns) unavailable() []kind {
	if c.unavailableKinds != nil {
		return c.unavailableKinds
	}
	out := []kind{}
	at, column := map[string]int{}, 0
	var scratch []byte
	for _, it := range c.types {
		for i := range it.Offerings {
			o := &it.Offerings[i]
			if o.Available() {
				continue
			}
			scratch = o.Requirements.AppendIdentity(scratch[:0])
			n, known := at[string(scratch)]
			if !known {
				n = len(out)
				at[string(scratch)] = n
				out = append(out, kind{terms: c.u.terms(o.Requirements), columns: bitset.New(c.len())})
			}
			out[n].columns.Add(column)
		}
		column += len(it.Groups)
	}
	c.unavailableKinds = out
	return out
}
