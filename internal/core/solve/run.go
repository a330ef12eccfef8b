package solve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// run is a compiled problem and what has been placed so far.
type run struct {
	problem   Problem
	classes   *classes
	groups    *groups
	counts    *counts
	templates []*template
	// unlaunchable are pools whose requirements leave nothing to launch.
	unlaunchable []*template
	// targets are the existing nodes, open the new ones. As domains of the hostname label, existing nodes are numbered first.
	targets *targets
	open    []*openNode
}

// newRun compiles what does not depend on where pods are. The pods that are counted come with seed.
func newRun(p Problem) *run {
	if p.Options.WellKnown == nil {
		p.Options.WellKnown = func(string) bool { return false }
	}
	u := newUniverse(p.Options.WellKnown)
	pools := slices.Clone(p.Pools)
	slices.SortFunc(pools, func(a, b *model.Pool) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), strings.Compare(b.Name, a.Name))
	})
	cs := newClasses(u, p, len(pools))
	cs.groups = newGroups(cs, p)
	r := &run{problem: p, classes: cs, groups: cs.groups}
	daemons := make([]*class, 0, len(p.DaemonSets))
	for _, d := range sortedDaemons(p.DaemonSets) {
		daemons = append(daemons, cs.daemon(d.Shape))
	}
	// All groups have to be known before it can be told which of them select a pod.
	for _, pod := range p.Pods {
		cs.groups.of(pod.Shape)
	}
	for _, n := range slices.Concat(p.Nodes, p.ExcludedNodes) {
		for _, pod := range n.AntiAffinityPods {
			cs.groups.guardsOf(pod.Shape)
		}
	}
	cs.byKey = make(map[classKey]*class, len(cs.groups.byShape))
	for _, pod := range p.Pods {
		cs.of(pod)
	}
	r.compileTemplates(pools, daemons)
	newReservations(p, r.templates)
	r.targets = newTargets(p.Nodes, u)
	for _, t := range r.targets.list {
		t.closed = p.Cordoned[t.node.ID]
	}
	r.targets.reserveDaemons(daemons)
	r.targets.expectAttachLimits(p.Pools)
	r.counts = newCounts(u, cs.groups, r.targets)
	return r
}

// compileTemplates shares columns between pools that have the same catalog.
func (r *run) compileTemplates(pools []*model.Pool, daemons []*class) {
	wanted := r.classes.wanted()
	compiled := map[*catalog.InstanceType]*columns{}
	for _, pool := range pools {
		if len(pool.Catalog) == 0 {
			continue
		}
		cols, ok := compiled[pool.Catalog[0]]
		if !ok || !slices.Equal(cols.types, pool.Catalog) {
			cols = newColumns(pool.Catalog, r.classes.u)
			compiled[pool.Catalog[0]] = cols
		}
		t := newTemplate(pool, cols, r.classes.u, daemons)
		if !t.usable() {
			r.unlaunchable = append(r.unlaunchable, t)
			continue
		}
		t.limits = newLimits(pool, r.problem.Nodes)
		t.wanted, t.number = wanted, len(r.templates)
		t.bestEffort = r.problem.Options.BestEffortMinValues
		r.templates = append(r.templates, t)
	}
}

// existingBin is an existing node by its number.
func (r *run) existingBin(number int) bin { return bin{host: number, target: r.targets.list[number]} }

// openBin is an open node by its number, which may be that of the next one.
func (r *run) openBin(number int, on *openNode) bin {
	return bin{host: len(r.targets.list) + number, number: number, open: on}
}

// fork is a run of another problem with the same nodes, pools and daemons, on what is compiled already. It has no targets and
// counts of its own yet.
func (r *run) fork(p Problem) *run {
	cs := *r.classes
	cs.byKey, cs.specifics, cs.noSpecifics = map[classKey]*class{}, map[string]*podSpecifics{}, &podSpecifics{}
	cs.daemons = nil
	cs.options, cs.devices, cs.exempt = p.Options, deviceClaimsOf(p), p.CordonExempt
	return &run{
		problem: p, classes: &cs, groups: r.groups, counts: r.counts, templates: r.templates, unlaunchable: r.unlaunchable,
	}
}

func anySoftTaint(p Problem) bool {
	soft := func(taints []model.Taint) bool {
		return slices.ContainsFunc(taints, func(t model.Taint) bool { return t.Effect == model.PreferNoSchedule })
	}
	return slices.ContainsFunc(p.Pools, func(pool *model.Pool) bool { return soft(pool.Taints) }) ||
		slices.ContainsFunc(p.Nodes, func(n *model.Node) bool { return soft(n.Taints) })
}

func sortedDaemons(ds []*model.DaemonSet) []*model.DaemonSet {
	out := slices.Clone(ds)
	slices.SortFunc(out, func(a, b *model.DaemonSet) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return out
}
