package compile

import (
	"bytes"
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
	u *index.Universe
	// number orders groups; Key is the node label whose values are the domains.
	number, Key int
	// Host is set when every node is a separate domain; domains are then numbers of hosts.
	Host bool
	// HostFloor is the count from which a spread over hosts measures: 0 as long as a new node could be launched.
	HostFloor int
	// late is set for a volume that the first of its pods places; the group counts the pods that share it, and not by their labels.
	late bool
	// excluded are the domains of such a volume that some of its pods may not use.
	excluded []int
	// required is set when some pods require the constraint.
	required bool
	// trial is set while pods on bins of a trial are counted.
	trial bool
	// inverse groups count the owners of an anti-affinity term instead of the pods that it selects, and keep the selected
	// ones away from them.
	inverse bool
	// podSelector chooses pods. Of several terms of required affinity, all choose: also are the others.
	podSelector
	also []podSelector
	// byKey are the groups of one owner's required affinity, one for each label key, this one included; nil if it has one key.
	byKey []*Group
	// filter chooses the nodes that count; nil counts all.
	filter *NodeFilter
	// daemons are the DaemonSets whose pods the group selects, guarded those whose anti-affinity an inverse group is.
	daemons, guarded []*Class
	// tally counts the pods of DaemonSets that do not run yet; nil for groups that these do not concern.
	tally *tally
}

// podSelector chooses pods by label in some namespaces; everywhere is set for all namespaces.
type podSelector struct {
	selector   *topology.Selector
	namespaces []string
	everywhere bool
}

// NodeFilter is which nodes count for a spread.
type NodeFilter struct {
	alternatives []*Conjunction
	// honorTaints leaves out nodes with a taint that tolerations do not cover.
	honorTaints bool
	tolerations []model.Toleration
	// keys are the labels of all required spreads of the owner, where it has several: nodes that lack one do not count.
	keys []int
}

// Soft reports whether the constraint is a preference of all pods that have it.
func (g *Group) Soft() bool { return !g.required }

// Number is the number of the group among those of its problem, from zero.
func (g *Group) Number() int { return g.number }

// IsAffinity reports whether pods that own the group must be where the counted ones are.
func (g *Group) IsAffinity() bool { return g.Kind == topology.KindAffinity }

// Bootstraps reports whether a pod may be the first of its affinity: its terms select it, as self says, and no pod anywhere that all
// of them select.
func (g *Group) Bootstraps(self bool) bool { return g.MayBeFirst(self) && !g.expectsAny() }

// MayBeFirst is Bootstraps as long as no pod of a DaemonSet starts that the terms select.
func (g *Group) MayBeFirst(self bool) bool {
	return self && g.Empty() && !slices.ContainsFunc(g.byKey, func(p *Group) bool { return !p.Empty() })
}

// selects reports whether the group counts pods with these labels.
func (g *Group) selects(labels *model.Labels) bool {
	return g.matches(labels) && !slices.ContainsFunc(g.also, func(s podSelector) bool { return !s.matches(labels) })
}

func (s *podSelector) matches(labels *model.Labels) bool {
	return (s.everywhere || slices.Contains(s.namespaces, labels.Namespace)) && s.selector.Matches(labels.Values)
}

// appendIdentity appends a text that equal selectors share and different ones do not.
func (s *podSelector) appendIdentity(id []byte) []byte {
	if !s.everywhere {
		for _, namespace := range s.namespaces {
			id = append(append(id, namespace...), ',')
		}
	} else {
		id = append(id, anyNamespace...)
	}
	return append(append(id, ' '), s.selector.Identity()...)
}

// demands are the groups that a shape owns.
type demands struct {
	// list is the groups, part by part, and ends where each part ends. One list takes less memory than one for each part: most shapes
	// own few groups.
	list []*Group
	ends [partCount]int32
	// class is the first class of the shape that was compiled with the problem, nil before that; others are the further ones.
	class  *Class
	others map[classKey]*Class
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
	g.required = g.required || part == PartRequired
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
	byShape     map[*model.Shape]*demands
	// guarding are the groups of the required anti-affinity of running pods.
	guarding map[*model.Shape][]*Group
	// byLabel finds groups by namespace and one label that their selector demands, byNamespace those that demand none.
	byLabel, byNamespace map[string][]*Group
	byLabels             map[*model.Labels]*membership
	memberships          map[string]*membership
	none                 *membership
	// late are the groups of volumes that several pods wait for, by PersistentVolumeClaim.
	late map[string]*Group
	// filter is the identity of the filter of the group that is looked up, scratch memory for that of the group.
	filter, scratch []byte
}

// membership is the groups whose selector chooses a pod.
type membership struct {
	// number is that of the membership among those of its problem, from zero; that of pods which nothing selects is zero.
	number int
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
		preferences: p.Options.Preferences != model.IgnorePreferences,
		byIdentity:  map[string]*Group{},
		byShape:     map[*model.Shape]*demands{},
		guarding:    map[*model.Shape][]*Group{},
		byLabel:     map[string][]*Group{},
		byNamespace: map[string][]*Group{},
		byLabels:    map[*model.Labels]*membership{},
		memberships: map[string]*membership{},
		none:        &membership{},
	}
}

// Len is how many groups there are.
func (gs *Groups) Len() int { return len(gs.list) }

// of returns the demands of a shape.
func (gs *Groups) of(shape *model.Shape) *demands {
	if d, ok := gs.byShape[shape]; ok {
		return d
	}
	d := &demands{}
	for _, s := range shape.Spreads {
		switch {
		case s.Selector.Empty():
			// A spread without a selector, or with an empty one, counts no pod, so it bounds none.
		case !s.Soft:
			d.add(PartRequired, gs.spread(s, shape))
		case gs.preferences:
			d.add(partSpread, gs.spread(s, shape))
		}
	}
	near := 0
	for _, term := range shape.Affinities {
		switch {
		case term.Required() && term.Anti:
			d.add(PartRequired, gs.affinity(term, false))
			d.add(partInverse, gs.affinity(term, true))
		case term.Required():
			if near++; near == 1 {
				for _, g := range gs.affinityByKey(shape.Affinities) {
					d.add(PartRequired, g)
				}
			}
		case !gs.preferences:
		case term.Anti:
			d.add(partAntiAffinity, gs.affinity(term, false))
		default:
			d.add(partAffinity, gs.affinity(term, false))
		}
	}
	gs.byShape[shape] = d
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
		Group:       topology.Group{Kind: topology.KindSpread, MaxSkew: s.MaxSkew, MinDomains: s.MinDomains},
		podSelector: podSelector{selector: s.Selector, namespaces: []string{s.Namespace}},
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
	if !s.Soft {
		filter.keys = gs.spreadKeys(shape)
		for _, key := range filter.keys {
			id = binary.AppendUvarint(id, uint64(key)) //nolint:gosec // numbers count from zero
		}
	}
	gs.filter = id
	return gs.share(&g, s.Key, &filter)
}

// spreadKeys are the labels of the required spreads of a shape in the order of their numbers; nil for a single one. The hostname, which
// all nodes have, is not among them.
func (gs *Groups) spreadKeys(shape *model.Shape) []int {
	var keys []int
	for _, s := range shape.Spreads {
		if !s.Soft && s.Key != HostnameKey {
			keys = append(keys, gs.u.Key(s.Key))
		}
	}
	slices.Sort(keys)
	if keys = slices.Compact(keys); len(keys) < 2 && !slices.ContainsFunc(shape.Spreads, func(s topology.Spread) bool { return !s.Soft && s.Key == HostnameKey }) {
		return nil
	}
	return keys
}

func (gs *Groups) affinity(a topology.Affinity, inverse bool) *Group {
	g := Group{Group: topology.Group{Kind: topology.KindAffinity}, inverse: inverse, podSelector: gs.selectorOf(a)}
	if a.Anti {
		g.Kind = topology.KindAnti
	}
	gs.filter = gs.filter[:0]
	return gs.share(&g, a.Key, &NodeFilter{})
}

// affinityByKey is the groups of the terms of required affinity among terms, one for each label key. All of them count the pods that
// every term selects: kube-scheduler looks for one pod that meets all terms.
func (gs *Groups) affinityByKey(terms []topology.Affinity) []*Group {
	var keys []string
	var selectors []podSelector
	ids := map[string]bool{}
	for _, term := range terms {
		if term.Anti || !term.Required() {
			continue
		}
		if !slices.Contains(keys, term.Key) {
			keys = append(keys, term.Key)
		}
		s := gs.selectorOf(term)
		if id := string(s.appendIdentity(nil)); !ids[id] {
			ids[id] = true
			selectors = append(selectors, s)
		}
	}
	slices.SortFunc(selectors, func(a, b podSelector) int { return bytes.Compare(a.appendIdentity(nil), b.appendIdentity(nil)) })
	var byKey []*Group
	for _, key := range keys {
		gs.filter = gs.filter[:0]
		if len(keys) > 1 {
			gs.filter = fmt.Appendf(gs.filter, "%q", slices.Sorted(slices.Values(keys)))
		}
		g := Group{Group: topology.Group{Kind: topology.KindAffinity}, podSelector: selectors[0], also: selectors[1:]}
		byKey = append(byKey, gs.share(&g, key, &NodeFilter{}))
	}
	if len(byKey) > 1 {
		for _, g := range byKey {
			g.byKey = byKey
		}
	}
	return byKey
}

// selectorOf is the pods that a term selects.
func (gs *Groups) selectorOf(a topology.Affinity) podSelector {
	s := podSelector{selector: a.Selector, namespaces: a.Namespaces}
	if a.NamespaceSelector == nil {
		return s
	}
	s.namespaces = slices.Clone(a.Namespaces)
	s.everywhere = a.NamespaceSelector.Identity() == topology.NewSelector(nil).Identity()
	for name, labels := range gs.namespaces {
		if a.NamespaceSelector.Matches(labels) {
			s.namespaces = append(s.namespaces, name)
		}
	}
	slices.Sort(s.namespaces)
	s.namespaces = slices.Compact(s.namespaces)
	return s
}

// share returns the existing group that is equal to g, or a new one. The filter's identity is in gs.filter.
func (gs *Groups) share(g *Group, key string, filter *NodeFilter) *Group {
	g.u, g.Key, g.Host = gs.u, gs.u.Key(key), key == HostnameKey
	id := append(gs.scratch[:0], byte(g.Kind))
	if g.inverse {
		id = append(id, 1)
	} else {
		id = append(id, 0)
	}
	for _, n := range []int64{int64(g.Key), int64(g.MaxSkew), int64(g.MinDomains)} {
		id = binary.AppendVarint(id, n)
	}
	id = g.appendIdentity(id)
	for i := range g.also {
		id = g.also[i].appendIdentity(append(id, 0))
	}
	id = append(append(id, 0), gs.filter...)
	gs.scratch = id
	if known, ok := gs.byIdentity[string(id)]; ok {
		return known
	}
	fresh := *g
	fresh.namespaces, fresh.number = slices.Clone(g.namespaces), len(gs.list)
	if len(filter.alternatives) > 0 || filter.honorTaints || len(filter.keys) > 0 {
		own := *filter
		fresh.filter = &own
	}
	gs.u.Keys[g.Key].Counted = true
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
	m := &membership{number: len(gs.memberships) + 1}
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
