package solve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// solver is one run.
type solver struct {
	problem   Problem
	classes   *classes
	groups    *groups
	domains   *domains
	templates []*template
	// empty are pools whose requirements leave nothing to launch.
	unlaunchable  []*template
	targets       *targets
	open          []*openNode
	devices       *devices
	unschedulable []run
	// deferred are pods that wait for a reservation, left those that the run did not get to.
	deferred, undecided []*model.Pod
	// asking is where questions are worked out.
	scratch scratch
}

// run is consecutive pods of one class in the queue.
type run struct {
	class *class
	pods  []*model.Pod
}

// Solve answers where the pods of the problem should go.
func Solve(p Problem) Plan {
	p, barred := rejectDeviceless(p)
	return compile(p).run(barred)
}

// run places the pods; barred are those that could not even be asked about.
func (s *solver) run(barred []UnschedulablePods) Plan {
	zones := s.zones()
	s.placeAll(s.queue())
	s.tighten()
	refusals := s.diagnoseAll()
	if !s.problem.Options.DisableRepacking {
		s.rightSize()
	}
	plan := s.plan()
	plan.Unschedulable = append(plan.Unschedulable, append(refusals, barred...)...)
	plan.Unlaunchable, plan.Zones = s.unlaunchablePools(), zones
	return plan
}

// barren lists the pools that can launch nothing: those without any instance type first, each kind in the order of trial.
func (s *solver) unlaunchablePools() []UnlaunchablePool {
	var out []UnlaunchablePool
	for _, t := range s.unlaunchable {
		out = append(out, UnlaunchablePool{Pool: t.pool.Name, Unavailable: t.unavailableOfferings()})
	}
	for _, t := range s.templates {
		if root := t.states[t.root]; len(t.unmet(root, root.mask)) > 0 && !t.bestEffort {
			out = append(out, UnlaunchablePool{Pool: t.pool.Name, MinValues: true})
		}
	}
	return out
}

// compile makes a solver that is ready to run.
func compile(p Problem) *solver {
	s := prepare(p)
	s.expectDevices()
	s.seed()
	return s
}

// prepare compiles what does not depend on where pods are.
func prepare(p Problem) *solver {
	if p.Options.WellKnown == nil {
		p.Options.WellKnown = func(string) bool { return false }
	}
	u := newUniverse(p.Options.WellKnown)
	pools := slices.Clone(p.Pools)
	slices.SortFunc(pools, func(a, b *model.Pool) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), strings.Compare(b.Name, a.Name))
	})
	cs := &classes{
		u:           u,
		daemons:     map[*model.Shape]*class{},
		specifics:   map[string]*podSpecifics{},
		noSpecifics: &podSpecifics{},
		byTerms:     map[string]*conjunction{},
		chosen:      map[string]*conjunction{},
		needs:       map[string][]need{},
		options:     p.Options,
		softTaints:  anySoftTaint(p),
		templates:   len(pools),
		devices:     newDevices(p),
		exempt:      p.CordonExempt,
	}
	cs.groups = newGroups(cs, p)
	s := &solver{problem: p, classes: cs, groups: cs.groups, domains: newDomains(u), devices: cs.devices}
	daemons := make([]*class, 0, len(p.DaemonSets))
	for _, d := range sortedDaemons(p.DaemonSets) {
		daemons = append(daemons, cs.daemon(d.Shape))
	}
	// All groups have to be known before it can be told which of them choose a pod.
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
	s.compileTemplates(pools, daemons)
	newReservations(p, s.templates)
	s.targets = newTargets(p.Nodes, u)
	for _, t := range s.targets.list {
		t.closed = p.Cordoned[t.node.ID]
	}
	s.targets.reserveDaemons(daemons)
	s.expectAttachable()
	return s
}

// compileTemplates shares columns between pools that have the same catalog.
func (s *solver) compileTemplates(pools []*model.Pool, daemons []*class) {
	wanted := s.classes.wanted()
	compiled := map[*catalog.InstanceType]*columns{}
	for _, pool := range pools {
		if len(pool.Catalog) == 0 {
			continue
		}
		cols, ok := compiled[pool.Catalog[0]]
		if !ok || !slices.Equal(cols.types, pool.Catalog) {
			cols = newColumns(pool.Catalog, s.classes.u)
			compiled[pool.Catalog[0]] = cols
		}
		t := newTemplate(pool, cols, s.classes.u, daemons)
		if !t.usable() {
			s.unlaunchable = append(s.unlaunchable, t)
			continue
		}
		t.limits = newLimits(pool, s.problem.Nodes)
		t.wanted, t.number = wanted, len(s.templates)
		t.bestEffort = s.problem.Options.BestEffortMinValues
		s.templates = append(s.templates, t)
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
