package compile

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// Required anti-affinity of running pods keeps the pods of a DaemonSet away from some domains, where new nodes have no such pod, then. In
// domains of pods that are placed now the DaemonSet may be first.

// closedDomains are the domains of a label that anti-affinity of running pods closes to a DaemonSet.
type closedDomains struct {
	group   *Group
	domains []int
	names   []string
	// staying are, for each domain, the pods that close it and that no what-if moves, moved those that commits have put there; nil for none.
	staying, moved []int
}

// findClosed finds the domains that are closed to DaemonSets, and releases what existing nodes there reserve for them.
func (r *Run) findClosed() {
	for _, d := range r.Classes.daemonList {
		if d.labels == nil {
			continue
		}
		d.closed = nil
		m := r.Groups.memberOf(d.labels)
		for _, g := range slices.Concat(m.Avoid, m.AvoidHosts) {
			if domains := g.Counted(); len(domains) > 0 {
				d.closed = append(d.closed, r.Counts.closed(g, slices.Clone(domains)))
			}
		}
	}
	if !slices.ContainsFunc(r.Classes.daemonList, func(d *Class) bool { return len(d.closed) > 0 }) {
		return
	}
	for i, t := range r.Targets.List {
		b := r.ExistingBin(i)
		if !slices.ContainsFunc(t.daemons, func(d *Class) bool { return d.closedTo(r.Counts, b) }) {
			continue
		}
		used := make([]bool, len(t.Node.Pods))
		r.Targets.reserve(i, func(d *Class) bool { return d.closedTo(r.Counts, b) && !running(d, t.Node, used) })
	}
}

// closed are domains that a group closes, with their names.
func (ct *Counts) closed(g *Group, domains []int) closedDomains {
	out := closedDomains{group: g, domains: domains}
	for i := 0; i < len(domains) && !g.Host; i++ {
		out.names = append(out.names, ct.Domains.Of(g.Key).Names[domains[i]])
	}
	slices.Sort(out.names)
	return out
}

// closedTo reports whether the DaemonSet is kept away from the node, whatever its labels will be.
func (c *Class) closedTo(ct *Counts, b Bin) bool { return ct.closes(c.closed, b) }

// closes reports whether some of the closed domains are all that the node can be in.
func (ct *Counts) closes(closed []closedDomains, b Bin) bool {
	return slices.ContainsFunc(closed, func(in closedDomains) bool {
		domains := []int{b.Host}
		if !in.group.Host {
			domains, _ = ct.possible(b, in.group.Key)
		}
		return len(domains) > 0 && !slices.ContainsFunc(domains, func(d int) bool { return !slices.Contains(in.domains, d) })
	})
}

// mayBeClosedTo reports whether the DaemonSet may be kept away from the node.
func (c *Class) mayBeClosedTo(ct *Counts, b Bin) bool { return ct.touches(c.closed, b) }

// touches reports whether the node may be in some of the closed domains.
func (ct *Counts) touches(closed []closedDomains, b Bin) bool {
	return slices.ContainsFunc(closed, func(in closedDomains) bool {
		domains := []int{b.Host}
		if !in.group.Host {
			domains, _ = ct.possible(b, in.group.Key)
		}
		return slices.ContainsFunc(domains, func(d int) bool { return slices.Contains(in.domains, d) })
	})
}

// closedIn reports whether the DaemonSet is kept away from all new nodes in a state.
func (c *Class) closedIn(t *Template, st *State) bool {
	return slices.ContainsFunc(c.closed, func(in closedDomains) bool {
		set := st.Get(in.group.Key)
		if in.group.Host || set == index.Undefined {
			return false
		}
		r := t.Universe.Keys[in.group.Key].Sets[set]
		return !r.Complement() && r.Len() > 0 && !slices.ContainsFunc(r.Values(), func(name string) bool { return !slices.Contains(in.names, name) })
	})
}

// Admitting is forms without the domains that are closed to the DaemonSet that the level relies on.
func (cs *Classes) Admitting(lv *Level, forms []*Conjunction) []*Conjunction {
	var without []requirement.Requirement
	for _, c := range lv.Beside.closed {
		if !c.group.Host {
			without = append(without, requirement.New(cs.Universe.Keys[c.group.Key].Name, requirement.NotIn, c.names...))
		}
	}
	if len(without) == 0 {
		return forms
	}
	out := make([]*Conjunction, len(forms))
	for i, form := range forms {
		out[i] = cs.Intern(form.Set.And(requirement.NewSet(without...)))
	}
	return out
}

// Sheltered is forms in the domains that are closed to the DaemonSets that the class avoids.
func (cs *Classes) Sheltered(c *Class, forms []*Conjunction) []*Conjunction {
	var shelters [][]requirement.Requirement
	for _, d := range c.avoided() {
		var ways []requirement.Requirement
		for _, closed := range d.closed {
			if !closed.group.Host {
				ways = append(ways, requirement.New(cs.Universe.Keys[closed.group.Key].Name, requirement.In, closed.names...))
			}
		}
		if len(ways) > 0 {
			shelters = append(shelters, ways)
		}
	}
	return cs.withExclusions(forms, shelters)[len(forms):]
}

// AvoidsDaemons reports whether the class avoids some DaemonSet that is kept away from some domains.
func (c *Class) AvoidsDaemons() bool {
	return slices.ContainsFunc(c.avoided(), func(d *Class) bool { return len(d.closed) > 0 })
}

// avoided are the DaemonSets beside whose pods a node may have no place for the class: those that it shares no node with, and those that its
// required spreads count.
func (c *Class) avoided() (out []*Class) {
	for _, conflict := range c.daemonConflicts {
		out = append(out, conflict.daemon)
	}
	for _, g := range c.Owns.Part(PartRequired) {
		if g.tally != nil && g.Kind == topology.KindSpread {
			out = append(out, g.tally.daemons...)
		}
	}
	return out
}
