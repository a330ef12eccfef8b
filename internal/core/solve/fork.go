package solve

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// base is a compiled problem from which what-ifs are forked.
type base struct {
	problem  Problem
	compiled *run
	// number is the place of a node among the targets, by ID.
	number map[string]int
	// pristine are the targets, counts, reservations and limits before anything is placed; working is memory for one what-if.
	pristine, working []target
	counts            []topology.Group
	left              []int
	limits            [][]limit
	// origin is what reset goes back to; nil before the first commit.
	origin *base
}

// maxStates is how many label states of one template are kept between what-ifs.
const maxStates = 4096

func newBase(p Problem, movable []*model.Pod) *base {
	b := &base{problem: p, number: map[string]int{}}
	p.Pods = slices.Concat(p.Pods, movable)
	b.compiled = newRun(p)
	b.compiled.problem = b.problem
	b.compiled.seed()
	list := b.compiled.targets.list
	b.pristine, b.working = make([]target, len(list)), make([]target, len(list))
	for i, t := range list {
		b.pristine[i] = *t
		b.pristine[i].ports = slices.Clip(t.ports)
		b.number[t.node.ID] = i
	}
	b.counts = make([]topology.Group, len(b.compiled.groups.list))
	for i, g := range b.compiled.groups.list {
		b.counts[i].Restore(&g.Group)
	}
	for _, t := range b.compiled.templates {
		b.left = slices.Clone(t.reservations.left)
		b.limits = append(b.limits, slices.Clone(t.limits.list))
	}
	return b
}

// fork is the run of a what-if: the problem p without some nodes, some pods of which are placed anew. It ends with the next
// fork.
func (b *base) fork(p Problem, without []*model.Node, pods []*model.Pod) *run {
	r := b.compiled.fork(p)
	b.renewTargets(r, without)
	b.renewTemplates(without)
	b.renewCounts(r, without, pods)
	return r
}

// commit makes the last fork the starting point of later ones. It reports false, and does nothing, where there are devices.
func (b *base) commit() bool {
	if b.problem.Devices != nil {
		return false
	}
	if b.origin == nil {
		b.origin = &base{problem: b.problem, pristine: b.pristine, counts: b.counts, left: b.left, limits: b.limits}
		b.pristine, b.counts = slices.Clone(b.pristine), make([]topology.Group, len(b.counts))
		b.limits = slices.Clone(b.limits)
	}
	for i := range b.working {
		b.pristine[i] = b.working[i]
		b.pristine[i].pods, b.pristine[i].ports = nil, slices.Clip(b.working[i].ports)
	}
	for i, g := range b.compiled.groups.list {
		b.counts[i] = topology.Group{}
		if g.host {
			// Open nodes of the next fork get the numbers that those of this one have.
			g.Truncate(len(b.pristine))
		}
		b.counts[i].Restore(&g.Group)
	}
	for i, t := range b.compiled.templates {
		b.left, b.limits[i] = slices.Clone(t.reservations.left), slices.Clone(t.limits.list)
	}
	b.problem.Pods = nil
	return true
}

// reset undoes every commit.
func (b *base) reset() {
	if b.origin == nil {
		return
	}
	b.problem, b.pristine, b.counts, b.left, b.limits = b.origin.problem, b.origin.pristine, b.origin.counts, b.origin.left, b.origin.limits
	b.origin = nil
	for _, g := range b.compiled.groups.list {
		g.Touch()
	}
}

// renewTargets gives r the nodes as they were, without some.
func (b *base) renewTargets(r *run, without []*model.Node) {
	copy(b.working, b.pristine)
	r.targets = &targets{u: r.classes.u, labelled: b.compiled.targets.labelled, list: b.compiled.targets.list}
	for i := range b.working {
		r.targets.list[i] = &b.working[i]
	}
	for _, n := range without {
		if i, ok := b.number[n.ID]; ok {
			b.working[i].room = nil
		}
	}
}

// renewTemplates takes back what the last what-if left in the templates: its claims, and what they took of limits and
// reservations. Nodes that are not there do not count against limits.
func (b *base) renewTemplates(without []*model.Node) {
	for i, t := range b.compiled.templates {
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

// renewCounts undoes what the last fork counted, and takes out the pods of the nodes without.
func (b *base) renewCounts(r *run, without []*model.Node, pods []*model.Pod) {
	r.counts = &counts{u: r.classes.u, groups: r.groups, domains: b.compiled.counts.domains, targets: r.targets}
	if len(r.groups.list) == 0 {
		return
	}
	for i, g := range r.groups.list {
		g.Restore(&b.counts[i])
	}
	moving := make(map[string]bool, len(pods))
	for _, p := range pods {
		moving[p.UID] = true
	}
	waiting := b.problem.moving()
	for _, n := range without {
		if host, ok := b.number[n.ID]; ok {
			r.counts.removeNode(n, host, waiting, moving)
		}
	}
}
