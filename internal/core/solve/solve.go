package solve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// solver is one run.
type solver struct {
	problem   Problem
	classes   *classes
	templates []*template
	// empty are pools whose requirements leave nothing to launch.
	empty   []*model.Pool
	targets *targets
	claims  []*claim
	refused []run
	left    []*model.Pod
}

// run is consecutive pods of one class in the queue.
type run struct {
	class *class
	pods  []*model.Pod
}

// Solve answers where the pods of the problem should go.
func Solve(p Problem) Plan {
	s := compile(p)
	queue := s.queue()
	for i, r := range queue {
		if p.Options.Stop != nil && p.Options.Stop() {
			for _, rest := range queue[i:] {
				s.left = append(s.left, rest.pods...)
			}
			break
		}
		s.place(r)
	}
	s.rightSize()
	plan := s.plan()
	plan.Barren = s.barren()
	return plan
}

// barren lists the pools that can launch nothing: those without any instance type first, each kind in the order of trial.
func (s *solver) barren() []BarrenPool {
	var out []BarrenPool
	for _, pool := range s.empty {
		out = append(out, BarrenPool{Pool: pool.Name})
	}
	for _, t := range s.templates {
		if root := t.states[t.root]; len(t.unmet(root, root.mask)) > 0 {
			out = append(out, BarrenPool{Pool: t.pool.Name, MinValues: true})
		}
	}
	return out
}

func compile(p Problem) *solver {
	if p.Options.WellKnown == nil {
		p.Options.WellKnown = func(string) bool { return false }
	}
	u := newUniverse(p.Options.WellKnown)
	pools := slices.Clone(p.Pools)
	slices.SortFunc(pools, func(a, b *model.Pool) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), strings.Compare(b.Name, a.Name))
	})
	s := &solver{problem: p, classes: &classes{
		u:         u,
		byShape:   map[*model.Shape]*class{},
		byTerms:   map[string]*conjunction{},
		options:   p.Options,
		soft:      anySoftTaint(p),
		templates: len(pools),
	}}
	daemons := make([]*class, 0, len(p.DaemonSets))
	for _, d := range sortedDaemons(p.DaemonSets) {
		daemons = append(daemons, s.classes.of(d.Shape))
	}
	for _, pod := range p.Pods {
		s.classes.of(pod.Shape)
	}
	s.compileTemplates(pools, daemons)
	s.targets = newTargets(p.Nodes, u)
	s.targets.reserveDaemons(daemons)
	return s
}

// compileTemplates shares columns between pools that have the same catalog.
func (s *solver) compileTemplates(pools []*model.Pool, daemons []*class) {
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
			s.empty = append(s.empty, pool)
			continue
		}
		t.limits = newLimits(pool, s.problem.Nodes)
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

// queue is the pods in order of trial, large before small, cut into runs of one class.
// Source: scheduling specification, queue.
func (s *solver) queue() []run {
	pods := slices.Clone(s.problem.Pods)
	slices.SortFunc(pods, func(a, b *model.Pod) int {
		if a.Shape != b.Shape {
			if c := cmp.Or(
				cmp.Compare(b.Shape.Requests.At(resource.CPU), a.Shape.Requests.At(resource.CPU)),
				cmp.Compare(b.Shape.Requests.At(resource.Memory), a.Shape.Requests.At(resource.Memory)),
			); c != 0 {
				return c
			}
		}
		return cmp.Or(cmp.Compare(a.Created, b.Created), strings.Compare(a.UID, b.UID))
	})
	var runs []run
	for _, p := range pods {
		c := s.classes.of(p.Shape)
		if n := len(runs); n > 0 && runs[n-1].class == c {
			runs[n-1].pods = append(runs[n-1].pods, p)
			continue
		}
		runs = append(runs, run{c, []*model.Pod{p}})
	}
	return runs
}

// place tries existing nodes, open claims and new claims, in that order, for one form of the question after the other.
func (s *solver) place(r run) {
	for _, st := range r.class.stages {
		r.pods = s.targets.place(r.class, st, r.pods)
		r.pods = s.join(r.class, st, r.pods)
		r.pods = s.launch(r.class, st, r.pods)
		if len(r.pods) == 0 {
			return
		}
	}
	s.refused = append(s.refused, r)
}

// join puts pods into open claims and returns the rest.
func (s *solver) join(c *class, st *stage, pods []*model.Pod) []*model.Pod {
	for ; st.claims < len(s.claims) && len(pods) > 0; st.claims++ {
		cl := s.claims[st.claims]
		if _, repelled := cl.t.repels(c, st); repelled {
			continue
		}
		o := cl.consider(c, st, len(pods))
		if o.pods == 0 {
			continue
		}
		cl.put(c, st, o, pods[:o.pods])
		cl.t.limits.charge(cl)
		if pods = pods[o.pods:]; len(pods) == 0 {
			return nil
		}
	}
	return pods
}

// launch opens claims for pods, from the first pool that accepts, and returns the rest.
func (s *solver) launch(c *class, st *stage, pods []*model.Pod) []*model.Pod {
	for i, t := range s.templates {
		for len(pods) > 0 && !st.closed[i] {
			cl := s.tryLaunch(t, c, st, pods)
			if cl == nil {
				// Limits give way when other claims shrink; everything else is for good.
				st.closed[i] = t.limits.unlimited()
				break
			}
			pods = pods[len(cl.fills[0].pods):]
			s.claims = append(s.claims, cl)
		}
	}
	return pods
}

func (s *solver) tryLaunch(t *template, c *class, st *stage, pods []*model.Pod) *claim {
	if _, repelled := t.repels(c, st); repelled || t.limits.exhausted() {
		return nil
	}
	cl := t.open(t.within(t.states[t.root].mask))
	o := cl.consider(c, st, len(pods))
	if o.pods == 0 {
		return nil
	}
	cl.put(c, st, o, pods[:o.pods])
	cl.t.limits.charge(cl)
	return cl
}
