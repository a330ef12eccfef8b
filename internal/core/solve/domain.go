package solve

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// domains numbers the values of the labels that some group has a say in.
type domains struct {
	u *universe
	// byKey[key] are the values of one label; nil for labels that no group cares about.
	byKey map[int]*values
}

// values numbers the values of one label.
type values struct {
	names []string
	index map[string]int
	// within[set] tells which of them a requirement allows.
	within map[setID][]bool
	// listed[set] are those that a concrete requirement lists.
	listed map[setID][]int
	// rates is what domains cost.
	pricesPerCore []float64
	// counting is the numbers from zero on, as far as they were needed; alone cuts its lists out of it.
	counting []int
}

func newDomains(u *universe) *domains { return &domains{u: u, byKey: map[int]*values{}} }

func (ds *domains) of(key int) *values {
	v, ok := ds.byKey[key]
	if !ok {
		v = &values{index: map[string]int{}, within: map[setID][]bool{}, listed: map[setID][]int{}}
		ds.byKey[key] = v
	}
	return v
}

// number is that of a value, which is a new one if it was not seen before.
func (v *values) number(name string) int {
	n, ok := v.index[name]
	if !ok {
		n = len(v.names)
		v.index[name] = n
		v.names = append(v.names, name)
	}
	return n
}

// alone is the list of d and nothing else.
func (v *values) alone(d int) []int {
	for len(v.counting) <= d {
		v.counting = append(v.counting, len(v.counting))
	}
	return v.counting[d : d+1 : d+1]
}

// allowed tells which values of key a conjunction leaves open.
func (ds *domains) allowed(key int, c *conjunction) topology.DomainFilter {
	for _, t := range c.terms {
		if t.key != key {
			continue
		}
		v, set := ds.of(key), t.set
		known := v.within[set]
		for d := len(known); d < len(v.names); d++ {
			known = append(known, ds.u.keys[key].sets[set].Has(v.names[d]))
		}
		v.within[set] = known
		return func(d int) bool { return d < len(known) && known[d] }
	}
	return anyDomain
}

func anyDomain(int) bool { return true }

// possible are the domains that a node may be in by what is known about its label: the values of a concrete requirement,
// every known value that another one allows, and none where absence is all that is left. Nobody changes the list.
func (ds *domains) possible(key int, set setID) []int {
	v := ds.of(key)
	if set == undefined {
		return v.numbers(v.names)
	}
	r := ds.u.keys[key].sets[set]
	if !r.Complement() {
		known, ok := v.listed[set]
		if !ok {
			known = v.numbers(r.Values())
			v.listed[set] = known
		}
		return known
	}
	return v.numbers(slices.DeleteFunc(slices.Clone(v.names), func(name string) bool { return !r.Has(name) }))
}

func (v *values) numbers(names []string) []int {
	out := make([]int, len(names))
	for i, name := range names {
		out[i] = v.number(name)
	}
	return out
}

// values are those that a label can have on machines in state st that are one of the columns in mask, sorted: what is on
// offer for labels that offerings have, else what the instance types say, else the pool's own list. ok is false when
// nothing is known about the label.
func (t *template) values(key int, st *state, mask bitset.Set) (names []string, ok bool) {
	k := t.u.keys[key]
	names = t.names[:0]
	narrow := func(r requirement.Requirement) {
		if r.Complement() {
			return
		}
		ok = true
		if have := st.get(key); have != undefined {
			r = r.Intersect(k.sets[have])
		}
		names = append(names, r.Values()...)
	}
	for i := range st.kinds.All() {
		if !t.columns.kinds[i].columns.Intersects(mask) {
			continue
		}
		for _, term := range t.columns.kinds[i].terms {
			if term.key == key {
				narrow(k.sets[term.set])
			}
		}
	}
	if !ok {
		for _, label := range t.columns.label(key).values {
			if label.columns.Intersects(mask) {
				narrow(k.sets[label.set])
			}
		}
	}
	if have := st.get(key); !ok && have != undefined {
		narrow(k.sets[have])
	}
	slices.Sort(names)
	t.names = names
	return slices.Clone(slices.Compact(names)), ok
}

// span is the values of a label that new machines of one template can have.
type span struct {
	t      *template
	values []string
}

func (s *solver) spans(key int) []span {
	var out []span
	for _, t := range s.templates {
		root := t.states[t.root]
		names, _ := t.values(key, root, root.mask)
		out = append(out, span{t, names})
	}
	return out
}

// seed tells every group its domains and counts the pods that run already. It is to be called once all groups are known.
func (s *solver) seed() {
	if len(s.groups.list) == 0 {
		return
	}
	s.classes.u.key(hostnameKey)
	// Pods that are moving are placed anew and must not count twice.
	moving := make(map[string]bool)
	for _, p := range s.problem.Pods {
		if p.Node != "" {
			moving[p.UID] = true
		}
	}
	s.seedUniverse()
	for i, t := range s.targets.list {
		s.seedNode(t.node, i, moving)
	}
	for _, n := range s.problem.ExcludedNodes {
		s.seedNode(n, notPlaceable, moving)
	}
}

// elsewhere stands for the number of machines that receive no pods.
const notPlaceable = -1

func (s *solver) seedUniverse() {
	spans := map[int][]span{}
	for _, g := range s.groups.list {
		if g.host {
			continue
		}
		v := s.domains.of(g.key)
		if _, ok := spans[g.key]; !ok {
			spans[g.key] = s.spans(g.key)
		}
		for _, sp := range spans[g.key] {
			if g.filter != nil && g.filter.honorTaints && !g.filter.tolerates(sp.t.pool.Taints) {
				continue
			}
			for _, name := range sp.values {
				g.AddDomain(v.number(name))
			}
		}
	}
}

// seedNode makes the labels of a node domains and counts its pods. machine is the node's number, or elsewhere.
func (s *solver) seedNode(n *model.Node, host int, moving map[string]bool) {
	at := s.domainsOf(n)
	for _, g := range s.groups.list {
		if g.host || n.NodeName == "" {
			continue
		}
		if d := at[g.key]; d != noDomain && !g.Known(d) && s.counts(g, n) {
			g.AddDomain(d)
		}
	}
	at[s.classes.u.key(hostnameKey)] = host
	for _, p := range n.Pods {
		if p.Terminating || moving[p.UID] {
			continue
		}
		for _, g := range s.groups.membership(p).members {
			s.seedPod(g, n, at[g.key])
		}
	}
	for _, p := range n.AntiAffinityPods {
		if moving[p.UID] {
			continue
		}
		for _, g := range s.groups.guardsOf(p.Shape) {
			s.seedPod(g, n, at[g.key])
		}
	}
}

func (s *solver) seedPod(g *group, n *model.Node, d int) {
	switch {
	case d == noDomain || !s.counts(g, n):
	case d == notPlaceable:
		g.AddElsewhere()
	default:
		g.Add(d, 1)
	}
}

// nowhere is the domain of a node that lacks the label.
const noDomain = -2

// whereabouts is the domain that a node is in, by key; nowhere for labels that it lacks or that no group cares about.
func (s *solver) domainsOf(n *model.Node) []int {
	at := slices.Repeat([]int{noDomain}, len(s.classes.u.keys))
	for key, v := range s.domains.byKey {
		r := n.Requirements.Get(s.classes.u.keys[key].name)
		if r.Operator() == requirement.In && r.Len() == 1 {
			at[key] = v.number(r.Values()[0])
		}
	}
	return at
}

// counts reports whether the group looks at a node at all.
func (s *solver) counts(g *group, n *model.Node) bool {
	f := g.filter
	if f == nil {
		return true
	}
	if f.honorTaints && !f.tolerates(spreadTaints(n)) {
		return false
	}
	if len(f.alternatives) == 0 {
		return true
	}
	return slices.ContainsFunc(f.alternatives, func(c *conjunction) bool {
		return n.Requirements.Compatible(c.set, func(string) bool { return false })
	})
}

// spreadTaints are the taints that spreads honour: what the Node object says, passing ones included.
func spreadTaints(n *model.Node) []model.Taint {
	if n.NodeName == "" {
		return n.Taints
	}
	return n.RawTaints
}

func (f *nodeFilter) tolerates(taints []model.Taint) bool {
	_, repelled := model.Untolerated(taints, f.tolerations, true)
	return !repelled
}
