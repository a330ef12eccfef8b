package solve

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// Labels that exist only inside a run.
const (
	hostnameKey    = requirement.HostnameLabel
	registeredKey  = "karpenter.sh/registered"
	initializedKey = "karpenter.sh/initialized"
	// newHostname stands for the name of a machine that has none yet: no pod can ask for it.
	newHostname = "hostname-placeholder"
)

// Labels that an open node constrains on its own account.
const (
	instanceTypeKey = requirement.InstanceTypeLabel
	capacityTypeKey = requirement.CapacityTypeLabel
)

// simulated are the labels every new machine has during a run and that must not leave it. The last two make daemons count
// that wait for a node to be ready.
func simulatedLabels() requirement.Set {
	return requirement.NewSet(
		requirement.New(hostnameKey, requirement.In, newHostname),
		requirement.New(registeredKey, requirement.In, "true"),
		requirement.New(initializedKey, requirement.In, "true"),
	)
}

// template is a pool ready to open claims from.
type template struct {
	pool    *model.Pool
	columns *columns
	u       *universe
	// daemons is the overhead that DaemonSets add to each column, nil for none on any; room is what is left for pods.
	daemons []resource.Vector
	room    []resource.Vector
	// daemoned is set when there is a daemon on some column.
	daemoned bool
	// daemonPorts are the ports that DaemonSets claim on each column; nil for none on any.
	daemonPorts [][]model.HostPort
	// states are the label states that claims of this pool have reached; states[root] is an empty claim.
	states  []*state
	byTerms map[string]stateID
	// defined are the keys that the pool says something about.
	defined map[int]bool
	root    stateID
	limits  *limits
	// number is the template's place in the order of trial, roster its open claims.
	number int
	open   openNodes
	// slotted is set when some instance type says how many volumes its machines can attach.
	slotted bool
	// bestEffort lets claims be opened that keep fewer distinct values than the pool demands.
	bestEffort   bool
	reservations *reservations
	// shelves order the columns by room, per resource; nil until somebody asks. wanted are the resources that pods ask for.
	capacityIndexes []*capacityIndex
	wanted          []int
	// nameOrder is what byName remembers.
	nameOrder []int32
	// spare are claims that were given up, to be used again.
	freeList []*openNode
	// scratch and candidates are sets of columns, names a list, each for use within one call.
	scratch, candidates bitset.Set
	names               []string
}

func newTemplate(pool *model.Pool, cols *columns, u *universe, daemons []*class) *template {
	t := &template{
		pool: pool, columns: cols, u: u, byTerms: map[string]stateID{}, defined: map[int]bool{},
		scratch: bitset.New(cols.len()), candidates: bitset.New(cols.len()),
	}
	t.slotted = slices.ContainsFunc(cols.types, func(it *catalog.InstanceType) bool { return len(it.Attachable) > 0 })
	t.root = t.rootState()
	t.reserveDaemons(daemons)
	return t
}

// usable reports whether the pool's own requirements leave a column that is on offer.
func (t *template) usable() bool { return !t.states[t.root].mask.Empty() }

// reserveDaemons works out which daemons run on which column. A daemon counts where it tolerates the pool's taints (soft
// ones always), its labels are compatible with the pool, and the type does not contradict them; preferences never matter.
func (t *template) reserveDaemons(daemons []*class) {
	t.room = make([]resource.Vector, t.columns.len())
	crews, crewOf := t.daemonOverheads(daemons)
	if t.daemoned = slices.ContainsFunc(crews, func(c daemonOverhead) bool { return len(c.requests) > 0 }); t.daemoned {
		t.daemons = make([]resource.Vector, t.columns.len())
	}
	if slices.ContainsFunc(crews, func(c daemonOverhead) bool { return len(c.ports) > 0 }) {
		t.daemonPorts = make([][]model.HostPort, t.columns.len())
	}
	for column := range t.room {
		crew := crews[crewOf[column]]
		if t.daemons != nil {
			t.daemons[column] = crew.requests
		}
		if t.daemonPorts != nil {
			t.daemonPorts[column] = crew.ports
		}
		// A machine that cannot even hold its daemons has room for nothing.
		switch allocatable := t.columns.allocatable(column); {
		case len(crew.requests) == 0:
			t.room[column] = allocatable
		case crew.requests.Fits(allocatable):
			t.room[column] = allocatable.Sub(crew.requests)
		}
	}
}

// crew is the daemons of a column, together.
type daemonOverhead struct {
	requests resource.Vector
	ports    []model.HostPort
}

// crews are the different combinations of daemons that occur, and the one of each column.
func (t *template) daemonOverheads(daemons []*class) (crews []daemonOverhead, of []int) {
	crews, of = []daemonOverhead{{}}, make([]int, t.columns.len())
	for _, d := range daemons {
		joined := map[int]int{}
		for column := range t.runsOn(d).All() {
			before := of[column]
			after, ok := joined[before]
			if !ok {
				after = len(crews)
				joined[before] = after
				crews = append(crews, daemonOverhead{
					requests: crews[before].requests.Add(d.shape.Requests),
					ports:    slices.Concat(crews[before].ports, d.shape.HostPorts),
				})
			}
			of[column] = after
		}
	}
	return crews, of
}

func (t *template) runsOn(d *class) bitset.Set {
	runsOn := bitset.New(t.columns.len())
	if _, repelled := model.Untolerated(t.pool.Taints, d.shape.Tolerations, true); repelled {
		return runsOn
	}
	for _, alternative := range d.alternatives {
		if !t.compatible(t.states[t.root], alternative.terms) {
			continue
		}
		match := bitset.Full(t.columns.len())
		for _, want := range alternative.terms {
			match = match.And(t.columns.matching(want))
		}
		runsOn.Or(match)
	}
	return runsOn
}

// capacityIndex is that of resource r. Templates without daemons share those of their columns.
func (t *template) capacityIndex(r int) *capacityIndex {
	indexes := &t.capacityIndexes
	if !t.daemoned {
		indexes = &t.columns.capacityIndexes
	}
	for len(*indexes) <= r {
		*indexes = append(*indexes, nil)
	}
	if (*indexes)[r] == nil {
		(*indexes)[r] = newCapacityIndex(t.room, r)
	}
	return (*indexes)[r]
}

// portsFree is the columns on which no daemon claims a port that the class wants.
func (t *template) portsFree(c *class) bitset.Set {
	if t.daemonPorts == nil {
		return bitset.Full(t.columns.len())
	}
	free := bitset.New(t.columns.len())
	for column, taken := range t.daemonPorts {
		if _, clash := model.FirstConflict(c.shape.HostPorts, taken); !clash {
			free.Add(column)
		}
	}
	return free
}
