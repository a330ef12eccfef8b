package compile

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// Group is one topology constraint with its counts. Pods with equal constraints share it.
type Group struct {
	topology.Group
	// number orders groups; Key is the node label whose values are the domains.
	number, Key int
	// Host is set when every node is a separate domain; domains are then numbers of hosts.
	Host bool
	// trial is set while pods on bins of a trial are counted.
	trial bool
	// inverse groups count the owners of an anti-affinity term instead of the pods that it selects, and keep the selected
	// ones away from them.
	inverse bool
	// selector and namespaces choose pods; everywhere is set for all namespaces.
	selector   *topology.Selector
	namespaces []string
	everywhere bool
	// filter chooses the nodes that count; nil counts all.
	filter *NodeFilter
}

// NodeFilter is which nodes count for a spread.
type NodeFilter struct {
	alternatives []*Conjunction
	// honorTaints leaves out nodes with a taint that tolerations do not cover.
	honorTaints bool
	tolerations []model.Toleration
}

// IsAffinity reports whether pods that own the group must be where the counted ones are.
func (g *Group) IsAffinity() bool { return g.Kind == topology.KindAffinity }

// selects reports whether the group's selector chooses pods with these labels.
func (g *Group) selects(labels *model.Labels) bool {
	if !g.everywhere && !slices.Contains(g.namespaces, labels.Namespace) {
		return false
	}
	return g.selector.Matches(labels.Values)
}

// demands are the groups that a shape owns.
type demands struct {
	// list is the groups, part by part, and ends where each part ends. One list takes less memory than one for each part: most shapes
	// own few groups.
	list []*Group
	ends [partCount]int32
}

// The parts of demands.
const (
	// The groups of hard constraints.
	PartRequired = iota
	// Those of preferences: pod affinity, anti-affinity (both heaviest first) and spread.
	partAffinity
	partAntiAffinity
	partSpread
	// The inverse groups of required anti-affinity.
	partInverse
	partCount
)

// add appends a group to a part.
func (d *demands) add(part int, g *Group) {
	d.list = slices.Insert(d.list, int(d.ends[part]), g)
	for i := part; i < partCount; i++ {
		d.ends[i]++
	}
}

func (d *demands) Part(i int) []*Group {
	if d == nil {
		return nil // daemons are judged without
	}
	start := int32(0)
	if i > 0 {
		start = d.ends[i-1]
	}
	return d.list[start:d.ends[i]:d.ends[i]]
}

// Groups is all topology constraints of a problem.
type Groups struct {
	u           *index.Universe
	classes     *Classes
	namespaces  map[string]map[string]string
	preferences bool
	list        []*Group
	byIdentity  map[string]*Group
	ByShape     map[*model.Shape]*demands
	// guarding are the groups of the required anti-affinity of running pods.
	guarding map[*model.Shape][]*Group
	// byLabel finds groups by namespace and one label that their selector demands, byNamespace those that demand none.
	byLabel, byNamespace map[string][]*Group
	byLabels             map[*model.Labels]*membership
	memberships          map[string]*membership
	none                 *membership
	// filter is the identity of the filter of the group that is looked up, scratch memory for that of the group.
	filter, scratch []byte
}

// membership is the groups whose selector chooses a pod.
type membership struct {
	// members are those that count it.
	members []*Group
	// Avoid and AvoidHosts are those whose domains, and hosts, are closed to it by the anti-affinity of other pods.
	Avoid, AvoidHosts []*Group
}

func newGroups(cs *Classes, p Problem) *Groups {
	return &Groups{
		u:           cs.Universe,
		classes:     cs,
		namespaces:  p.Namespaces,
		preferences: !p.Options.IgnorePreferences,
		byIdentity:  map[string]*Group{},
		ByShape:     map[*model.Shape]*demands{},
		guarding:    map[*model.Shape][]*Group{},
		byLabel:     map[string][]*Group{},
		byNamespace: map[string][]*Group{},
		byLabels:    map[*model.Labels]*membership{},
		memberships: map[string]*membership{},
		none:        &membership{},
	}
}

// of returns the demands of a shape.
func (gs *Groups) of(shape *model.Shape) *demands {
	if d, ok := gs.ByShape[shape]; ok {
		return d
	}
	d := &demands{}
	for _, s := range shape.Spreads {
		switch {
		case s.Selector == nil:
			// A spread without a selector counts no pod, so it bounds none.
		case !s.Soft:
			d.add(PartRequired, gs.spread(s, shape))
		case gs.preferences:
			d.add(partSpread, gs.spread(s, shape))
		}
	}
	for _, term := range shape.Affinities {
		switch {
		case term.Required():
			d.add(PartRequired, gs.affinity(term, false))
			if term.Anti {
				d.add(partInverse, gs.affinity(term, true))
			}
		case !gs.preferences:
		case term.Anti:
			d.add(partAntiAffinity, gs.affinity(term, false))
		default:
			d.add(partAffinity, gs.affinity(term, false))
		}
	}
	gs.ByShape[shape] = d
	return d
}

// guard registers the required anti-affinity of a running pod.
func (gs *Groups) guard(shape *model.Shape) []*Group {
	var out []*Group
	for _, term := range shape.Affinities {
		if term.Anti && term.Required() {
			out = append(out, gs.affinity(term, true))
		}
	}
	return out
}

// guardsOf is guard, computed once per shape.
func (gs *Groups) guardsOf(shape *model.Shape) []*Group {
	known, ok := gs.guarding[shape]
	if !ok {
		known = gs.guard(shape)
		gs.guarding[shape] = known
	}
	return known
}

func (gs *Groups) spread(s topology.Spread, shape *model.Shape) *Group {
	g := Group{
		Group:    topology.Group{Kind: topology.KindSpread, MaxSkew: s.MaxSkew, MinDomains: s.MinDomains},
		selector: s.Selector,
	}
	filter := NodeFilter{honorTaints: s.HonorTaints}
	id := gs.filter[:0]
	if !s.AnyAffinity {
		for i := range shape.Alternatives() {
			c := gs.classes.Intern(shape.Strict(i))
			if len(c.Terms) == 0 {
				filter.alternatives = nil
				break
			}
			filter.alternatives = append(filter.alternatives, c)
		}
	}
	id = binary.AppendUvarint(id, uint64(len(filter.alternatives)))
	for _, c := range filter.alternatives {
		id = binary.AppendUvarint(id, uint64(c.Number)) //nolint:gosec // numbers count from zero
	}
	if s.HonorTaints {
		filter.tolerations = shape.Tolerations
		id = fmt.Appendf(id, " %+v", shape.Tolerations)
	}
	gs.filter = id
	return gs.share(&g, s.Key, []string{s.Namespace}, &filter)
}

func (gs *Groups) affinity(a topology.Affinity, inverse bool) *Group {
	g := Group{Group: topology.Group{Kind: topology.KindAffinity}, inverse: inverse, selector: a.Selector}
	if a.Anti {
		g.Kind = topology.KindAnti
	}
	namespaces := a.Namespaces
	if a.NamespaceSelector != nil {
		namespaces = slices.Clone(a.Namespaces)
		g.everywhere = a.NamespaceSelector.Identity() == topology.NewSelector(nil).Identity()
		for name, labels := range gs.namespaces {
			if a.NamespaceSelector.Matches(labels) {
				namespaces = append(namespaces, name)
			}
		}
		slices.Sort(namespaces)
		namespaces = slices.Compact(namespaces)
	}
	gs.filter = gs.filter[:0]
	return gs.share(&g, a.Key, namespaces, &NodeFilter{})
}

// share returns the existing group that is equal to g, or a new one. The filter's identity is in gs.filter.
func (gs *Groups) share(g *Group, key string, namespaces []string, filter *NodeFilter) *Group {
	g.Key, g.Host = gs.u.Key(key), key == HostnameKey
	id := append(gs.scratch[:0], byte(g.Kind))
	for _, set := range []bool{g.inverse, g.everywhere} {
		if set {
			id = append(id, 1)
		} else {
			id = append(id, 0)
		}
	}
	for _, n := range []int64{int64(g.Key), int64(g.MaxSkew), int64(g.MinDomains)} {
		id = binary.AppendVarint(id, n)
	}
	if !g.everywhere {
		for _, namespace := range namespaces {
			id = append(append(id, namespace...), ',')
		}
	}
	id = append(append(id, ' '), g.selector.Identity()...)
	id = append(append(id, 0), gs.filter...)
	gs.scratch = id
	if known, ok := gs.byIdentity[string(id)]; ok {
		return known
	}
	fresh := *g
	fresh.namespaces, fresh.number = slices.Clone(namespaces), len(gs.list)
	if len(filter.alternatives) > 0 || filter.honorTaints {
		own := *filter
		fresh.filter = &own
	}
	gs.list = append(gs.list, &fresh)
	gs.byIdentity[string(id)] = &fresh
	gs.file(&fresh)
	return &fresh
}

// file adds g to the lists that membership searches.
func (gs *Groups) file(g *Group) {
	places := g.namespaces
	if g.everywhere {
		places = []string{anyNamespace}
	}
	key, values := g.selector.Demanded()
	for _, namespace := range places {
		if len(values) == 0 {
			gs.byNamespace[namespace] = append(gs.byNamespace[namespace], g)
		}
		for _, value := range values {
			id := labelID(namespace, key, value)
			gs.byLabel[id] = append(gs.byLabel[id], g)
		}
	}
}

// anyNamespace stands for all namespaces; no namespace has such a name.
const anyNamespace = "*"

func labelID(namespace, key, value string) string { return namespace + "\x00" + key + "\x00" + value }

// membership is the groups that choose a pod.
func (gs *Groups) membership(p *model.Pod) *membership {
	if len(gs.list) == 0 {
		return gs.none
	}
	if m, ok := gs.byLabels[p.Labels]; ok && p.Labels != nil {
		return m
	}
	labels := p.Labels
	if labels == nil {
		labels = &model.Labels{Namespace: p.Namespace}
	}
	m := gs.memberOf(labels)
	if p.Labels != nil {
		gs.byLabels[p.Labels] = m
	}
	return m
}

func (gs *Groups) memberOf(labels *model.Labels) *membership {
	var found []*Group
	for _, namespace := range []string{labels.Namespace, anyNamespace} {
		found = append(found, gs.byNamespace[namespace]...)
		if len(gs.byLabel) == 0 {
			continue
		}
		for key, value := range labels.Values {
			found = append(found, gs.byLabel[labelID(namespace, key, value)]...)
		}
	}
	found = slices.DeleteFunc(found, func(g *Group) bool { return !g.selects(labels) })
	if len(found) == 0 {
		return gs.none
	}
	slices.SortFunc(found, func(a, b *Group) int { return cmp.Compare(a.number, b.number) })
	id := identityOf(slices.Compact(found))
	if m, ok := gs.memberships[id]; ok {
		return m
	}
	m := &membership{}
	for _, g := range slices.Compact(found) {
		switch {
		case !g.inverse:
			m.members = append(m.members, g)
		case g.Host:
			m.AvoidHosts = append(m.AvoidHosts, g)
		default:
			m.Avoid = append(m.Avoid, g)
		}
	}
	gs.memberships[id] = m
	return m
}

// identityOf is equal for equal lists of groups.
func identityOf(list []*Group) string {
	b := make([]byte, 0, 4*len(list))
	for _, g := range list {
		b = fmt.Appendf(b, "%d,", g.number)
	}
	return string(b)
}
