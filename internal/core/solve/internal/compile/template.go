package compile

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
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

// Labels that the engine knows.
const (
	InstanceTypeKey = requirement.InstanceTypeLabel
	CapacityTypeKey = requirement.CapacityTypeLabel
	ZoneKey         = requirement.ZoneLabel
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
	// NodeCapacity is the capacity of a node that no pod has narrowed, which all DaemonSets of the pool may run on; Most is an upper
	// bound for all states.
	*NodeCapacity
	Most *NodeCapacity
	// daemons are the DaemonSets that may run on some node of the pool, capacities what sets of them leave.
	daemons    []templateDaemon
	capacities map[string]*NodeCapacity
	// Omitted are the DaemonSets whose pods no node of the pool can hold beside those of the others; possibleDaemons are those among them
	// that could run in place of others.
	Omitted         []*model.DaemonSet
	possibleDaemons []possibleDaemon
	// States are the label states that open nodes of this pool have reached; states[root] is that of an empty one.
	States  []*State
	byTerms map[string]StateID
	// steps caches which states follow.
	steps stepCache
	// stateBytes is the approximate size of states in bytes.
	stateBytes int64
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
	// Wanted are the resources that pods request.
	Wanted []int
	// nameOrder is the cached result of ByName.
	nameOrder []int32
	// FreeList are open nodes of trials, for reuse.
	FreeList []*OpenNode
	// scratch and candidates are sets of columns, names a list, each for use within one call.
	scratch, candidates bitset.Set
	names               []string
}

func newTemplate(pool *model.Pool, cols *index.Columns, u *index.Universe, bestEffort bool, daemons []expectedDaemon) *Template {
	t := &Template{
		Pool: pool, Columns: cols, Universe: u, byTerms: map[string]StateID{}, Defined: map[int]bool{}, BestEffort: bestEffort,
		scratch: bitset.New(cols.Len()), candidates: bitset.New(cols.Len()),
	}
	t.slotted = slices.ContainsFunc(cols.Types, func(it *catalog.InstanceType) bool { return len(it.Attachable) > 0 })
	t.Root = t.rootState()
	t.reserveDaemons(daemons)
	return t
}

// usable reports whether the pool's own requirements leave a column with an available offering.
func (t *Template) usable() bool { return !t.States[t.Root].Mask.Empty() }
