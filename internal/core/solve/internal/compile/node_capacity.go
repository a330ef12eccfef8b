package compile

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
)

// NodeCapacity is what the DaemonSets that run on new nodes leave of each column. A template has one for each set of DaemonSets: a
// DaemonSet that selects spot instances takes nothing from an open node in a state that excludes these.
type NodeCapacity struct {
	columns *index.Columns
	// Daemons is the overhead that DaemonSets add to each column, nil for none on any.
	Daemons []resource.Vector
	// Available is what daemons leave of each column for pods.
	Available []resource.Vector
	// Daemoned is set when there is a daemon on some column.
	Daemoned bool
	// DaemonPorts are the host ports of DaemonSets on each column; nil for none on any.
	DaemonPorts [][]model.HostPort
	// daemons are those that run on the nodes, or may run there although they are omitted.
	daemons []templateDaemon
	// indexes order the columns by capacity, per resource; nil until they are needed.
	indexes []*index.CapacityIndex
}

// daemonOverhead is the daemons of a column, together.
type daemonOverhead struct {
	requests resource.Vector
	ports    []model.HostPort
}

// templateDaemon is one alternative of the node affinity of a DaemonSet that may run on nodes of a template.
type templateDaemon struct {
	expectedDaemon
	alternative *Conjunction
	// columns are those that the alternative does not contradict.
	columns bitset.Set
	// always is set when pods cannot narrow a node so that the DaemonSet does not run on it.
	always bool
}

// reserveDaemons computes which daemons run on which column. A daemon counts where it tolerates the pool's taints (soft
// ones always), its labels are compatible with the pool, and the type does not contradict them; preferences never matter.
func (t *Template) reserveDaemons(daemons []expectedDaemon) {
	root := t.States[t.Root]
	for _, d := range daemons {
		if _, repelled := model.Untolerated(t.Pool.Taints, d.Shape.Tolerations, true); repelled || withoutFeatures(t.Pool, d.Class) {
			continue
		}
		for _, alternative := range d.Alternatives {
			if !t.Compatible(root, alternative.Terms) {
				continue
			}
			match := bitset.Full(t.Columns.Len())
			for _, want := range alternative.Terms {
				match = match.And(t.Columns.Matching(want))
			}
			t.daemons = append(t.daemons, templateDaemon{d, alternative, match, t.always(root, alternative)})
		}
	}
	everywhere := func(templateDaemon) bool { return true }
	t.capacities = map[string]*NodeCapacity{}
	t.NodeCapacity = t.capacityWith(everywhere)
	if omitDaemons(t) {
		t.capacities = map[string]*NodeCapacity{}
		t.NodeCapacity = t.capacityWith(everywhere)
	}
	t.Most = t.NodeCapacity
	if slices.ContainsFunc(t.daemons, func(d templateDaemon) bool { return !d.always }) {
		t.Most = t.capacityWith(func(d templateDaemon) bool { return d.always })
	}
}

// always reports whether every node of the template meets an alternative of a daemon, as far as the columns do not decide.
func (t *Template) always(root *State, alternative *Conjunction) bool {
	return !slices.ContainsFunc(alternative.Terms, func(want index.Term) bool {
		k, have := t.Universe.Keys[want.Key], root.Get(want.Key)
		switch {
		case have != index.Undefined && k.Covers(want.Set, have):
			return false
		case have == index.Undefined && !k.WellKnown && k.Sets[want.Set].AllowsAbsence():
			return false // the pool does not define the label, so no pod can require it
		}
		return !t.decidedByColumn(want.Key)
	})
}

// decidedByColumn reports whether every column that has the label has one value of it.
func (t *Template) decidedByColumn(key int) bool {
	values := t.Columns.Label(key).Values
	return len(values) > 0 && !slices.ContainsFunc(values, func(l index.LabelColumn) bool {
		r := t.Universe.Keys[key].Sets[l.Set]
		return r.Complement() || r.Len() != 1
	})
}

// CapacityIn is the capacity of the columns for pods on a node in a state: DaemonSets that the state excludes take none.
func (t *Template) CapacityIn(st *State) *NodeCapacity {
	if t.Most == t.NodeCapacity {
		return t.NodeCapacity
	}
	if st.capacity == nil {
		st.capacity = t.capacityWith(func(d templateDaemon) bool { return d.always || t.Compatible(st, d.alternative.Terms) })
	}
	return st.capacity
}

// capacityWith is the capacity that some of the daemons leave, one for each set of them.
func (t *Template) capacityWith(runs func(templateDaemon) bool) *NodeCapacity {
	id := make([]byte, len(t.daemons)+len(t.possibleDaemons))
	for i, d := range t.daemons {
		if runs(d) {
			id[i] = 1
		}
	}
	for i, r := range t.possibleDaemons {
		if runs(r.templateDaemon) {
			id[len(t.daemons)+i] = 1
		}
	}
	known, ok := t.capacities[string(id)]
	if !ok {
		daemons := joinAlternatives(t.daemons, runs)
		known = newNodeCapacity(t.Columns, daemons)
		var possible []possibleDaemon
		for i, r := range t.possibleDaemons {
			if id[len(t.daemons)+i] == 1 {
				known.reservePossible(r)
				possible = append(possible, r)
			}
		}
		if len(possible) > 0 {
			known.reserveContention(daemons, possible)
		}
		t.capacities[string(id)] = known
	}
	return known
}

// joinAlternatives is the daemons of a list that run, each once: on the columns of all its alternatives that run.
func joinAlternatives(list []templateDaemon, runs func(templateDaemon) bool) []templateDaemon {
	var daemons []templateDaemon
	for _, d := range list {
		if !runs(d) {
			continue
		}
		if last := len(daemons) - 1; last >= 0 && daemons[last].set == d.set {
			daemons[last].columns = daemons[last].columns.Clone()
			daemons[last].columns.Or(d.columns)
			continue
		}
		daemons = append(daemons, d)
	}
	return daemons
}

func newNodeCapacity(columns *index.Columns, daemons []templateDaemon) *NodeCapacity {
	nc := &NodeCapacity{columns: columns, daemons: daemons, Available: make([]resource.Vector, columns.Len())}
	overheads := newDaemonOverheads(columns.Len(), daemons)
	if nc.Daemoned = slices.ContainsFunc(overheads.combinations, func(c daemonOverhead) bool { return len(c.requests) > 0 }); nc.Daemoned {
		nc.Daemons = make([]resource.Vector, columns.Len())
	}
	if slices.ContainsFunc(overheads.combinations, func(c daemonOverhead) bool { return len(c.ports) > 0 }) {
		nc.DaemonPorts = make([][]model.HostPort, columns.Len())
	}
	for column := range nc.Available {
		overhead := overheads.at(column)
		if nc.Daemons != nil {
			nc.Daemons[column] = overhead.requests
		}
		if nc.DaemonPorts != nil {
			nc.DaemonPorts[column] = overhead.ports
		}
		nc.Available[column] = available(columns.Allocatable(column), overhead.requests)
	}
	return nc
}

// available is what daemons leave of a node. One that cannot even hold its daemons has no capacity for pods.
func available(allocatable, daemons resource.Vector) resource.Vector {
	switch {
	case len(daemons) == 0:
		return allocatable
	case daemons.Fits(allocatable):
		return allocatable.Sub(daemons)
	}
	return nil
}

// daemonOverheads are the different combinations of daemons that occur, and the one of each column.
type daemonOverheads struct {
	combinations []daemonOverhead
	of           []int
	// portless leaves out the ports.
	portless bool
}

// newPortlessOverheads is the overheads of no daemons, to which daemons are added without their ports.
func newPortlessOverheads(columns int) daemonOverheads {
	return daemonOverheads{[]daemonOverhead{{}}, make([]int, columns), true}
}

func newDaemonOverheads(columns int, daemons []templateDaemon) daemonOverheads {
	o := daemonOverheads{[]daemonOverhead{{}}, make([]int, columns), false}
	for _, d := range daemons {
		o.add(d)
	}
	return o
}

func (o *daemonOverheads) at(column int) daemonOverhead { return o.combinations[o.of[column]] }

// add adds a daemon to its columns.
func (o *daemonOverheads) add(d templateDaemon) {
	o.compact()
	joined := map[int]int{}
	for column := range d.columns.All() {
		before := o.of[column]
		after, ok := joined[before]
		if !ok {
			after = len(o.combinations)
			joined[before] = after
			with := daemonOverhead{requests: o.combinations[before].requests.Add(d.Shape.Requests)}
			if !o.portless {
				with.ports = slices.Concat(o.combinations[before].ports, d.Shape.HostPorts)
			}
			o.combinations = append(o.combinations, with)
		}
		o.of[column] = after
	}
}

// compact drops combinations that no column has any more, once they are the most.
func (o *daemonOverheads) compact() {
	if len(o.combinations) <= 2*len(o.of) {
		return
	}
	kept, moved := []daemonOverhead{{}}, map[int]int{}
	for column, before := range o.of {
		after, ok := moved[before]
		if !ok {
			after = len(kept)
			moved[before] = after
			kept = append(kept, o.combinations[before])
		}
		o.of[column] = after
	}
	o.combinations = kept
}

// with is o with more daemons.
func (o *daemonOverheads) with(daemons ...templateDaemon) daemonOverheads {
	more := daemonOverheads{slices.Clip(o.combinations), slices.Clone(o.of), o.portless}
	for _, d := range daemons {
		more.add(d)
	}
	return more
}

// index is the capacity index of resource r. Columns without daemons share theirs between templates.
func (nc *NodeCapacity) index(r int) *index.CapacityIndex {
	indexes := &nc.indexes
	if !nc.Daemoned {
		indexes = &nc.columns.CapacityIndexes
	}
	for len(*indexes) <= r {
		*indexes = append(*indexes, nil)
	}
	if (*indexes)[r] == nil {
		(*indexes)[r] = index.NewCapacityIndex(nc.Available, r)
	}
	return (*indexes)[r]
}

// portsFree is the columns on which no daemon uses a port of the class, apart from those that are kept away.
func (nc *NodeCapacity) portsFree(c *Class, away func(*Class) bool) bitset.Set {
	free := bitset.Full(nc.columns.Len())
	for _, d := range nc.daemons {
		if c.sharesPort(d.Class) && !away(d.Class) {
			for column := range d.columns.All() {
				free.Remove(column)
			}
		}
	}
	return free
}

// PortsFreeIn is the columns of a template on which no daemon uses a port of the class on nodes in a state.
func PortsFreeIn(t *Template, st *State, c *Class) bitset.Set {
	return t.CapacityIn(st).portsFree(c, func(d *Class) bool { return d.closedIn(t, st) })
}

// PortsEverFree is the columns of a template on which the ports of the class may be free in some state.
func PortsEverFree(t *Template, c *Class) bitset.Set {
	return t.Most.portsFree(c, func(d *Class) bool { return len(d.closed) > 0 })
}

// DaemonRange is the least and the most that daemons take of each resource on the candidates.
func (nc *NodeCapacity) DaemonRange(mask bitset.Set) (least, most resource.Vector) {
	if !nc.Daemoned {
		return nil, nil
	}
	first := true
	for column := range mask.All() {
		if first {
			least, most, first = nc.Daemons[column].Clone(), nc.Daemons[column].Clone(), false
			continue
		}
		least, most = least.Min(nc.Daemons[column]), most.Max(nc.Daemons[column])
	}
	return least, most
}
