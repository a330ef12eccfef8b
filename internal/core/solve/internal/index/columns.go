package index

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// Columns is a transposed catalog. A column is an instance type in one of its allocatable groups; bitsets over columns hold
// the labels, offerings and capacity that columns have in common.
type Columns struct {
	Types []*catalog.InstanceType
	// Owner and group are the instance type and allocatable group of each column.
	Owner, group []int32
	u            *Universe
	// defined are the keys that some type defines.
	defined map[int]bool
	// read are the labels that were looked up, by key.
	read map[int]*Label
	// Kinds are the distinct launchable offerings, price aside.
	Kinds []Kind
	// unavailableKinds are those that are not launchable; nil until they are needed.
	unavailableKinds []Kind
	// price[kind][column] is in dollars an hour; +Inf where the column has no such offering.
	Price [][]float64
	// CapacityIndexes are those of templates whose nodes run no daemons.
	CapacityIndexes []*CapacityIndex
	// masks caches which columns agree with a requirement.
	masks map[Term]bitset.Set
}

// Label is the requirements of types on one key: the distinct ones in order of appearance, with the columns that have
// them, and the columns that do not define the key.
type Label struct {
	Values []LabelColumn
	Absent bitset.Set
}

// LabelColumn is one value set of a label with the columns that have it.
type LabelColumn struct {
	Set     SetID
	Columns bitset.Set
}

// Kind is the common part of offerings that differ in instance type and price only.
type Kind struct {
	Terms   []Term
	Columns bitset.Set
}

// NewColumns compiles a catalog; u gets the label keys that the catalog defines.
func NewColumns(types catalog.Catalog, u *Universe) *Columns {
	n := 0
	for _, it := range types {
		n += len(it.Groups)
	}
	c := &Columns{
		Types: types, u: u, defined: map[int]bool{}, read: map[int]*Label{}, masks: map[Term]bitset.Set{},
		Owner: make([]int32, 0, n), group: make([]int32, 0, n),
	}
	for t, it := range types {
		for g := range it.Groups {
			c.Owner = append(c.Owner, int32(t))
			c.group = append(c.group, int32(g))
		}
	}
	c.learnKeys()
	c.compileOfferings()
	return c
}

// Len is the number of columns.
func (c *Columns) Len() int { return len(c.Owner) }

// Allocatable is the capacity of a column for pods and daemons.
func (c *Columns) Allocatable(column int) resource.Vector {
	return c.Types[c.Owner[column]].Groups[c.group[column]].Allocatable
}

// learnKeys gives a number to every key that some type defines. Most types define the same keys in the same order.
func (c *Columns) learnKeys() {
	var before requirement.Set
	for _, it := range c.Types {
		for i := range it.Requirements {
			if i >= len(before) || before[i].Key != it.Requirements[i].Key {
				c.defined[c.u.Key(it.Requirements[i].Key)] = true
			}
		}
		before = it.Requirements
	}
}

// Defines reports whether some type, or some launchable offering, has a requirement on a key.
func (c *Columns) Defines(key int) bool { return c.defined[key] }

// Label returns the requirements of the types on a key. It is compiled on first use: a catalog has many labels, and few matter
// to the pods of one run.
func (c *Columns) Label(key int) *Label {
	if l, ok := c.read[key]; ok {
		return l
	}
	k := c.u.Keys[key]
	slab := bitset.NewSlab(c.Len())
	l := &Label{Absent: bitset.Full(c.Len())}
	at := map[SetID]int{}
	last, column := Undefined, 0
	for _, it := range c.Types {
		if i, ok := it.Requirements.Find(k.Name); ok {
			r := &it.Requirements[i]
			// Types often have the same requirement as the previous one.
			if last == Undefined || !r.Equal(k.Sets[last]) {
				last = k.Intern(*r)
			}
			n, known := at[last]
			if !known {
				n = len(l.Values)
				at[last] = n
				l.Values = append(l.Values, LabelColumn{Set: last, Columns: slab.Next()})
			}
			for g := range it.Groups {
				l.Values[n].Columns.Add(column + g)
				l.Absent.Remove(column + g)
			}
		}
		column += len(it.Groups)
	}
	c.read[key] = l
	return l
}

// OfferingsDefine reports whether the label is one of offerings, such as the zone.
func (c *Columns) OfferingsDefine(key int) bool {
	return slices.ContainsFunc(c.Kinds, func(kind Kind) bool {
		return slices.ContainsFunc(kind.Terms, func(term Term) bool { return term.Key == key })
	})
}

// compileOfferings sorts offerings into kinds. Those of one catalog share them; equal kinds are merged here.
func (c *Columns) compileOfferings() {
	known := map[*catalog.Kind]int{}
	byIdentity := map[string]int{}
	var scratch []byte
	column := 0
	for _, it := range c.Types {
		for i := range it.Offerings {
			o := &it.Offerings[i]
			if !o.Launchable() {
				continue
			}
			k, ok := known[o.Kind]
			if !ok {
				scratch = o.Requirements.AppendIdentity(scratch[:0])
				if k, ok = byIdentity[string(scratch)]; !ok {
					k = c.addKind(c.u.Terms(o.Requirements))
					byIdentity[string(scratch)] = k
				}
				known[o.Kind] = k
			}
			at := column + int(o.Group)
			c.Kinds[k].Columns.Add(at)
			c.Price[k][at] = min(c.Price[k][at], o.Price)
		}
		column += len(it.Groups)
	}
}

func (c *Columns) addKind(terms []Term) int {
	for _, term := range terms {
		c.defined[term.Key] = true
	}
	c.Kinds = append(c.Kinds, Kind{Terms: terms, Columns: bitset.New(c.Len())})
	c.Price = append(c.Price, slices.Repeat([]float64{math.Inf(1)}, c.Len()))
	return len(c.Kinds) - 1
}

// Matching is the columns whose labels do not contradict t; columns that do not define the key never do, unless t
// contradicts itself.
func (c *Columns) Matching(t Term) bitset.Set {
	if m, ok := c.masks[t]; ok {
		return m
	}
	k, l := c.u.Keys[t.Key], c.Label(t.Key)
	m := bitset.New(c.Len())
	if r := k.Sets[t.Set]; r.Len() > 0 || r.AllowsAbsence() {
		m = l.Absent.Clone()
	}
	for _, value := range l.Values {
		if k.overlap(value.Set, t.Set) {
			m.Or(value.Columns)
		}
	}
	c.masks[t] = m
	return m
}

// Cheapest is the lowest price of every column among the kinds given; +Inf where none of them has it.
func (c *Columns) Cheapest(kinds bitset.Set) []float64 {
	low := slices.Repeat([]float64{math.Inf(1)}, c.Len())
	for k := range kinds.All() {
		for column, price := range c.Price[k] {
			low[column] = min(low[column], price)
		}
	}
	return low
}

// Unavailable are the distinct offerings that are not launchable, price aside, each with the first column of the
// types that come in it.
func (c *Columns) Unavailable() []Kind {
	if c.unavailableKinds != nil {
		return c.unavailableKinds
	}
	out := []Kind{}
	at, column := map[string]int{}, 0
	var scratch []byte
	for _, it := range c.Types {
		for i := range it.Offerings {
			o := &it.Offerings[i]
			if o.Launchable() {
				continue
			}
			scratch = o.Requirements.AppendIdentity(scratch[:0])
			n, known := at[string(scratch)]
			if !known {
				n = len(out)
				at[string(scratch)] = n
				out = append(out, Kind{Terms: c.u.Terms(o.Requirements), Columns: bitset.New(c.Len())})
			}
			out[n].Columns.Add(column)
		}
		column += len(it.Groups)
	}
	c.unavailableKinds = out
	return out
}
