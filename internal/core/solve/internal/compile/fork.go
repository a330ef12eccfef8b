package compile

import (
	"maps"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// Base is a compiled problem from which what-ifs are forked.
type Base struct {
	Problem  Problem
	Compiled *Run
	// number is the place of a node among the targets, by ID.
	number map[string]int
	// pristine are the targets, counts, reservations and limits before anything is placed; working is memory for one what-if.
	pristine, working []Target
	counts            []topology.Group
	left              []int
	limits            [][]Limit
	// origin is what Reset restores; nil before the first commit.
	origin *Base
	// expected are the pods of DaemonSets that may start on the nodes, by group; closed are the domains that are closed to each DaemonSet.
	expected []expected
	closed   map[*Class][]closedDomains
	// forked is memory for the run of one what-if, without and pods are what the what-if is about.
	forked struct {
		run     Run
		classes Classes
		targets Targets
		counts  Counts
		without []*model.Node
		pods    []*model.Pod
	}
}

// expected is the pods of DaemonSets that a group counts and that do not run yet, with the places that pods of commits have.
type expected struct {
	fixed []domainTally
	marks []int
}

// maxStates is how many label states of one template are kept between what-ifs.
const maxStates = 4096

// NewBase compiles a problem for what-ifs; movable are the pods that the what-ifs may move.
func NewBase(p Problem, movable []*model.Pod) *Base {
	problem := p
	p.Pods = slices.Concat(p.Pods, movable)
	r := NewRun(p)
	r.Problem, r.podClasses = problem, nil
	r.Seed()
	b := BaseOf(r)
	b.number = make(map[string]int, len(b.pristine))
	for i := range b.pristine {
		b.number[b.pristine[i].Node.ID] = i
	}
	return b
}

// BaseOf is a Base for Restart only, from a run on which nothing has been placed yet. The run may be placed before the first Restart.
func BaseOf(r *Run) *Base {
	list := r.Targets.List
	b := &Base{Problem: r.Problem, Compiled: r, pristine: make([]Target, len(list)), working: make([]Target, len(list))}
	for i, t := range list {
		b.pristine[i] = *t
		b.pristine[i].Ports = slices.Clip(t.Ports)
	}
	b.counts = make([]topology.Group, len(b.Compiled.Groups.list))
	for i, g := range b.Compiled.Groups.list {
		b.counts[i].Restore(&g.Group)
	}
	for _, d := range r.Classes.daemonList {
		if len(d.closed) > 0 {
			if b.closed == nil {
				b.closed = map[*Class][]closedDomains{}
			}
			b.closed[d] = d.closed
		}
	}
	for _, g := range b.Compiled.Daemons.list() {
		b.expected = append(b.expected, expected{fixed: slices.Clone(g.tally.fixed)})
	}
	for _, t := range b.Compiled.Templates {
		b.left = slices.Clone(t.Reservations.Left)
		b.limits = append(b.limits, slices.Clone(t.Limits.List))
	}
	return b
}

// Fork is the run of a what-if: the problem p without some nodes, some pods of which are placed anew. It ends with the next
// fork.
func (b *Base) Fork(p Problem, without []*model.Node, pods []*model.Pod) *Run {
	r := b.renew(p)
	b.forked.without, b.forked.pods = without, pods
	b.empty(r)
	return r
}

// Restart is the last fork once more, before anything was placed, or the compiled run where there was no fork. Its classes are those of the
// fork, which ends.
func (b *Base) Restart() *Run {
	r := &b.forked.run
	if r.Classes == nil {
		*r = *b.Compiled
		r.Targets, r.Counts = &b.forked.targets, &b.forked.counts
	}
	r.Open = nil
	r.Classes.Retry()
	b.empty(r)
	return r
}

// empty makes r the run of the last fork, before anything is placed.
func (b *Base) empty(r *Run) {
	b.renewTargets(r, b.forked.without)
	b.renewTemplates(b.forked.without)
	for d, before := range b.closed { // the order does not matter
		d.closed = before
	}
	b.renewCounts(r, b.forked.without, b.forked.pods)
	b.renewClosed(r)
}

// renew is a run of another problem with the same nodes, pools and daemons, on the compiled problem.
func (b *Base) renew(p Problem) *Run {
	p.Pods = p.InOrder()
	f, from := &b.forked, b.Compiled
	f.classes = *from.Classes
	cs := &f.classes
	cs.byKey, cs.list, cs.filed, cs.specifics, cs.noSpecifics = map[classKey]*Class{}, nil, 0, map[string]*podSpecifics{}, &podSpecifics{}
	cs.daemons, cs.slabs, cs.constrained = nil, slabs{}, map[string]*sharedLevels{}
	cs.options, cs.Devices, cs.exempt, cs.destinations = p.Options, deviceClaimsOf(p), p.CordonExempt, p.Destinations
	f.run = Run{
		Problem: p, Classes: cs, Groups: from.Groups, Targets: &f.targets, Counts: &f.counts,
		Daemons: from.Daemons, Templates: from.Templates, Unlaunchable: from.Unlaunchable, leaving: from.leaving,
	}
	if from.mutual {
		for _, pod := range p.Pods {
			cs.Of(pod)
		}
		f.run.decideMutual()
	}
	return &f.run
}

// Commit makes the last fork the starting point of later ones. It reports false, and does nothing, where there are devices.
func (b *Base) Commit() bool {
	if b.Problem.Devices != nil {
		return false
	}
	if b.origin == nil {
		b.origin = &Base{
			Problem: b.Problem, pristine: b.pristine, counts: b.counts, left: b.left, limits: b.limits, expected: b.expected, closed: b.closed,
		}
		b.pristine, b.counts = slices.Clone(b.pristine), make([]topology.Group, len(b.counts))
		b.limits = slices.Clone(b.limits)
	}
	for i := range b.working {
		b.pristine[i] = b.working[i]
		b.pristine[i].Pods, b.pristine[i].Ports = nil, slices.Clip(b.working[i].Ports)
	}
	for i, on := range b.forked.run.Open {
		b.forked.run.Counts.CountSettled(b.forked.run.OpenBin(i, on))
	}
	for i, g := range b.Compiled.Groups.list {
		b.counts[i] = topology.Group{}
		if g.Host {
			// Open nodes of the next fork get the numbers that those of this one have.
			g.Truncate(len(b.pristine))
		}
		b.counts[i].Restore(&g.Group)
	}
	b.commitClosed()
	b.commitDaemons()
	for i, t := range b.Compiled.Templates {
		b.left, b.limits[i] = slices.Clone(t.Reservations.Left), slices.Clone(t.Limits.List)
	}
	b.Problem.Pods = nil
	return true
}

// Reset undoes every commit.
func (b *Base) Reset() {
	if b.origin == nil {
		return
	}
	b.Problem, b.pristine, b.counts, b.left, b.limits = b.origin.Problem, b.origin.pristine, b.origin.counts, b.origin.left, b.origin.limits
	b.expected, b.closed = b.origin.expected, b.origin.closed
	b.origin = nil
	for _, g := range b.Compiled.Groups.list {
		g.Touch()
	}
}

// renewTargets gives r the nodes as they were, without some.
func (b *Base) renewTargets(r *Run, without []*model.Node) {
	copy(b.working, b.pristine)
	b.forked.targets = Targets{u: r.Classes.Universe, labelled: b.Compiled.Targets.labelled, List: b.Compiled.Targets.List, arriving: b.Compiled.Targets.arriving}
	for i := range b.working {
		r.Targets.List[i] = &b.working[i]
	}
	for _, n := range without {
		if i, ok := b.number[n.ID]; ok {
			b.working[i].Free, b.working[i].gone = nil, true
		}
	}
}

// renewTemplates removes the open nodes of the last fork from the templates, and restores the limits and reservations that
// they used. The nodes without do not count against limits.
func (b *Base) renewTemplates(without []*model.Node) {
	for i, t := range b.Compiled.Templates {
		t.Open, t.FreeList = OpenNodes{}, nil
		copy(t.Limits.List, b.limits[i])
		for _, n := range without {
			if n.Pool != t.Pool.Name {
				continue
			}
			for k, bound := range t.Limits.List {
				t.Limits.List[k].Remaining += model.AmountOf(n.Capacity, bound.Resource)
			}
		}
		t.Reservations.Restore(b.left)
		if len(t.States) > maxStates {
			t.Forget()
		}
	}
}

// Forget drops all label states but the first.
func (t *Template) Forget() {
	root := t.States[t.Root]
	t.steps.clear()
	clear(t.byTerms)
	t.Universe.Bytes -= t.stateBytes
	t.States, t.stateBytes = nil, 0
	t.Root = t.enter(root)
}

// renewCounts reverts the counts of the last fork, and removes the pods of the nodes without.
func (b *Base) renewCounts(r *Run, without []*model.Node, pods []*model.Pod) {
	b.forked.counts = Counts{u: r.Classes.Universe, groups: r.Groups, Domains: b.Compiled.Counts.Domains, targets: r.Targets}
	if len(r.Groups.list) == 0 {
		return
	}
	for i, g := range r.Groups.list {
		g.Restore(&b.counts[i])
	}
	moving := make(map[string]bool, len(pods))
	for _, p := range pods {
		moving[p.UID] = true
	}
	waiting := b.Problem.Moving()
	for _, n := range without {
		if host, ok := b.number[n.ID]; ok {
			r.Counts.removeNode(n, host, b.Problem.DrainTaints, waiting, moving)
		}
	}
	b.renewDaemons(r, without)
}

// renewClosed opens the domains that only pods of the nodes without closed to DaemonSets, the pods that commits have moved included: while
// these wait for a node, the DaemonSets may be first. Existing nodes there take no pods in this what-if: what they have to reserve from then on
// is not known.
func (b *Base) renewClosed(r *Run) {
	left := map[*Class][]closedDomains{}
	var opened []*Class
	for _, d := range r.Classes.daemonList {
		if before := b.closed[d]; len(before) > 0 {
			var fewer bool
			if left[d], fewer = r.Counts.stillClosed(before); fewer {
				opened = append(opened, d)
			}
		}
	}
	changed := b.reopen(r, opened, left)
	for d, domains := range left { // the order does not matter
		d.closed = domains
	}
	for _, i := range changed {
		r.Daemons.recount(i, 1)
	}
}

// reopen has existing nodes expect DaemonSets from which fewer domains are closed than before, takes what was expected there out of the tallies,
// and returns the numbers of these nodes.
func (b *Base) reopen(r *Run, opened []*Class, left map[*Class][]closedDomains) (changed []int) {
	if len(opened) == 0 {
		return nil
	}
	for i, t := range r.Targets.List {
		bin, changes := r.ExistingBin(i), false
		var arriving []*Class
		for _, d := range opened {
			if !r.Targets.hosts(i, d) || !r.Counts.touches(b.closed[d], bin) {
				continue
			}
			changes = true
			if r.Counts.closes(b.closed[d], bin) && !r.Counts.closes(left[d], bin) {
				t.Free = nil
				arriving = append(arriving, d)
			}
		}
		if changes && !t.gone {
			r.Daemons.recount(i, -1)
			t.expect(arriving)
			changed = append(changed, i)
		}
	}
	return changed
}

// stillClosed are closed domains without those that have become open; opened reports whether there are any.
func (ct *Counts) stillClosed(before []closedDomains) (left []closedDomains, opened bool) {
	for _, in := range before {
		var domains, staying, moved []int
		for i, d := range in.domains {
			there := 0
			if in.moved != nil {
				there = in.moved[i]
			}
			if n := in.group.Count(d) - there; n > 0 {
				domains, staying, moved = append(domains, d), append(staying, n), append(moved, there)
			}
		}
		opened = opened || len(domains) < len(in.domains)
		still := ct.closed(in.group, domains)
		still.staying, still.moved = staying, moved
		left = append(left, still)
	}
	return left, opened
}

// commitClosed keeps the domains that are closed in the last fork. What it has placed there moves.
func (b *Base) commitClosed() {
	b.closed = maps.Clone(b.closed)
	for c := range b.closed { // the order does not matter
		for _, in := range c.closed {
			for i, d := range in.domains {
				in.moved[i] = in.group.Count(d) - in.staying[i]
			}
		}
		b.closed[c] = c.closed
	}
}

// renewDaemons reverts the tallies, and removes what was expected on the nodes without.
func (b *Base) renewDaemons(r *Run, without []*model.Node) {
	if r.Daemons == nil {
		return
	}
	dc := *r.Daemons
	r.Daemons = &dc
	dc.counts, dc.classes, dc.targets = r.Counts, r.Classes, r.Targets
	dc.settings.fresh = dc.fresh
	for i, g := range dc.groups {
		g.tally.fixed = b.expected[i].fixed
	}
	dc.restart()
	for i, g := range dc.groups {
		g.tally.marks = slices.Clone(b.expected[i].marks)
	}
	for _, n := range without {
		if host, ok := b.number[n.ID]; ok {
			dc.remove(host)
		}
	}
}

// commitDaemons keeps what the last fork expects, nodes that it opened included.
func (b *Base) commitDaemons() {
	groups := b.Compiled.Daemons.list()
	if len(groups) == 0 {
		return
	}
	b.forked.run.Daemons.Activate(&b.forked.run, false)
	b.expected = make([]expected, len(groups))
	for i, g := range groups {
		e := expected{slices.Clone(g.tally.sum), slices.Clone(g.tally.marks)}
		if hosts := len(b.pristine); g.Host {
			e.fixed, e.marks = e.fixed[:min(len(e.fixed), hosts)], e.marks[:min(len(e.marks), hosts)]
		}
		b.expected[i] = e
	}
}
