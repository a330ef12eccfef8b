package compile

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// DaemonCounts are the tallies of a run, see tally.
type DaemonCounts struct {
	counts    *Counts
	classes   *Classes
	templates []*Template
	targets   *Targets
	groups    []*Group
	settings  *tallySettings
}

// tallied reports whether the group needs a tally, and of which DaemonSets. Pods that share no node with a DaemonSet need none for that,
// see AwayFromDaemons.
func (g *Group) tallied() []*Class {
	switch {
	case g.late, g.Host && g.Kind == topology.KindAnti:
		return nil
	case g.inverse:
		return g.guarded
	case g.required:
		return g.daemons
	}
	return nil
}

// startTallies gives tallies to the groups that need one.
func (cs *Classes) startTallies() {
	var settings *tallySettings
	for _, g := range cs.groups.list {
		daemons := g.tallied()
		if len(daemons) == 0 {
			continue
		}
		if settings == nil {
			settings = &tallySettings{}
		}
		g.tally = &tally{daemons: daemons, tallySettings: settings, fresh: map[int]int{}, leaving: math.MaxInt}
	}
	cs.settings = settings
}

// Concerned reports whether pods of DaemonSets elsewhere decide where pods of the class may go.
func (c *Class) Concerned() bool { return c.concerned }

func (c *Class) findConcerned() {
	has := func(g *Group) bool { return g.tally != nil }
	c.concerned = slices.ContainsFunc(c.Owns.Part(PartRequired), has) || slices.ContainsFunc(c.Avoid, has)
}

// seedDaemons counts the pods of DaemonSets on existing nodes. It is called after Seed has counted running pods.
func (r *Run) seedDaemons() {
	if r.Classes.settings == nil {
		return
	}
	dc := &DaemonCounts{
		counts: r.Counts, classes: r.Classes, templates: r.Templates, targets: r.Targets, settings: r.Classes.settings,
	}
	r.Daemons = dc
	dc.settings.fresh = dc.fresh
	moving := r.Problem.Moving()
	for _, g := range r.Groups.list {
		if g.tally == nil {
			continue
		}
		dc.groups = append(dc.groups, g)
		g.tally.fixed = nil
		for i := range r.Targets.List {
			g.tally.fixed = addPresence(g.tally.fixed, dc.onTarget(g, i), 1)
		}
		for _, n := range r.leaving {
			if !r.Counts.counts(g, n) {
				continue
			}
			if g.Host {
				g.tally.leaving = min(g.tally.leaving, r.staying(g, n, moving))
			} else if d := r.Counts.domainsOf(n)[g.Key]; d >= 0 {
				g.tally.fixed = addPresence(g.tally.fixed, presence{domains: []int{d}, certain: true}, 1)
			}
		}
	}
	dc.restart()
}

// restart forgets open nodes.
func (dc *DaemonCounts) restart() {
	dc.settings.active, dc.settings.exact = false, false
	dc.settings.changes++
	for _, g := range dc.groups {
		t := g.tally
		t.sum, t.open, t.marks = append(t.sum[:0], t.fixed...), nil, nil
	}
}

// Activate starts counting: open are the open nodes so far. exact leaves out domains without nodes.
func (dc *DaemonCounts) Activate(r *Run, exact bool) {
	dc.settings.active, dc.settings.exact = true, exact
	for i, on := range r.Open {
		dc.Update(r.OpenBin(i, on))
	}
}

// list is the groups with a tally.
func (dc *DaemonCounts) list() []*Group {
	if dc == nil {
		return nil
	}
	return dc.groups
}

// Active reports whether pods of DaemonSets that do not run yet are counted.
func (dc *DaemonCounts) Active() bool { return dc != nil && dc.settings.active }

// Blames is a constraint for which pods of DaemonSets may leave no place for pods of the class; nil if none of them counts.
func (dc *DaemonCounts) Blames(c *Class) *Group {
	if !dc.Active() {
		return nil
	}
	for _, list := range [][]*Group{c.Owns.Part(PartRequired), c.Avoid, dc.groups} {
		for _, g := range list {
			if g.tally != nil {
				return g
			}
		}
	}
	return nil
}

// remove takes the pods that were expected on an existing node out of the tallies. The node itself stays: kube-scheduler counts its domain
// until it is gone.
func (dc *DaemonCounts) remove(i int) {
	for _, g := range dc.groups {
		p := dc.onTarget(g, i)
		if !g.Host {
			for _, d := range p.domains {
				at := p.in(d)
				at.possible, at.certain = 0, 0
				g.tally.sum[d] = g.tally.sum[d].plus(at, -1)
			}
			continue
		}
		g.tally.sum = addPresence(g.tally.sum, p, -1)
	}
}

// recount adds n times what is expected on an existing node to the tallies.
func (dc *DaemonCounts) recount(i, n int) {
	for _, g := range dc.list() {
		g.tally.sum = addPresence(g.tally.sum, dc.onTarget(g, i), n)
	}
}

// onTarget is what an existing node adds to the tally of a group.
func (dc *DaemonCounts) onTarget(g *Group, i int) presence {
	b := Bin{Host: i, Target: dc.targets.List[i]}
	p, ok := dc.where(g, b)
	if !ok {
		return presence{}
	}
	n := b.Target.Node
	used := make([]bool, len(n.Pods))
	free := n.Allocatable.Sub(n.Used)
	var starting startingDaemons
	for _, d := range b.Target.daemons {
		counts := slices.Contains(g.tally.daemons, d)
		if runs := running(d, n, used); runs {
			if counts {
				p.running++
			}
			continue
		}
		maybe, certain := !d.closedTo(dc.counts, b), !d.mayBeClosedTo(dc.counts, b)
		certain = certain && slices.Contains(dc.targets.arriving[i], d) && (!n.Launched || d.Shape.Requests.Fits(free))
		if _, taken := model.FirstConflict(d.Shape.HostPorts, portsOf(n)); taken {
			certain = false
		}
		if certain && n.Launched {
			free = free.Sub(d.Shape.Requests)
		}
		if maybe {
			starting.add(d, counts, certain)
		}
	}
	p.low, p.high = starting.fewest(), starting.most()
	if !n.Launched {
		p.high += dc.perhaps(g.tally.daemons, b)
	}
	return p
}

func portsOf(n *model.Node) (out []model.HostPort) {
	for _, p := range n.Pods {
		out = append(out, p.Shape.HostPorts...)
	}
	return out
}

// running reports whether a pod of the DaemonSet runs on the node that is not used yet for another one with the same labels, and uses it.
func running(d *Class, n *model.Node, used []bool) bool {
	for i, p := range n.Pods {
		if !p.Daemon || p.Terminating || used[i] || p.Labels == nil || d.labels == nil || p.Labels.Namespace != d.labels.Namespace {
			continue
		}
		same := true
		for key, value := range d.labels.Values { // the order does not matter
			same = same && p.Labels.Values[key] == value
		}
		if same {
			used[i] = true
			return true
		}
	}
	return false
}

// perhaps is how many DaemonSets the labels of a node that is not launched may turn out to match.
func (dc *DaemonCounts) perhaps(daemons []*Class, b Bin) int {
	n := 0
	for _, d := range daemons {
		_, repelled := model.Untolerated(b.Target.Node.Taints, d.Shape.Tolerations, true)
		if !repelled && !b.Target.missesFeatures(d) && !slices.Contains(b.Target.daemons, d) && slices.ContainsFunc(d.Alternatives, func(c *Conjunction) bool { return b.Target.maySatisfy(c, dc.counts.u) }) {
			n++
		}
	}
	return n
}

// where are the domains in which the group counts a node, if it does.
func (dc *DaemonCounts) where(g *Group, b Bin) (p presence, ok bool) {
	if !dc.counts.looksAt(g.filter, b) {
		return p, false
	}
	if p.domains, p.certain = []int{b.Host}, true; !g.Host {
		p.domains, p.certain = dc.counts.possible(b, g.Key)
	}
	p.certain = p.certain && dc.counts.certainlyLooksAt(g.filter, b)
	return p, len(p.domains) > 0
}

// onOpen is what an open node adds to the tally of a group.
func (dc *DaemonCounts) onOpen(g *Group, b Bin) presence {
	p, ok := dc.where(g, b)
	if !ok {
		return presence{}
	}
	t, on := b.Open.Template, b.Open
	st := t.States[on.State]
	daemons := joinAlternatives(t.daemons, func(d templateDaemon) bool {
		return t.Compatible(st, d.alternative.Terms) && d.columns.Intersects(on.Mask)
	})
	var starting startingDaemons
	for _, d := range daemons {
		if !d.closedTo(dc.counts, b) {
			certain := !d.mayBeClosedTo(dc.counts, b) && on.certainlyRuns(d.set) && !mayReplace(t, d.Class)
			starting.add(d.Class, slices.Contains(g.tally.daemons, d.Class), certain)
		}
	}
	p.low = starting.fewest()
	for _, r := range t.possibleDaemons {
		if slices.Contains(g.tally.daemons, r.Class) && t.Compatible(st, r.alternative.Terms) && r.columns.Intersects(on.Mask) {
			starting.add(r.Class, true, false)
		}
	}
	p.high = starting.most()
	return p
}

// certainlyRuns reports whether a DaemonSet runs on the node whichever of its instance types and offerings it is launched as.
func (on *OpenNode) certainlyRuns(set *model.DaemonSet) bool {
	return slices.ContainsFunc(on.Template.daemons, func(d templateDaemon) bool {
		return d.set == set && on.certainlySatisfies(d.alternative)
	})
}

// fresh is how many pods of DaemonSets an empty new node in a domain has at least: that of the pool with the most.
func (dc *DaemonCounts) fresh(g *Group, d int) int {
	most := 0
	for _, t := range dc.templates {
		to := t.Root
		if !g.Host {
			to = t.Step(t.Root, dc.classes.Intern(requirement.NewSet(dc.counts.InDomains(g.Key, []int{d}))))
		}
		if to == NoState || t.States[to].Mask.Empty() || t.States[to].Get(g.Key) == index.Undefined {
			continue
		}
		on := &OpenNode{Template: t, State: to, Mask: t.States[to].Mask}
		most = max(most, dc.onOpen(g, Bin{Host: Uncounted, Open: on}).low)
	}
	return most
}

// Update counts what an open node has after pods were put on it.
func (dc *DaemonCounts) Update(b Bin) {
	dc.settings.changes++
	for _, g := range dc.groups {
		t, next := g.tally, dc.onOpen(g, b)
		for len(t.open) <= b.Number {
			t.open = append(t.open, presence{})
		}
		t.sum = addPresence(addPresence(t.sum, t.open[b.Number], -1), next, 1)
		t.open[b.Number] = next
	}
}

// offered is what an offer makes of an open node.
func (dc *DaemonCounts) offered(g *Group, b Bin, o *Offer) change {
	on := *b.Open
	on.State, on.Mask = o.State, o.Mask
	b.Open = &on
	c := change{after: dc.onOpen(g, b)}
	if b.Number < len(g.tally.open) {
		c.before = g.tally.open[b.Number]
	}
	return c
}

// Cut is how many of the pods that an open node is offered it takes, given the pods of DaemonSets on it: as many as the spreads of the pods
// admit, and none where it takes places from pods elsewhere.
func (dc *DaemonCounts) Cut(o *Offer, b Bin, lv *Level) int {
	fits := o.Pods
	for _, g := range dc.groups {
		c := dc.offered(g, b, o)
		if !c.before.equal(c.after) && g.vetoes(c) {
			return 0
		}
		for _, list := range [][]Owned{lv.Owned, lv.Hosts} {
			for _, owned := range list {
				if owned.Group == g && g.Kind == topology.KindSpread && len(c.after.domains) == 1 {
					d, late, _ := dc.counts.LateCount(g, b, o.State)
					if late == 0 {
						d = c.after.domains[0]
					}
					fits = min(fits, g.allowedAfter(d, late, g.floor(c, g.tally.exact), owned.Self, c))
				}
			}
		}
	}
	return fits
}

// vetoes reports whether a change of an open node takes places from pods of the plan.
func (g *Group) vetoes(c change) bool {
	t := g.tally
	var floor, was int
	measured := false
	for d, mark := range t.marks {
		if mark == 0 {
			continue
		}
		now, before := t.at(d, c), t.at(d, change{})
		switch {
		case g.Kind == topology.KindAnti:
			if now.high > before.high {
				return true
			}
		case g.IsAffinity():
			if now.low == 0 && c.after.high > 0 && slices.ContainsFunc(c.after.domains, func(o int) bool { return o != d }) {
				return true
			}
		default:
			if !measured {
				floor, was, measured = g.floor(c, true), g.floor(change{}, true), true
			}
			if pods := mark - 1; pods+now.high-floor > max(int(g.MaxSkew), pods+before.high-was) {
				return true
			}
		}
	}
	return false
}

// Record notes where pods of the class were put, so that nodes that are opened later leave them their places. first is set when they may be the
// first of their affinity.
func (dc *DaemonCounts) Record(b Bin, c *Class, lv *Level, first func(*Group) bool) {
	for _, list := range [][]*Group{c.Owns.Part(PartRequired), c.Avoid} {
		for _, g := range list {
			if g.tally == nil || g.IsAffinity() && (lv.Beside != nil || !first(g)) {
				continue
			}
			p, _ := dc.where(g, b)
			for _, d := range p.domains {
				for len(g.tally.marks) <= d {
					g.tally.marks = append(g.tally.marks, 0)
				}
				g.tally.marks[d] = g.Count(d) + 1
			}
		}
	}
}
