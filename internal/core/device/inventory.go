package device

import "slices"

// Inventory is the published devices. It is never changed once built.
type Inventory struct {
	// general are pools with devices that several nodes may use, byNode those with devices of one node. A pool may be in both.
	general []*pool
	byNode  map[string][]*pool
	pools   []*pool
	// rules taint devices, of planned nodes as well.
	rules []*TaintRule
}

// NewInventory returns the devices of slices, which rules taint, both in any order. Slices that a node owns count only if usable reports true for it:
// devices of nodes that are not ready, or not part of the run, are left out.
func NewInventory(published []*Slice, rules []*TaintRule, usable func(node string) bool) *Inventory {
	counted := slices.DeleteFunc(slices.Clone(published), func(s *Slice) bool { return s.NodeOwner != "" && !usable(s.NodeOwner) })
	v := &Inventory{pools: newPools(counted, false), byNode: map[string][]*pool{}, rules: rules}
	nodes := map[[2]string]map[string]bool{}
	wide := map[[2]string]bool{}
	for _, s := range counted {
		id := [2]string{s.Driver, s.Pool}
		if s.Node == "" || s.AllNodes || s.PerDevice {
			wide[id] = true
			continue
		}
		if nodes[id] == nil {
			nodes[id] = map[string]bool{}
		}
		nodes[id][s.Node] = true
	}
	for _, p := range v.pools {
		id := [2]string{p.driver, p.name}
		if wide[id] {
			v.general = append(v.general, p)
			continue
		}
		for node := range nodes[id] {
			v.byNode[node] = append(v.byNode[node], p)
		}
	}
	return v
}

// at returns the pools that the named node, or a planned node if the name is empty, may use, sorted by driver and name.
func (v *Inventory) at(node string) []*pool {
	out := v.general
	if local := v.byNode[node]; node != "" && len(local) > 0 {
		out = slices.Concat(v.general, local)
		slices.SortFunc(out, comparePools)
	}
	return out
}
