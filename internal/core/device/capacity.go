package device

import (
	"math"
	"slices"
	"strings"
)

// Amount is some of a dimension of capacity, in thousandths.
type Amount struct {
	Name  string
	Value int64
}

// Capacity is one dimension of a device's capacity, in thousandths.
type Capacity struct {
	Name  string
	Total int64
	// Policy determines which amounts may be requested; nil allows all.
	Policy *Policy
}

// Policy limits and rounds the amounts of a dimension that may be consumed. Values and Range exclude each other.
type Policy struct {
	// Default is consumed by claims without a request; without a default they consume everything.
	Default *int64
	// Values are the allowed amounts, ascending.
	Values []int64
	Range  *Range
}

// Range is the amounts from Min to Max in steps. A Step of 0 has none, and without Max the device's capacity is the bound.
type Range struct {
	Min, Step int64
	Max       *int64
}

// take returns the amount that a request for wanted consumes; nil is no request. It is false if the policy or the device has no
// amount that large.
func (c Capacity) take(wanted *int64) (int64, bool) {
	amount := c.Total
	switch {
	case wanted == nil && c.Policy != nil && c.Policy.Default != nil:
		amount = *c.Policy.Default
	case wanted == nil:
	case c.Policy == nil:
		amount = *wanted
	default:
		var ok bool
		if amount, ok = c.Policy.round(*wanted); !ok {
			return 0, false
		}
	}
	return amount, amount <= c.Total
}

// round returns the smallest amount that the policy allows and that is at least wanted.
func (p *Policy) round(wanted int64) (int64, bool) {
	switch {
	case len(p.Values) > 0:
		i, _ := slices.BinarySearch(p.Values, wanted)
		if i == len(p.Values) {
			return 0, false
		}
		return p.Values[i], true
	case p.Range != nil:
		return p.Range.round(wanted)
	}
	return wanted, true
}

func (r *Range) round(wanted int64) (int64, bool) {
	amount := max(wanted, r.Min)
	if beyond := amount - r.Min; r.Step > 0 && beyond%r.Step != 0 {
		missing := r.Step - beyond%r.Step
		if amount > math.MaxInt64-missing {
			return 0, false
		}
		amount += missing
	}
	return amount, r.Max == nil || amount <= *r.Max
}

// consumedCapacity returns what an allocation with the requested amounts consumes of every dimension of d, or false if that exceeds
// the capacity of d when it is unused. A dimension that d does not have is exceeded.
func consumedCapacity(d *Device, asked []Amount) ([]Amount, bool) {
	for _, a := range asked {
		if _, ok := d.dimension(a.Name); !ok {
			return nil, false
		}
	}
	out := make([]Amount, 0, len(d.Capacity))
	for _, c := range d.Capacity {
		var wanted *int64
		for i, a := range asked {
			if a.Name == c.Name {
				wanted = &asked[i].Value
			}
		}
		amount, ok := c.take(wanted)
		if !ok {
			return nil, false
		}
		out = append(out, Amount{c.Name, amount})
	}
	return out, true
}

func (d *Device) dimension(name string) (Capacity, bool) {
	i, ok := slices.BinarySearchFunc(d.Capacity, name, func(c Capacity, name string) int { return strings.Compare(c.Name, name) })
	if !ok {
		return Capacity{}, false
	}
	return d.Capacity[i], true
}
