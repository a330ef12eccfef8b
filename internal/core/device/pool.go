package device

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// Slice is part of a pool as its driver publishes it. It is never changed once built.
type Slice struct {
	// Name orders the slices of a pool.
	Name         string
	Driver, Pool string
	// Generation is that of the pool; slices of older generations are ignored.
	Generation int64
	// Count is the number of slices of the pool in this generation.
	Count int64
	// Where the devices can be used: on all nodes, on the node called Node, where one of Terms holds, or, with PerDevice, where each
	// device says.
	AllNodes  bool
	PerDevice bool
	Node      string
	Terms     []requirement.Set
	// NodeOwner is the Node that owns the slice; empty for slices without an owner.
	NodeOwner string
	// Counters are those that devices of the pool consume. A slice has either counters or devices.
	Counters []CounterSet
	Devices  []*Device
}

// places returns the alternatives of where the slice can be used; none means nowhere.
func (s *Slice) places() []requirement.Set {
	switch {
	case s.PerDevice:
		var out []requirement.Set
		for _, d := range s.Devices {
			out = append(out, d.Places...)
		}
		return out
	case s.AllNodes:
		return []requirement.Set{nil}
	case s.Node != "":
		return []requirement.Set{OnNode(s.Node)}
	case len(s.Terms) == 0 && len(s.Counters) > 0:
		return []requirement.Set{nil}
	default:
		return s.Terms
	}
}

// pool is the devices of one driver that are managed together, at their newest generation.
type pool struct {
	driver, name string
	// conditional pools have conditional devices.
	conditional bool
	// incomplete is set while the driver publishes a new generation: some slices are missing.
	incomplete bool
	// invalid pools contradict themselves wherever they are looked at from.
	invalid bool
	// counters are the total amounts.
	counters map[counter]int64
	entries  []*entry
	// duplicates are pairs of devices of one name in different slices: where both can be used, the pool contradicts itself.
	duplicates [][2]*entry
	// slices are where any of its slices is of use.
	slices [][]requirement.Set
}

// counter names one counter of a pool.
type counter struct {
	pool      *pool
	set, name string
}

// entry is a device of a pool.
type entry struct {
	*Device
	id     ID
	pool   *pool
	places []requirement.Set
	// published is where the slice of the device is of use: at least where the device is.
	published []requirement.Set
	// template is set for devices of planned nodes.
	template bool
}

// comparePools orders pools by driver and name.
func comparePools(a, b *pool) int {
	return cmp.Or(strings.Compare(a.driver, b.driver), strings.Compare(a.name, b.name))
}

// newPools groups slices into pools, sorted by driver and name.
func newPools(published []*Slice, template bool) []*pool {
	sorted := slices.Clone(published)
	slices.SortFunc(sorted, func(a, b *Slice) int {
		return cmp.Or(strings.Compare(a.Driver, b.Driver), strings.Compare(a.Pool, b.Pool),
			cmp.Compare(b.Generation, a.Generation), strings.Compare(a.Name, b.Name))
	})
	var out []*pool
	for len(sorted) > 0 {
		first, n := sorted[0], 0
		for n < len(sorted) && sorted[n].Driver == first.Driver && sorted[n].Pool == first.Pool {
			n++
		}
		newest := sorted[:n]
		if i := slices.IndexFunc(newest, func(s *Slice) bool { return s.Generation != first.Generation }); i >= 0 {
			newest = newest[:i]
		}
		out = append(out, newPool(newest, template))
		sorted = sorted[n:]
	}
	return out
}

func newPool(list []*Slice, template bool) *pool {
	p := &pool{
		driver: list[0].Driver, name: list[0].Pool, counters: map[counter]int64{},
		incomplete: int64(len(list)) != list[0].Count,
	}
	sets := map[string]bool{}
	for _, s := range list {
		for _, set := range s.Counters {
			p.invalid = p.invalid || sets[set.Name]
			sets[set.Name] = true
			for name, amount := range set.Counters {
				p.counters[counter{p, set.Name, name}] = amount
			}
		}
	}
	byName := map[string][]*entry{}
	for _, s := range list {
		places := s.places()
		p.slices = append(p.slices, places)
		if len(s.Counters) > 0 {
			continue
		}
		for _, d := range s.Devices {
			e := &entry{Device: d, id: ID{p.driver, p.name, d.Name}, pool: p, places: places, published: places, template: template}
			if s.PerDevice {
				e.places = d.Places
			}
			p.conditional = p.conditional || d.Conditional
			p.entries = append(p.entries, e)
			for _, twin := range byName[d.Name] {
				p.duplicates = append(p.duplicates, [2]*entry{twin, e})
			}
			byName[d.Name] = append(byName[d.Name], e)
			p.invalid = p.invalid || !p.knows(d.ConsumesCounters)
		}
	}
	return p
}

// knows reports whether every counter that is drawn from exists.
func (p *pool) knows(draws []CounterConsumption) bool {
	for _, d := range draws {
		if _, ok := p.counters[counter{p, d.Set, d.Counter}]; !ok {
			return false
		}
	}
	return true
}
