package compile

import (
	"cmp"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// expectedDaemon is a DaemonSet with its class, which others may share.
type expectedDaemon struct {
	*Class
	set *model.DaemonSet
}

// daemonKey is equal for DaemonSets that share a class.
type daemonKey struct {
	shape  *model.Shape
	labels *model.Labels
}

// daemon is a class that is only used to determine where it would run, and which pods keep away from it.
func (cs *Classes) daemon(d *model.DaemonSet) *Class {
	key := daemonKey{d.Shape, d.Labels}
	if c, ok := cs.daemons[key]; ok {
		return c
	}
	c := cs.bare(d.Shape)
	c.podSpecifics = &podSpecifics{labels: d.Labels, daemon: len(cs.daemonList)}
	cs.daemons[key] = c
	cs.daemonList = append(cs.daemonList, c)
	return c
}

// daemonConflict is a DaemonSet whose pods share no node with those of a class: by required anti-affinity of either, which is a group, or by
// a host port.
type daemonConflict struct {
	daemon *Class
	group  *Group
}

// fileDaemons finds the DaemonSets whose pods each group selects, and those whose anti-affinity it is.
func (cs *Classes) fileDaemons() {
	for _, d := range cs.daemonList {
		if d.labels == nil {
			continue
		}
		for _, g := range cs.groups.memberOf(d.labels).members {
			g.daemons = append(g.daemons, d)
		}
		for _, g := range cs.groups.guardsOf(d.Shape) {
			if !slices.Contains(g.guarded, d) {
				g.guarded = append(g.guarded, d)
			}
		}
	}
}

// sharesPort reports whether pods of both classes use a host port that only one pod of a node can have.
func (c *Class) sharesPort(o *Class) bool {
	_, conflict := model.FirstConflict(c.Shape.HostPorts, o.Shape.HostPorts)
	return conflict
}

// findDaemonConflicts lists those of the DaemonSets whose pods the class never shares a node with, in their order: where one of them runs on a
// node, it is in every domain of the node.
func (c *Class) findDaemonConflicts(daemons []*Class) {
	for _, d := range daemons {
		if c.sharesPort(d) {
			c.conflict([]*Class{d}, nil)
		}
	}
	for _, g := range c.Owns.Part(PartRequired) {
		if g.Kind == topology.KindAnti {
			c.conflict(g.daemons, g)
		}
	}
	for _, list := range [][]*Group{c.Avoid, c.AvoidHosts} {
		for _, g := range list {
			c.conflict(g.guarded, g)
		}
	}
	slices.SortStableFunc(c.daemonConflicts, func(a, b daemonConflict) int { return cmp.Compare(a.daemon.daemon, b.daemon.daemon) })
}

func (c *Class) conflict(daemons []*Class, by *Group) {
	for _, d := range daemons {
		c.daemonConflicts = append(c.daemonConflicts, daemonConflict{d, by})
	}
}

// AwayFromDaemons removes the columns from candidates on which a DaemonSet leaves no place for the class, whatever their capacity, on
// nodes in a state: because of a host port, or of anti-affinity. It returns the group of the last such anti-affinity.
func (t *Template) AwayFromDaemons(candidates bitset.Set, st *State, c *Class) (by *Group) {
	if len(c.daemonConflicts) == 0 {
		return nil
	}
	capacity := t.CapacityIn(st)
	for _, conflict := range c.daemonConflicts {
		g := conflict.group
		if g != nil && !g.Host && t.lacks(st, g.Key) || conflict.daemon.closedIn(t, st) {
			continue
		}
		for _, d := range capacity.daemons {
			if d.Class != conflict.daemon || !d.columns.Intersects(candidates) {
				continue
			}
			if g != nil {
				by = g
			}
			for column := range d.columns.All() {
				candidates.Remove(column)
			}
		}
	}
	return by
}

// repelledByDaemons reports whether anti-affinity keeps the class apart from a DaemonSet whose pod will run on the node.
func (t *Target) repelledByDaemons(c *Class) bool {
	return slices.ContainsFunc(c.daemonConflicts, func(conflict daemonConflict) bool {
		g := conflict.group // ports are among those of the node
		return g != nil && slices.Contains(t.daemons, conflict.daemon) && (g.Host || !nodeLacks(t.Node, g.u.Keys[g.Key]))
	})
}
