package solve

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// Base is a problem compiled once, about which many what-ifs are asked: what if these nodes were not there, and the pods on
// them had to be placed beside those that wait anyway?
//
// Problem: a look at every node of a cluster asks thousands of questions that differ in one node and its few pods, and
// compiling a question costs far more than answering it. Approach: whatever follows from labels is compiled for all pods
// that could ever be asked about, and all pods are counted where they are. A what-if starts from copies of what placing
// changes, and takes the pods of its nodes out of the counts. Invariant: the answer is the one that Solve gives to the same
// problem. Cost: copying the nodes, and the counts that the what-if before has changed.
//
// A Base is not safe for concurrent use: compile one for each goroutine.
type Base struct {
	problem  Problem
	prepared *solver
	// number is the place of a node among the targets, by ID.
	number map[string]int
	// pristine are the targets, counts, reservations and limits before anything is placed; shelf is room for one what-if.
	pristine, working []target
	counts            []topology.Group
	left              []int
	limits            [][]limit
	// origin is what Reset goes back to; nil before the first Keep.
	origin *Base
}

// mostStates is how many label states of one template are kept between what-ifs.
const maxStates = 4096

// NewBase compiles p. Its pods wait in every what-if; movable are all others that a what-if may ask about.
func NewBase(p Problem, movable []*model.Pod) *Base {
	b := &Base{problem: p, number: map[string]int{}}
	p.Pods = slices.Concat(p.Pods, movable)
	b.prepared = prepare(p)
	b.prepared.problem = b.problem
	b.prepared.seed()
	list := b.prepared.targets.list
	b.pristine, b.working = make([]target, len(list)), make([]target, len(list))
	for i, t := range list {
		b.pristine[i] = *t
		b.pristine[i].ports = slices.Clip(t.ports)
		b.number[t.node.ID] = i
	}
	b.counts = make([]topology.Group, len(b.prepared.groups.list))
	for i, g := range b.prepared.groups.list {
		b.counts[i].Restore(&g.Group)
	}
	for _, t := range b.prepared.templates {
		b.left = slices.Clone(t.reservations.left)
		b.limits = append(b.limits, slices.Clone(t.limits.list))
	}
	return b
}

// Solve answers where pods, which run on the nodes without, should go if these were not there. What keeps running on them
// counts for topology only.
func (b *Base) Solve(without []*model.Node, pods []*model.Pod) Plan {
	p := b.problem
	p.Pods = slices.Concat(p.Pods, pods)
	p.ExcludedNodes = slices.Concat(p.ExcludedNodes, without)
	if p.Devices != nil {
		p.Nodes = slices.DeleteFunc(slices.Clone(p.Nodes), func(n *model.Node) bool {
			return slices.ContainsFunc(without, func(w *model.Node) bool { return w.ID == n.ID })
		})
	}
	p, barred := rejectDeviceless(p)
	s := b.fork(p)
	b.renewTargets(s, without)
	b.renewTemplates(without)
	b.renewCounts(s, without, pods)
	s.expectDevices()
	return s.run(barred)
}

// Keep takes the last what-if for granted from now on: its nodes are gone, its pods have their places, those that waited
// included, and its claims are on order and take no further pods. It reports false, and does nothing, where devices are
// handed out: what becomes of these is known only when it happens.
func (b *Base) Commit() bool {
	if b.problem.Devices != nil {
		return false
	}
	if b.origin == nil {
		b.origin = &Base{problem: b.problem, pristine: b.pristine, counts: b.counts, left: b.left, limits: b.limits}
		b.pristine, b.counts = slices.Clone(b.pristine), make([]topology.Group, len(b.counts))
		b.limits = slices.Clone(b.limits)
	}
	for i := range b.working {
		b.pristine[i] = b.working[i]
		b.pristine[i].pods, b.pristine[i].ports = nil, slices.Clip(b.working[i].ports)
	}
	for i, g := range b.prepared.groups.list {
		b.counts[i] = topology.Group{}
		if g.host {
			// Claims of the next what-if get the numbers that the kept ones have.
			g.Truncate(len(b.pristine))
		}
		b.counts[i].Restore(&g.Group)
	}
	for i, t := range b.prepared.templates {
		b.left, b.limits[i] = slices.Clone(t.reservations.left), slices.Clone(t.limits.list)
	}
	b.problem.Pods = nil
	return true
}

// Reset takes back all that was kept.
func (b *Base) Reset() {
	if b.origin == nil {
		return
	}
	b.problem, b.pristine, b.counts, b.left, b.limits = b.origin.problem, b.origin.pristine, b.origin.counts, b.origin.left, b.origin.limits
	b.origin = nil
	for _, g := range b.prepared.groups.list {
		g.Touch()
	}
}

// fork is a solver that shares what does not change and has not asked about any pod yet.
func (b *Base) fork(p Problem) *solver {
	from := b.prepared
	cs := &classes{
		u:           from.classes.u,
		groups:      from.groups,
		byKey:       map[classKey]*class{},
		specifics:   map[string]*podSpecifics{},
		noSpecifics: &podSpecifics{},
		byTerms:     from.classes.byTerms,
		chosen:      from.classes.chosen,
		needs:       from.classes.needs,
		options:     p.Options,
		softTaints:  from.classes.softTaints,
		templates:   from.classes.templates,
		devices:     newDevices(p),
		exempt:      p.CordonExempt,
	}
	return &solver{
		problem: p, classes: cs, groups: cs.groups, domains: from.domains, devices: cs.devices,
		templates: from.templates, unlaunchable: from.unlaunchable,
	}
}

// renewTargets gives s the nodes as they are, without some.
func (b *Base) renewTargets(s *solver, without []*model.Node) {
	copy(b.working, b.pristine)
	s.targets = &targets{u: s.classes.u, labelled: b.prepared.targets.labelled, list: b.prepared.targets.list}
	for i := range b.working {
		s.targets.list[i] = &b.working[i]
	}
	for _, n := range without {
		if i, ok := b.number[n.ID]; ok {
			b.working[i].room = nil
		}
	}
}

// renewTemplates takes back what the last what-if left in the templates: its claims, and what they took of limits and
// reservations. Nodes that are not there do not count against limits.
func (b *Base) renewTemplates(without []*model.Node) {
	for i, t := range b.prepared.templates {
		t.open, t.freeList = openNodes{}, nil
		copy(t.limits.list, b.limits[i])
		for _, n := range without {
			if n.Pool != t.pool.Name {
				continue
			}
			for k, bound := range t.limits.list {
				t.limits.list[k].remaining += amountOf(n.Capacity, bound.resource)
			}
		}
		copy(t.reservations.left, b.left)
		if len(t.states) > maxStates {
			t.forget()
		}
	}
}

// forget drops all label states but the first.
func (t *template) forget() {
	root := t.states[t.root]
	root.next = nil
	clear(t.byTerms)
	t.states, t.root = []*state{root}, 0
	t.byTerms[root.identity()] = 0
}

// renewCounts takes back what the last what-if counted, and the pods that this one moves. Pods that stay on nodes that are
// not there are no longer on a machine that anything could join.
func (b *Base) renewCounts(s *solver, without []*model.Node, pods []*model.Pod) {
	if len(s.groups.list) == 0 {
		return
	}
	for i, g := range s.groups.list {
		g.Restore(&b.counts[i])
	}
	moving := make(map[string]bool, len(pods))
	for _, p := range pods {
		moving[p.UID] = true
	}
	waiting := make(map[string]bool)
	for _, p := range b.problem.Pods {
		if p.Node != "" {
			waiting[p.UID] = true
		}
	}
	for _, n := range without {
		host, ok := b.number[n.ID]
		if !ok {
			continue
		}
		at := s.domainsOf(n)
		for _, p := range n.Pods {
			if p.Terminating || waiting[p.UID] {
				continue
			}
			for _, g := range s.groups.membership(p).members {
				s.unseed(g, n, at[g.key], host, moving[p.UID])
			}
		}
		for _, p := range n.AntiAffinityPods {
			if waiting[p.UID] {
				continue
			}
			for _, g := range s.groups.guardsOf(p.Shape) {
				s.unseed(g, n, at[g.key], host, moving[p.UID])
			}
		}
	}
}

// unseed takes one pod of a node out of the counts of a group.
func (s *solver) unseed(g *group, n *model.Node, d, host int, moves bool) {
	switch {
	case !s.counts(g, n):
	case g.host:
		g.Remove(host)
		if !moves {
			g.AddElsewhere()
		}
	case moves && d >= 0:
		g.Remove(d)
	}
}
