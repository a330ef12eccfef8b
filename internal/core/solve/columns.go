package solve

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
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
	// offeringKeys are the keys that some offering constrains.
	offeringKeys map[int]bool
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
	c := &columns{
		types:        types,
		labels:       map[int][]labelColumn{},
		silent:       map[int]bitset{},
		offeringKeys: map[int]bool{},
		masks:        map[term]bitset{},
	}
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

func (c *columns) compileLabels(u *universe) {
	byTerm := map[term]bitset{}
	for column, owner := range c.owner {
		for _, t := range u.terms(c.types[owner].Requirements) {
			set, ok := byTerm[t]
			if !ok {
				set = newBitset(c.len())
				byTerm[t] = set
				c.labels[t.key] = append(c.labels[t.key], labelColumn{set: t.set, columns: set})
			}
			set.set(column)
			if c.silent[t.key] == nil {
				c.silent[t.key] = fullBitset(c.len())
			}
			c.silent[t.key][column>>6] &^= 1 << (column & 63)
		}
	}
}

func (c *columns) compileOfferings(u *universe) {
	byText := map[string]int{}
	first := c.firstColumns()
	for t, it := range c.types {
		for _, o := range it.Offerings {
			if !o.Available || o.Group < 0 {
				continue
			}
			text := o.Requirements.String()
			k, ok := byText[text]
			if !ok {
				k = len(c.kinds)
				byText[text] = k
				c.kinds = append(c.kinds, kind{terms: u.terms(o.Requirements), columns: newBitset(c.len())})
				c.price = append(c.price, slices.Repeat([]float64{math.Inf(1)}, c.len()))
				for _, term := range c.kinds[k].terms {
					c.offeringKeys[term.key] = true
				}
			}
			column := first[t] + o.Group
			c.kinds[k].columns.set(column)
			c.price[k][column] = min(c.price[k][column], o.Price)
		}
	}
}

// firstColumns is the column of group 0 of every type.
func (c *columns) firstColumns() []int {
	first := make([]int, len(c.types))
	next := 0
	for t, it := range c.types {
		first[t] = next
		next += len(it.Groups)
	}
	return first
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
		if u.keys[t.key].join(label.set, t.set).overlap {
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
