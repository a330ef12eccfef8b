package compile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
)

// Run is a compiled problem and what has been placed so far.
type Run struct {
	// Problem has its pods in order of trial.
	Problem   Problem
	Classes   *Classes
	Groups    *Groups
	Counts    *Counts
	Templates []*Template
	// Unlaunchable are pools whose requirements leave nothing to launch.
	Unlaunchable []*Template
	// Targets are the existing nodes, Open the new ones. As domains of the hostname label, existing nodes are numbered first.
	Targets *Targets
	Open    []*OpenNode
	// Undecided are pods that were not compiled because the run was stopped.
	Undecided []*model.Pod
	// Daemons count the pods of DaemonSets that do not run yet; nil where no pod depends on them.
	Daemons *DaemonCounts
	// leaving are the excluded nodes that are being deleted; those that a what-if is without are not among them.
	leaving []*model.Node
	// mutual is set when pods of some classes need a domain because they and others count each other.
	mutual bool
	// podClasses are the classes of the problem's pods; nil until they are needed.
	podClasses []*Class
}

// NewRun compiles everything that does not depend on where pods are. Seed counts the pods.
func NewRun(p Problem) *Run {
	if p.Options.WellKnown == nil {
		p.Options.WellKnown = func(string) bool { return false }
	}
	p.Pods, p.Nodes, p.ExcludedNodes = p.InOrder(), inOrder(p.Nodes), inOrder(p.ExcludedNodes)
	u := index.NewUniverse(p.Options.WellKnown)
	pools := slices.Clone(p.Pools)
	slices.SortFunc(pools, func(a, b *model.Pool) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), strings.Compare(b.Name, a.Name))
	})
	p.Pools = pools
	cs := newClasses(u, p, len(pools))
	cs.groups = newGroups(cs, p)
	r := &Run{Problem: p, Classes: cs, Groups: cs.groups, leaving: p.ExcludedNodes}
	daemons := make([]expectedDaemon, 0, len(p.DaemonSets))
	for _, d := range sortedDaemons(p.DaemonSets) {
		daemons = append(daemons, expectedDaemon{cs.daemon(d), d})
	}
	// All groups have to be known before those that select a pod can be found.
	pods, owned := r.compileGroups(simpleFirst(p.Pods))
	cs.groups.shareLateVolumes(pods, p.Nodes)
	for _, n := range slices.Concat(p.Nodes, p.ExcludedNodes) {
		for _, pod := range n.AntiAffinityPods {
			cs.groups.guardsOf(pod.Shape)
		}
	}
	for _, d := range daemons {
		cs.groups.guardsOf(d.Shape)
	}
	cs.fileDaemons()
	cs.startTallies()
	r.compileClasses(pods, owned)
	r.decideMutual()
	r.compileTemplates(pools, daemons)
	newReservations(p, r.Templates)
	r.Targets = newTargets(p.Nodes, u)
	for _, t := range r.Targets.List {
		t.closed = p.Cordoned[t.Node.ID]
	}
	r.Targets.expectFeatures(p.Pools)
	r.Targets.reserveDaemons(daemons)
	r.Targets.expectAttachLimits(p.Pools)
	r.Counts = newCounts(u, cs.groups, r.Targets)
	return r
}

// manyPreferences is the number of soft constraints beyond which a pod is compiled after the others. It is that of soft spread constraints
// beyond which the class is expensive; other soft constraints take less effort to place, but as much memory.
const manyPreferences = 16

// simpleFirst moves pods with many soft constraints behind the others, so that they do not use up the budget of these.
func simpleFirst(pods []*model.Pod) []*model.Pod {
	many := func(p *model.Pod) bool { return p.Shape.SoftConstraints() > manyPreferences }
	if !slices.ContainsFunc(pods, many) {
		return pods
	}
	simple := slices.DeleteFunc(slices.Clone(pods), many)
	return append(simple, slices.DeleteFunc(slices.Clone(pods), func(p *model.Pod) bool { return !many(p) })...)
}

// podsPerStop is how many pods are compiled between two questions whether to stop.
const podsPerStop = 64

// compileGroups compiles the constraints of pods on each other, and returns the pods, with the groups of each. Once the run is stopped, the
// other pods are undecided.
func (r *Run) compileGroups(pods []*model.Pod) ([]*model.Pod, []*demands) {
	owned := make([]*demands, len(pods))
	for i, pod := range pods {
		if i%podsPerStop == podsPerStop-1 && r.stopped() {
			r.leaveUndecided(pods[i:])
			return pods[:i], owned[:i]
		}
		if i > 0 && pod.Shape == pods[i-1].Shape {
			owned[i] = owned[i-1]
			continue
		}
		owned[i] = r.Groups.of(pod.Shape)
	}
	return pods, owned
}

// compileClasses compiles the classes of pods that own the groups. Once the run is stopped, the other pods are undecided.
func (r *Run) compileClasses(pods []*model.Pod, owned []*demands) {
	classes := make([]*Class, len(pods))
	for i, pod := range pods {
		if i%podsPerStop == podsPerStop-1 && r.stopped() {
			r.leaveUndecided(pods[i:])
			return
		}
		if i > 0 && r.Classes.SameClass(pod, pods[i-1]) {
			classes[i] = classes[i-1]
			continue
		}
		classes[i] = r.Classes.ofShape(pod, owned[i])
	}
	if len(pods) > 0 && len(r.Problem.Pods) == len(pods) && &pods[0] == &r.Problem.Pods[0] {
		r.podClasses = classes
	}
}

// PodClasses are the classes of the pods of the problem, in the same order.
func (r *Run) PodClasses() []*Class {
	if r.podClasses == nil {
		pods := r.Problem.Pods
		r.podClasses = make([]*Class, len(pods))
		for i, pod := range pods {
			if i > 0 && r.Classes.SameClass(pod, pods[i-1]) {
				r.podClasses[i] = r.podClasses[i-1]
				continue
			}
			r.podClasses[i] = r.Classes.Of(pod)
		}
	}
	return r.podClasses
}

// leaveUndecided removes pods from the run.
func (r *Run) leaveUndecided(pods []*model.Pod) {
	r.Undecided = slices.Concat(pods, r.Undecided)
	left := make(map[*model.Pod]bool, len(pods))
	for _, pod := range pods {
		left[pod] = true
	}
	r.Problem.Pods = slices.DeleteFunc(slices.Clone(r.Problem.Pods), func(pod *model.Pod) bool { return left[pod] })
}

func (r *Run) stopped() bool {
	return r.Classes.Exhausted() || r.Problem.Options.Stop != nil && r.Problem.Options.Stop()
}

// compileTemplates shares columns between pools that have the same catalog.
func (r *Run) compileTemplates(pools []*model.Pool, daemons []expectedDaemon) {
	wanted := r.Classes.wanted()
	nodes := nodesOfLimited(pools, r.Problem.Nodes)
	compiled := map[*catalog.InstanceType]*index.Columns{}
	for _, pool := range pools {
		if len(pool.Catalog) == 0 {
			continue
		}
		cols, ok := compiled[pool.Catalog[0]]
		if !ok || !slices.Equal(cols.Types, pool.Catalog) {
			cols = index.NewColumns(pool.Catalog, r.Classes.Universe)
			compiled[pool.Catalog[0]] = cols
		}
		t := newTemplate(pool, cols, r.Classes.Universe, r.Problem.Options.BestEffortMinValues, daemons)
		if !t.usable() {
			r.Unlaunchable = append(r.Unlaunchable, t)
			continue
		}
		t.Limits = newLimits(pool, nodes[pool.Name])
		t.Wanted, t.number = wanted, len(r.Templates)
		r.Templates = append(r.Templates, t)
	}
}

// ExistingBin is an existing node by its number.
func (r *Run) ExistingBin(number int) Bin { return Bin{Host: number, Target: r.Targets.List[number]} }

// OpenBin is an open node by its number, which may be that of the next one.
func (r *Run) OpenBin(number int, on *OpenNode) Bin {
	return Bin{Host: len(r.Targets.List) + number, Number: number, Open: on}
}

func anySoftTaint(p Problem) bool {
	soft := func(taints []model.Taint) bool {
		return slices.ContainsFunc(taints, func(t model.Taint) bool { return t.Effect == model.PreferNoSchedule })
	}
	return slices.ContainsFunc(p.Pools, func(pool *model.Pool) bool { return soft(pool.Taints) }) ||
		slices.ContainsFunc(p.Nodes, func(n *model.Node) bool { return soft(n.Taints) })
}

// sortedDaemons are DaemonSets in the order in which they get the capacity of nodes that cannot hold all: the pods that kube-scheduler
// prefers first, then those of older DaemonSets, because the newest is the most likely mistake.
func sortedDaemons(ds []*model.DaemonSet) []*model.DaemonSet {
	out := slices.Clone(ds)
	slices.SortFunc(out, func(a, b *model.DaemonSet) int {
		return cmp.Or(
			cmp.Compare(b.Shape.Priority, a.Shape.Priority), cmp.Compare(a.Created, b.Created),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name),
		)
	})
	return out
}
