package compile

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
)

// Labels that exist only inside a run.
const (
	HostnameKey    = requirement.HostnameLabel
	RegisteredKey  = "karpenter.sh/registered"
	InitializedKey = "karpenter.sh/initialized"
	// NewHostname stands for the name of a node that has none yet: no pod can require it.
	NewHostname = "hostname-placeholder"
)

// Labels that an open node constrains itself.
const (
	InstanceTypeKey = requirement.InstanceTypeLabel
	CapacityTypeKey = requirement.CapacityTypeLabel
)

// simulatedLabels are the labels that every new node has during a run and that must not be written to it. The last two make
// daemons count that wait for a node to be ready.
func simulatedLabels() requirement.Set {
	return requirement.NewSet(
		requirement.New(HostnameKey, requirement.In, NewHostname),
		requirement.New(RegisteredKey, requirement.In, "true"),
		requirement.New(InitializedKey, requirement.In, "true"),
	)
}

// Template is a pool ready to open nodes from.
type Template struct {
	Pool     *model.Pool
	Columns  *index.Columns
	Universe *index.Universe
	// Daemons is the overhead that DaemonSets add to each column, nil for none on any.
	Daemons []resource.Vector
	// Available is what daemons leave of each column for pods.
	Available []resource.Vector
	// Daemoned is set when there is a daemon on some column.
	Daemoned bool
	// DaemonPorts are the host ports of DaemonSets on each column; nil for none on any.
	DaemonPorts [][]model.HostPort
	// States are the label states that open nodes of this pool have reached; states[root] is that of an empty one.
	States  []*State
	byTerms map[string]StateID
	// Defined are the keys that the pool constrains.
	Defined map[int]bool
	Root    StateID
	Limits  *Limits
	// number is the template's place in the order of trial, open its open nodes.
	number int
	Open   OpenNodes
	// slotted is set when some instance type has attach limits for volumes.
	slotted bool
	// BestEffort lets nodes be opened that keep fewer distinct values than minValues requires.
	BestEffort   bool
	Reservations *Reservations
	// capacityIndexes order the columns by capacity, per resource; nil until they are needed. wanted are the resources that
	// pods request.
	capacityIndexes []*index.CapacityIndex
	Wanted          []int
	// nameOrder is the cached result of ByName.
	nameOrder []int32
	// FreeList are open nodes of trials, for reuse.
	FreeList []*OpenNode
	// scratch and candidates are sets of columns, names a list, each for use within one call.
	scratch, candidates bitset.Set
	names               []string
}

func newTemplate(pool *model.Pool, cols *index.Columns, u *index.Universe, daemons []*Class) *Template {
	t := &Template{
		Pool: pool, Columns: cols, Universe: u, byTerms: map[string]StateID{}, Defined: map[int]bool{},
		scratch: bitset.New(cols.Len()), candidates: bitset.New(cols.Len()),
	}
	t.slotted = slices.ContainsFunc(cols.Types, func(it *catalog.InstanceType) bool { return len(it.Attachable) > 0 })
	t.Root = t.rootState()
	t.reserveDaemons(daemons)
	return t
}

// usable reports whether the pool's own requirements leave a column with an available offering.
func (t *Template) usable() bool { return !t.States[t.Root].Mask.Empty() }

// reserveDaemons computes which daemons run on which column. A daemon counts where it tolerates the pool's taints (soft
// ones always), its labels are compatible with the pool, and the type does not contradict them; preferences never matter.
func (t *Template) reserveDaemons(daemons []*Class) {
	t.Available = make([]resource.Vector, t.Columns.Len())
	overheads, overheadOf := t.daemonOverheads(daemons)
	if t.Daemoned = slices.ContainsFunc(overheads, func(c daemonOverhead) bool { return len(c.requests) > 0 }); t.Daemoned {
		t.Daemons = make([]resource.Vector, t.Columns.Len())
	}
	if slices.ContainsFunc(overheads, func(c daemonOverhead) bool { return len(c.ports) > 0 }) {
		t.DaemonPorts = make([][]model.HostPort, t.Columns.Len())
	}
	for column := range t.Available {
		overhead := overheads[overheadOf[column]]
		if t.Daemons != nil {
			t.Daemons[column] = overhead.requests
		}
		if t.DaemonPorts != nil {
			t.DaemonPorts[column] = overhead.ports
		}
		// A node that cannot even hold its daemons has no capacity for pods.
		switch allocatable := t.Columns.Allocatable(column); {
		case len(overhead.requests) == 0:
			t.Available[column] = allocatable
		case overhead.requests.Fits(allocatable):
			t.Available[column] = allocatable.Sub(overhead.requests)
		}
	}
}

// daemonOverhead is the daemons of a column, together.
type daemonOverhead struct {
	requests resource.Vector
	ports    []model.HostPort
}

// daemonOverheads are the different combinations of daemons that occur, and the one of each column.
func (t *Template) daemonOverheads(daemons []*Class) (crews []daemonOverhead, of []int) {
	crews, of = []daemonOverhead{{}}, make([]int, t.Columns.Len())
	for _, d := range daemons {
		joined := map[int]int{}
		for column := range t.runsOn(d).All() {
			before := of[column]
			after, ok := joined[before]
			if !ok {
				after = len(crews)
				joined[before] = after
				crews = append(crews, daemonOverhead{
					requests: crews[before].requests.Add(d.Shape.Requests),
					ports:    slices.Concat(crews[before].ports, d.Shape.HostPorts),
				})
			}
			of[column] = after
		}
	}
	return crews, of
}

func (t *Template) runsOn(d *Class) bitset.Set {
	runsOn := bitset.New(t.Columns.Len())
	if _, repelled := model.Untolerated(t.Pool.Taints, d.Shape.Tolerations, true); repelled {
		return runsOn
	}
	for _, alternative := range d.Alternatives {
		if !t.Compatible(t.States[t.Root], alternative.Terms) {
			continue
		}
		match := bitset.Full(t.Columns.Len())
		for _, want := range alternative.Terms {
			match = match.And(t.Columns.Matching(want))
		}
		runsOn.Or(match)
	}
	return runsOn
}

// capacityIndex is that of resource r. Templates without daemons share those of their columns.
func (t *Template) capacityIndex(r int) *index.CapacityIndex {
	indexes := &t.capacityIndexes
	if !t.Daemoned {
		indexes = &t.Columns.CapacityIndexes
	}
	for len(*indexes) <= r {
		*indexes = append(*indexes, nil)
	}
	if (*indexes)[r] == nil {
		(*indexes)[r] = index.NewCapacityIndex(t.Available, r)
	}
	return (*indexes)[r]
}

// PortsFree is the columns on which no daemon uses a port of the class.
func (t *Template) PortsFree(c *Class) bitset.Set {
	if t.DaemonPorts == nil {
		return bitset.Full(t.Columns.Len())
	}
	free := bitset.New(t.Columns.Len())
	for column, taken := range t.DaemonPorts {
		if _, clash := model.FirstConflict(c.Shape.HostPorts, taken); !clash {
			free.Add(column)
		}
	}
	return free
}
