package compile

import (
	"cmp"
	"maps"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// Problem: a node is launched only if it holds all its DaemonSet pods, so that a DaemonSet that needs larger instance types gets them. One
// that requests more than any instance type has must not stop all launches: kube-scheduler leaves its pods pending and binds the others.
//
// Approach: the DaemonSets of a pool are taken in order of priority, then of age. One is omitted if the pool could launch no node that
// holds it beside those taken before; availability does not matter, because it changes within minutes. DaemonSets that only some nodes of
// the pool run come after the others of their priority, and fit if they do beside those that share a node with them.
//
// Cost: O(columns) per DaemonSet, up to maxSharings times for those that run on all nodes and at most as often for the others, and only
// where some DaemonSet does not fit beside all others. It is linear in DaemonSets, of which a tenant may create many.

// possibleDaemon is a DaemonSet, or an alternative of one, that is omitted although it could run on some nodes, perhaps in place of others
// of its priority: the pod that arrives first at a node runs there.
type possibleDaemon struct {
	templateDaemon
	// overhead is what it takes of each column with the DaemonSets of higher priority; nil where it cannot run.
	overhead []resource.Vector
}

// maxSharings is how many alternatives of node affinity get the restricted DaemonSets beside them judged exactly. All others of these are
// taken to share every node with the DaemonSets of further alternatives, which may omit more of them.
const maxSharings = 16

// omission decides which DaemonSets of a template are omitted.
type omission struct {
	t *Template
	// launchable are the columns that the pool's own requirements and its limits admit as long as it has no nodes.
	launchable bitset.Set
	// taken are the daemons so far, restricted those of them that run on some nodes of their columns only.
	taken, restricted []templateDaemon
	// overheads are those of the daemons taken so far that run on all nodes of their columns, above those of higher priority among them.
	overheads, above daemonOverheads
	// sharings are the daemons beside restricted ones, by alternative; everything is for alternatives beyond maxSharings.
	sharings   map[*Conjunction]*sharing
	everything *sharing
}

// sharing is what the daemons so far take of nodes that one alternative of node affinity selects.
type sharing struct {
	// runs reports whether a restricted daemon may run on such a node.
	runs      func(templateDaemon) bool
	overheads daemonOverheads
}

func newOmission(t *Template) *omission {
	labels := t.States[t.Root].Labels
	o := &omission{t: t, launchable: labels.Clone(), overheads: newPortlessOverheads(t.Columns.Len()), sharings: map[*Conjunction]*sharing{}}
	for column := range labels.All() {
		for r, total := range t.Pool.Limits {
			if model.AmountOf(t.Capacity(column), r) > total {
				o.launchable.Remove(column)
			}
		}
	}
	return o
}

// omitDaemons removes the DaemonSets from those of the template that fit on no node beside those before them, and reports whether there
// are any.
func omitDaemons(t *Template) bool {
	if t.NodeCapacity.Daemons == nil {
		return false
	}
	o := newOmission(t)
	if o.none() {
		return false
	}
	sets := byPriority(t.daemons)
	for i, alternatives := range sets {
		if i == 0 || sets[i-1][0].Shape.Priority > alternatives[0].Shape.Priority {
			o.above = o.overheads.with()
		}
		left := o.take(alternatives)
		if len(left) == len(alternatives) {
			t.Omitted = append(t.Omitted, alternatives[0].set)
		}
		for _, d := range left {
			if r := o.possibleDaemon(d); r.overhead != nil {
				t.possibleDaemons = append(t.possibleDaemons, r)
			}
		}
	}
	if len(o.taken) == len(t.daemons) {
		return false
	}
	t.daemons = o.taken
	return true
}

// byPriority groups daemons by DaemonSet: those of the highest priority first, among these those that are not restricted, and then in the
// order of the list.
func byPriority(list []templateDaemon) [][]templateDaemon {
	var sets [][]templateDaemon
	for _, d := range list {
		if last := len(sets) - 1; last >= 0 && sets[last][0].set == d.set {
			sets[last] = append(sets[last], d)
			continue
		}
		sets = append(sets, []templateDaemon{d})
	}
	restricted := func(alternatives []templateDaemon) int {
		if slices.ContainsFunc(alternatives, func(d templateDaemon) bool { return d.always }) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(sets, func(a, b []templateDaemon) int {
		return cmp.Or(cmp.Compare(b[0].Shape.Priority, a[0].Shape.Priority), cmp.Compare(restricted(a), restricted(b)))
	})
	return sets
}

// none reports whether each DaemonSet fits on some column beside all others that run there, and enough columns hold theirs.
func (o *omission) none() bool {
	holding := bitset.New(o.t.Columns.Len())
	for column := range o.launchable.All() {
		if o.t.NodeCapacity.Daemons[column].Fits(o.t.Columns.Allocatable(column)) {
			holding.Add(column)
		}
	}
	return o.enough(o.launchable, holding) && !slices.ContainsFunc(o.t.daemons, func(d templateDaemon) bool {
		return d.columns.Intersects(o.launchable) && !d.columns.Intersects(holding)
	})
}

// enough reports whether columns meet the minValues of the pool that the larger set meets.
func (o *omission) enough(of, columns bitset.Set) bool {
	root := o.t.States[o.t.Root]
	return o.t.BestEffort || len(o.t.Unmet(root, columns)) <= len(o.t.Unmet(root, of))
}

// take takes those alternatives of a DaemonSet that fit, and returns the others. One that is on no launchable node fits.
func (o *omission) take(alternatives []templateDaemon) (left []templateDaemon) {
	// The columns of several alternatives may overlap; the DaemonSet has one pod on a node.
	counted := bitset.New(o.t.Columns.Len())
	var always, restricted []templateDaemon
	for _, d := range alternatives {
		if !o.fits(d) {
			left = append(left, d)
			continue
		}
		o.taken = append(o.taken, d)
		if !d.always {
			restricted = append(restricted, d)
			continue
		}
		own := d
		own.columns = d.columns.Clone()
		for column := range counted.All() {
			own.columns.Remove(column)
		}
		counted.Or(d.columns)
		always = append(always, own)
	}
	o.count(always, restricted)
	return left
}

// count adds the alternatives that were taken of a DaemonSet to the overheads.
func (o *omission) count(always, restricted []templateDaemon) {
	o.restricted = append(o.restricted, restricted...)
	for _, d := range always {
		o.overheads.add(d)
	}
	all := slices.Collect(maps.Values(o.sharings))
	if o.everything != nil {
		all = append(all, o.everything)
	}
	for _, sh := range all {
		for _, d := range slices.Concat(always, joinAlternatives(restricted, sh.runs)) {
			sh.overheads.add(d)
		}
	}
}

// fits reports whether a daemon fits on a column beside those taken before, and leaves enough columns.
func (o *omission) fits(d templateDaemon) bool {
	if !d.columns.Intersects(o.launchable) {
		return true
	}
	beside := &o.overheads
	if !d.always {
		beside = &o.beside(d.alternative).overheads
	}
	with := beside.with(d)
	holding := o.holding(&with)
	return holding.Intersects(d.columns) && (!d.always || o.enough(o.holding(beside), holding))
}

// holding are the launchable columns that hold their daemons.
func (o *omission) holding(overheads *daemonOverheads) bitset.Set {
	out := o.launchable.Clone()
	for column := range o.launchable.All() {
		if !overheads.at(column).requests.Fits(o.t.Columns.Allocatable(column)) {
			out.Remove(column)
		}
	}
	return out
}

// beside is what the daemons so far take of nodes that an alternative selects.
func (o *omission) beside(alternative *Conjunction) *sharing {
	if known := o.sharings[alternative]; known != nil {
		return known
	}
	if len(o.sharings) == maxSharings {
		if o.everything == nil {
			o.everything = o.newSharing(func(templateDaemon) bool { return true })
		}
		return o.everything
	}
	runs := func(templateDaemon) bool { return false }
	if to := o.t.Step(o.t.Root, alternative); to != NoState {
		st := o.t.States[to]
		runs = func(d templateDaemon) bool { return o.t.Compatible(st, d.alternative.Terms) }
	}
	o.sharings[alternative] = o.newSharing(runs)
	return o.sharings[alternative]
}

func (o *omission) newSharing(runs func(templateDaemon) bool) *sharing {
	return &sharing{runs, o.overheads.with(joinAlternatives(o.restricted, runs)...)}
}

// possibleDaemon adds to an omitted daemon what it takes where it could run.
func (o *omission) possibleDaemon(d templateDaemon) possibleDaemon {
	overheads := o.above.with(d)
	r := possibleDaemon{templateDaemon: d}
	for column := range d.columns.All() {
		if overhead := overheads.at(column).requests; overhead.Fits(o.t.Columns.Allocatable(column)) {
			if r.overhead == nil {
				r.overhead = make([]resource.Vector, o.t.Columns.Len())
			}
			r.overhead[column] = overhead
		}
	}
	return r
}

// reservePossible makes the capacity sufficient for a possible daemon, too: beside the daemons that run otherwise where it fits, and in
// place of them elsewhere.
func (nc *NodeCapacity) reservePossible(r possibleDaemon) {
	if nc.Daemons == nil {
		nc.Daemons, nc.Daemoned = make([]resource.Vector, nc.columns.Len()), true
	}
	d := r.templateDaemon
	d.columns = bitset.New(len(r.overhead))
	for column, overhead := range r.overhead {
		if overhead != nil {
			d.columns.Add(column)
			if both := nc.Daemons[column].Add(r.Shape.Requests); both.Fits(nc.columns.Allocatable(column)) {
				overhead = both
			}
			nc.Daemons[column] = nc.Daemons[column].Max(overhead)
			nc.Available[column] = available(nc.columns.Allocatable(column), nc.Daemons[column])
		}
	}
	nc.daemons = append(slices.Clip(nc.daemons), d)
}

// OmittedDaemon is a DaemonSet whose pods no node of some pools can hold.
type OmittedDaemon struct {
	DaemonSet *model.DaemonSet
	// Pools are the names of the pools, in the order of trial.
	Pools []string
}

// OmittedDaemons are the DaemonSets that are omitted, by name.
func (r *Run) OmittedDaemons() []OmittedDaemon {
	var out []OmittedDaemon
	for _, t := range r.Templates {
		for _, set := range t.Omitted {
			i := slices.IndexFunc(out, func(o OmittedDaemon) bool { return o.DaemonSet == set })
			if i < 0 {
				i = len(out)
				out = append(out, OmittedDaemon{DaemonSet: set})
			}
			out[i].Pools = append(out[i].Pools, t.Pool.Name)
		}
	}
	slices.SortFunc(out, func(a, b OmittedDaemon) int {
		return cmp.Or(cmp.Compare(a.DaemonSet.Namespace, b.DaemonSet.Namespace), cmp.Compare(a.DaemonSet.Name, b.DaemonSet.Name))
	})
	return out
}
