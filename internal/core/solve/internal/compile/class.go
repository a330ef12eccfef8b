package compile

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
)

// Class is all pods with the same requirements, compiled once.
type Class struct {
	Shape *model.Shape
	// key finds the class of a pod.
	key classKey
	// Needs are the resources with a request above zero.
	Needs []Need
	// Features are those that nodes have to declare; nil for most classes.
	Features []string
	*podSpecifics
	// Alternatives are required affinity without preferences; daemons are judged by these.
	Alternatives []*Conjunction
	// Levels are the forms of the requirements in order of trial, from all preferences to none.
	Levels []*Level
	// plainLevels are the levels without preferences; nil until they are needed.
	plainLevels []*Level
	// tiers are the levels in groups, see Classes.Tiers; plainTiers are those without preferences, nil until they are needed.
	tiers, plainTiers [][]*Level
	// Final is the most relaxed form of the last alternative, which diagnosis reports.
	Final *Level
	// membership is the groups that count the pods, and those whose anti-affinity repels them.
	*membership
	// Owns is the groups of the shape's constraints, inverses those of its required anti-affinity.
	Owns     *demands
	inverses []*Group
	// UncountedKeys are the labels by which other pods count those of the class, while the class itself has no constraint
	// on them.
	UncountedKeys []int
	// decided are those of which the pods need one domain all the same.
	decided []int
	// Zone is the number, from one, of the zone where the pods could run before anything was placed; zero until it is needed.
	Zone int32
	// daemonConflicts are the DaemonSets that the class shares no node with.
	daemonConflicts []daemonConflict
	// daemonExclusions are the ways to keep nodes free of these DaemonSets.
	daemonExclusions [][]requirement.Requirement
	// Pinned is set when what the class may do depends on where other pods are, in a way that may become more permissive.
	Pinned bool
	// decisions are the ways to make certain which DaemonSets that its spreads count run on a node.
	decisions [][]requirement.Set
	// Extended are the requests that devices may serve; nil for most classes. Needs is without them then.
	Extended *ExtendedNeeds
	// served is how devices serve a class that ServedBy made; nil for others.
	served *servedBy
	// concerned is set when pods of DaemonSets elsewhere decide where the pods may go.
	concerned bool
}

// podSpecifics is the input that only few pods have.
type podSpecifics struct {
	// DeviceClaims are the ResourceClaims of the pods.
	DeviceClaims []*device.Claim
	// exempt allows the pods on nodes that are closed to other pods.
	exempt bool
	// destination is the only place for the pods, see Problem.Destinations; nil if any will do.
	destination *string
	// late are the groups of the volumes that the pods share and that the first of them places.
	late []*Group
	// labels are those of a DaemonSet's pods; nil for other classes.
	labels *model.Labels
	// daemon is the number of a DaemonSet's class, in order; closed are the domains that its pods are kept away from.
	daemon int
	closed []closedDomains
	// extends is set when pods may get devices for extended resources.
	extends bool
}

// Need is the amount of one resource that a pod of a class requests, in the unit of the vectors.
type Need struct {
	Resource int
	Amount   int64
}

// Conjunction is an interned list of label demands. Equal lists share one.
type Conjunction struct {
	Number int
	Terms  []index.Term
	Set    requirement.Set
	// List contains the conjunction only: most classes and variants have one form, and need no separate list.
	List [1]*Conjunction
}

// Level is one form of a class's requirements: a level of their relaxation.
type Level struct {
	*LevelConstraints
	Class *Class
	// Variants are sorted by the number of Want. A level without keys has exactly one.
	Variants []*DomainVariant
}

// LevelConstraints are what a level asks of nodes, beside requests. Classes with equal constraints share them: they must not be changed.
type LevelConstraints struct {
	*Conjunction
	// Strict is the requirements without preferences: they decide which domains count for a spread.
	Strict *Conjunction
	// Tolerant lets PreferNoSchedule taints pass; HostAffinity is set when a host must hold certain pods already.
	Tolerant, HostAffinity bool
	// Owned are the groups that bind the level on labels other than the hostname, Hosts those on the hostname.
	Owned, Hosts []Owned
	// Keys are the labels that some group constrains.
	Keys []int
	// Beside is the DaemonSet whose pods the level relies on in place of required affinity; nil for most levels.
	Beside *Class
	// preferring is set when the level has preferences.
	preferring bool
	// relaxed orders levels by how much they relax: minus the number of preferences that are left, or 1 where PreferNoSchedule taints are
	// tolerated. Levels that differ in the alternative of required affinity only have the same number.
	relaxed int
}

// Plain reports whether no group constrains where the level's pods go.
func (lv *Level) Plain() bool { return len(lv.Keys) == 0 }

// Owned is a group that binds a class. self is set when the group counts the class's own pods.
type Owned struct {
	*Group
	Self bool
}

// DomainVariant is a level with a domain chosen for every key, and cursors over the bins that rejected it already.
type DomainVariant struct {
	// Want is the requirements with the chosen domains.
	Want *Conjunction
	// Forms are Want, once for every alternative of where the pods' volumes can be used.
	Forms []*Conjunction
	// Nodes is how many existing nodes are known to reject the variant.
	Nodes int
	// cursors are those of the templates. Where they are needed, as many follow for those open nodes of each
	// template that are not bound to a domain yet.
	cursors []TemplateCursor
}

// Classes compiles pods, once per shape and membership.
type Classes struct {
	Universe *index.Universe
	groups   *Groups
	// list is the classes of pods in the order of their first pods, byKey the first filed of them.
	list  []*Class
	byKey map[classKey]*Class
	filed int
	// specifics are those of pods, by identity; most pods have noSpecifics.
	specifics   map[string]*podSpecifics
	noSpecifics *podSpecifics
	daemons     map[daemonKey]*Class
	// daemonList is the classes of the DaemonSets in order.
	daemonList []*Class
	// settings are those of tallies; nil if there are none.
	settings *tallySettings
	byTerms  map[string]*Conjunction
	// constrained are the levels of classes with equal constraints, by the identity of these; preferred numbers the terms of preferences.
	constrained map[string]*sharedLevels
	preferred   map[string]int
	// Chosen are conjunctions that choices of domains were added to, by the conjunction's number and the choices.
	Chosen map[string]*Conjunction
	// needs are the needs of different requests, by identity.
	needs   map[string][]Need
	options Options
	// Devices are the ResourceClaims that pods may use, by name; nil when no pod uses any.
	Devices DeviceClaims
	// extendedClasses are the device classes of extended resources by name; resources names the entries of vectors.
	extendedClasses map[string]model.ExtendedClass
	resources       []string
	// softTaints is set when some taint in the problem is PreferNoSchedule: only then is there a last level.
	softTaints bool
	// exempt and destinations are those of the problem.
	exempt       map[string]bool
	destinations map[string]string
	// Templates is the number of templates.
	Templates int
	// scratch is memory for one identity, for use within one call.
	scratch []byte
	slabs
}

func newClasses(u *index.Universe, p Problem, templates int) *Classes {
	return &Classes{
		Universe:    u,
		byKey:       map[classKey]*Class{},
		daemons:     map[daemonKey]*Class{},
		specifics:   map[string]*podSpecifics{},
		noSpecifics: &podSpecifics{},
		byTerms:     map[string]*Conjunction{},
		constrained: map[string]*sharedLevels{},
		preferred:   map[string]int{},
		Chosen:      map[string]*Conjunction{},
		needs:       map[string][]Need{},
		options:     p.Options,
		softTaints:  anySoftTaint(p),
		Templates:   templates,
		Devices:     deviceClaimsOf(p), resources: p.Resources, extendedClasses: p.extendedClasses(),
		exempt: p.CordonExempt, destinations: p.Destinations,
	}
}

// classKey is equal for pods of one class.
type classKey struct {
	shape      *model.Shape
	membership *membership
	specifics  *podSpecifics
}

// Len is how many classes there are.
func (cs *Classes) Len() int { return len(cs.list) }

// Retry forgets which bins rejected the classes.
func (cs *Classes) Retry() {
	for _, c := range cs.list {
		c.Retry()
	}
}

func (cs *Classes) keyOf(p *model.Pod) classKey {
	return classKey{p.Shape, cs.groups.membership(p), cs.specificsOf(p)}
}

// Of is the class of a pod.
func (cs *Classes) Of(p *model.Pod) *Class {
	for _, c := range cs.list[cs.filed:] {
		cs.byKey[c.key] = c
	}
	cs.filed = len(cs.list)
	key := cs.keyOf(p)
	if c, ok := cs.byKey[key]; ok {
		return c
	}
	return cs.add(p, key, cs.groups.of(p.Shape))
}

// ofShape is Of for a pod whose shape owns the groups, for classes that are compiled with the problem. Most shapes have one class, which needs
// no look-up.
func (cs *Classes) ofShape(p *model.Pod, owns *demands) *Class {
	key := cs.keyOf(p)
	switch {
	case owns.class == nil:
		owns.class = cs.add(p, key, owns)
		return owns.class
	case owns.class.key == key:
		return owns.class
	}
	c, ok := owns.others[key]
	if !ok {
		if owns.others == nil {
			owns.others = map[classKey]*Class{}
		}
		c = cs.add(p, key, owns)
		owns.others[key] = c
	}
	return c
}

// add compiles a class.
func (cs *Classes) add(p *model.Pod, key classKey, owns *demands) *Class {
	c := cs.bare(p.Shape)
	c.key, c.podSpecifics, c.membership, c.Owns = key, key.specifics, key.membership, owns
	c.bindLate(c.late)
	c.inverses = c.Owns.Part(partInverse)
	cs.extend(c)
	c.Pinned = len(c.Avoid) > 0
	c.findConcerned()
	c.Pinned = c.Pinned || c.concerned
	c.findDaemonConflicts(cs.daemonList)
	c.daemonExclusions, c.decisions = c.findDaemonExclusions(), c.findDecisions()
	if keys := unselectiveKeys(p.Shape); len(keys) > 0 {
		c.Alternatives = slices.Clone(c.Alternatives)
		for i, alternative := range c.Alternatives {
			c.Alternatives[i] = cs.Intern(alternative.Set.And(keys))
		}
	}
	for _, reach := range p.Shape.VolumeTopology {
		// Labels that only volumes require need a number before the labels of nodes are read.
		cs.Intern(reach)
	}
	findLevels(cs, c)
	cs.list = append(cs.list, c)
	return c
}

// unselectiveKeys requires the labels of the required spreads that count no pod: kube-scheduler binds their owners only to nodes that
// have the labels.
func unselectiveKeys(shape *model.Shape) requirement.Set {
	var out []requirement.Requirement
	for _, s := range shape.Spreads {
		if !s.Soft && s.Selector.Empty() {
			out = append(out, requirement.New(s.Key, requirement.Exists))
		}
	}
	return requirement.NewSet(out...)
}

// specificsOf returns the podSpecifics of a pod.
func (cs *Classes) specificsOf(p *model.Pod) *podSpecifics {
	exempt, late := cs.exempt[p.UID], cs.groups.lateOf(p)
	to, bound := cs.destinations[p.UID]
	extends := cs.extends(p.Shape)
	if len(p.DeviceClaims())+len(late) == 0 && !exempt && !bound && !extends {
		return cs.noSpecifics
	}
	id := fmt.Sprint(exempt, p.DeviceClaims(), identityOf(late), bound, to, extends)
	known, ok := cs.specifics[id]
	if !ok {
		known = &podSpecifics{DeviceClaims: cs.Devices.Of(p), exempt: exempt, late: late, extends: extends}
		if bound {
			known.destination = &to
		}
		cs.specifics[id] = known
	}
	return known
}

// SameClass reports whether two pods are of one class, by a fast comparison that may miss some.
func (cs *Classes) SameClass(a, b *model.Pod) bool {
	return a.Shape == b.Shape && a.Labels == b.Labels && a.Labels != nil && len(a.DeviceClaims())+len(b.DeviceClaims())+len(cs.exempt)+len(cs.destinations) == 0 &&
		(len(cs.groups.late) == 0 || slices.Equal(a.LateVolumes(), b.LateVolumes()))
}

// Interchangeable reports whether requests and labels alone decide which new nodes take the pods, unless constraints refer to the other pods on
// a host.
func Interchangeable(c *Class) bool {
	return c.destination == nil && c.Extended == nil && c.served == nil &&
		len(c.DeviceClaims)+len(c.Shape.HostPorts)+len(c.Shape.Drivers)+len(c.late)+len(c.daemonConflicts) == 0
}

// MayGoTo reports whether the pods may go to the bin by their destination.
func (c *Class) MayGoTo(b Bin) bool {
	switch {
	case c.destination == nil:
		return true
	case b.Target != nil:
		return b.Target.Node.ID == *c.destination
	}
	return *c.destination == NewNode
}

// findUncountedKeys finds the labels of groups that count the pods and that no level of theirs constrains.
func (c *Class) findUncountedKeys() {
	for _, list := range c.Counting() {
		for _, g := range list {
			owns := slices.ContainsFunc(c.Levels, func(st *Level) bool { return slices.Contains(st.Keys, g.Key) })
			if !g.Host && !owns && !slices.Contains(c.UncountedKeys, g.Key) {
				c.UncountedKeys = append(c.UncountedKeys, g.Key)
			}
		}
	}
}

func (cs *Classes) bare(shape *model.Shape) *Class {
	c := cs.classes.next()
	*c = Class{Shape: shape, Needs: cs.needsOf(shape.Requests), podSpecifics: cs.noSpecifics, membership: cs.groups.none}
	if cs.options.DeclaredFeatures {
		c.Features = shape.NodeFeatures
	}
	if shape.Alternatives() == 1 {
		c.Alternatives = cs.Intern(shape.Strict(0)).List[:]
		return c
	}
	for i := range shape.Alternatives() {
		c.Alternatives = append(c.Alternatives, cs.Intern(shape.Strict(i)))
	}
	return c
}

// needsOf returns the needs of requests, computed once for equal ones.
func (cs *Classes) needsOf(requests resource.Vector) []Need {
	id := cs.scratch[:0]
	for i, amount := range requests {
		if amount > 0 {
			id = binary.AppendVarint(binary.AppendVarint(id, int64(i)), amount)
		}
	}
	cs.scratch = id
	known, ok := cs.needs[string(id)]
	if !ok {
		known = needs(requests)
		cs.needs[string(id)] = known
	}
	return known
}

// Intern returns the conjunction of a requirement set; equal sets share one.
func (cs *Classes) Intern(set requirement.Set) *Conjunction {
	var id strings.Builder
	for _, r := range set {
		id.WriteString(index.Identity(r))
		id.WriteByte(1)
	}
	if c, ok := cs.byTerms[id.String()]; ok {
		return c
	}
	c := &Conjunction{Number: len(cs.byTerms), Terms: cs.Universe.Terms(set), Set: set}
	c.List[0] = c
	cs.Universe.Bytes += int64(conjunctionSize + 2*id.Len() + termSize*len(c.Terms))
	cs.byTerms[id.String()] = c
	return c
}

// wanted are the resources that some class needs, ascending.
func (cs *Classes) wanted() []int {
	var seen []bool
	see := func(r int) {
		if r >= len(seen) {
			seen = append(seen, make([]bool, r+1-len(seen))...)
		}
		seen[r] = true
	}
	for _, c := range cs.list {
		for _, need := range c.Needs {
			see(need.Resource)
		}
		for _, r := range c.Extended.resources() {
			see(r)
		}
	}
	var out []int
	for r, wanted := range seen {
		if wanted {
			out = append(out, r)
		}
	}
	return out
}

func needs(requests resource.Vector) []Need {
	var out []Need
	for i, amount := range requests {
		if amount > 0 {
			out = append(out, Need{i, amount})
		}
	}
	return out
}

// MaxPerNode is how many of n pods one node may hold: pods with the same host port exclude each other.
func (c *Class) MaxPerNode(n int) int {
	if len(c.Shape.HostPorts) > 0 {
		return min(n, 1)
	}
	return n
}

// Count returns how many pods of the class fit into capacity, of which used is taken, at most limit.
func (c *Class) Count(capacity, used resource.Vector, limit int) int {
	n := int64(limit)
	for _, need := range c.Needs {
		free := resource.SubSaturated(capacity.At(need.Resource), used.At(need.Resource))
		if free < need.Amount {
			return 0
		}
		n = min(n, free/need.Amount)
	}
	return int(n)
}

// guards are the groups of the anti-affinity of the class.
func (c *Class) guards() []*Group { return c.inverses }

// Counts reports whether pods of any class, placed or not, count for a group.
func (cs *Classes) Counts(g *Group) bool {
	return slices.ContainsFunc(cs.list, func(c *Class) bool { return slices.Contains(c.members, g) })
}

// Counting are the groups that count the pods of the class, and those of its anti-affinity.
func (c *Class) Counting() [2][]*Group { return [...][]*Group{c.members, c.guards()} }

// Counted is equal for classes whose pods are counted by the same groups, and have the same required anti-affinity.
type Counted struct {
	by       *membership
	inverses *demands
}

// CountedOf is how the pods of a class are counted.
func CountedOf(c *Class) Counted {
	if len(c.guards()) == 0 {
		return Counted{by: c.membership}
	}
	return Counted{c.membership, c.Owns}
}

// Independent reports whether where the pods are matters to no other pods, and the other way round, apart from capacity.
func Independent(c *Class) bool {
	return !c.Pinned && !c.counted() && len(c.Owns.list)+len(c.Avoid)+len(c.AvoidHosts) == 0
}

// counted reports whether some group counts the pods of the class.
func (c *Class) counted() bool { return len(c.members)+len(c.guards()) > 0 }
