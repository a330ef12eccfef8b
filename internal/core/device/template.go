package device

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Template is the devices that drivers will publish on a node of an instance type. Instance types with the same devices share one
// Template; nil is the template without devices.
type Template struct {
	pools    []*pool
	bindings map[boundAttribute]int
}

// Binding is a set of devices of one node that will have the same, still unknown, value of an attribute.
type Binding struct {
	Attribute string
	Devices   []ID
}

type boundAttribute struct {
	attribute string
	device    ID
}

// NewTemplate returns the template of nodes that will publish slices. Bindings that share a device are merged.
func NewTemplate(slices []*Slice, bindings []Binding) *Template {
	local := make([]*Slice, len(slices))
	for i, s := range slices {
		// The node can use its own slices, whatever its name will be.
		onIt := *s
		onIt.AllNodes, onIt.PerDevice, onIt.Node, onIt.Terms = true, false, "", nil
		local[i] = &onIt
	}
	return &Template{pools: newPools(local, true), bindings: groupBindings(bindings)}
}

// groupBindings numbers the connected groups of bindings of one attribute, from 1.
func groupBindings(bindings []Binding) map[boundAttribute]int {
	parent := map[boundAttribute]boundAttribute{}
	var root func(b boundAttribute) boundAttribute
	root = func(b boundAttribute) boundAttribute {
		if up, ok := parent[b]; ok && up != b {
			return root(up)
		}
		return b
	}
	for _, group := range bindings {
		if len(group.Devices) < 2 {
			continue
		}
		first := boundAttribute{group.Attribute, group.Devices[0]}
		for _, id := range group.Devices {
			b := boundAttribute{group.Attribute, id}
			if _, known := parent[b]; !known {
				parent[b] = b
			}
			parent[root(b)] = root(first)
		}
	}
	members := slices.SortedFunc(maps.Keys(parent), func(a, b boundAttribute) int {
		return cmp.Or(strings.Compare(a.attribute, b.attribute), a.device.Compare(b.device))
	})
	numbers, out := map[boundAttribute]int{}, map[boundAttribute]int{}
	for _, b := range members {
		r := root(b)
		if numbers[r] == 0 {
			numbers[r] = len(numbers) + 1
		}
		out[b] = numbers[r]
	}
	return out
}

// binding returns the group of a device for an attribute; 0 for none.
func (t *Template) binding(attribute string, id ID) int {
	if t == nil {
		return 0
	}
	return t.bindings[boundAttribute{attribute, id}]
}

func (t *Template) list() []*pool {
	if t == nil {
		return nil
	}
	return t.pools
}

// Selected are the devices that a selection matches, taints aside. A selector that fails on a device does not match it.
func (t *Template) Selected(by *Selection) map[ID]bool {
	out := map[ID]bool{}
	for _, p := range t.list() {
		for _, e := range p.entries {
			matches := true
			for _, s := range by.Selectors {
				ok, err := s.Matches(e.Device)
				matches = matches && ok && err == nil
			}
			if matches {
				out[e.id] = true
			}
		}
	}
	return out
}
