package solve

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// class is all pods that ask the same question, compiled once.
type class struct {
	shape *model.Shape
	// needs are the resources with a request above zero.
	needs []need
	*podSpecifics
	// alternatives are required affinity without preferences; daemons are judged by these.
	alternatives []*conjunction
	// stages are the forms of the question in order of trial, from all wishes granted to none.
	levels []*level
	// final is the most yielding form of the last alternative: what a refusal speaks of.
	final *level
	// membership is the groups that count the pods, and those that keep them away.
	*membership
	// owns is the groups that the shape demands.
	owns *demands
	// drifting are the labels by which others count the pods of the class, while the pods themselves do not care.
	uncountedKeys []int
	// zone is a number, from one, for where the pods could run before anything was placed; zero until somebody asks.
	zone int32
	// bound is set when what the class may do depends on where other pods are in a way that may turn in its favour.
	pinned bool
}

// special is what few pods have.
type podSpecifics struct {
	// claims are what the pods want of devices.
	deviceClaims []*device.Claim
	// exempt lets the pods onto nodes that are closed to others.
	exempt bool
}

type need struct {
	resource int
	amount   int64
}

// conjunction is an interned list of label demands. Equal lists share one.
type conjunction struct {
	number int
	terms  []term
	set    requirement.Set
	// alone is the list of the conjunction and nothing else: most classes and lanes have one, and need no list of their own.
	list [1]*conjunction
}

// stage is one form of a class's question.
type level struct {
	*conjunction
	class *class
	// strict is the question without wishes: which domains count for a spread is up to it.
	strict *conjunction
	// tolerant lets PreferNoSchedule taints pass; near is set when a machine must hold certain pods already.
	tolerant, hostAffinity bool
	// owned are the groups that bind the stage on labels other than the hostname, hosts those on machines.
	owned, hosts []owned
	// keys are the labels that some group has a say in.
	keys []int
	// lanes are sorted by the number of what they want. A stage without keys has exactly one.
	variants []*domainVariant
}

// plain reports whether no group has a say in where the stage's pods go.
func (st *level) plain() bool { return len(st.keys) == 0 }

// owned is a group that binds a class. self is set when the group counts the class's own pods.
type owned struct {
	*group
	self bool
}

// lane is a stage with a domain chosen for every key, and the places that already refused it.
type domainVariant struct {
	// want is the question with its domains.
	want *conjunction
	// forms are what is wanted, once for every alternative of where the pods' volumes can be used.
	forms []*conjunction
	// nodes is how many existing nodes are known to be of no use.
	nodes int
	// spots are what is known about each template. Once somebody has asked, as many follow about those claims of each template that
	// are not bound to a domain yet.
	cursors []templateCursor
}

// classes compiles pods, once per shape and membership.
type classes struct {
	u      *universe
	groups *groups
	byKey  map[classKey]*class
	// specials are what few pods have, by what they say; ordinary is what most have.
	specifics   map[string]*podSpecifics
	noSpecifics *podSpecifics
	daemons     map[*model.Shape]*class
	byTerms     map[string]*conjunction
	// chosen are conjunctions that choices of domains were added to, by the conjunction's number and the choices.
	chosen map[string]*conjunction
	// needs are what different requests need, by what they say.
	needs   map[string][]need
	options Options
	// devices are the ResourceClaims that pods may use, by name; nil when no pod uses any.
	devices deviceClaims
	// soft is set when some taint in the problem is PreferNoSchedule: only then is there a last stage.
	softTaints bool
	exempt     map[string]bool
	// templates is the number of templates.
	templates int
	// scratch is room for one identity between two lines of the same function.
	scratch []byte
}

func newClasses(u *universe, p Problem, templates int) *classes {
	return &classes{
		u:           u,
		daemons:     map[*model.Shape]*class{},
		specifics:   map[string]*podSpecifics{},
		noSpecifics: &podSpecifics{},
		byTerms:     map[string]*conjunction{},
		chosen:      map[string]*conjunction{},
		needs:       map[string][]need{},
		options:     p.Options,
		softTaints:  anySoftTaint(p),
		templates:   templates,
		devices:     deviceClaimsOf(p),
		exempt:      p.CordonExempt,
	}
}

// classKey is what pods of one class have in common.
type classKey struct {
	shape      *model.Shape
	membership *membership
	specifics  *podSpecifics
}

// of is the class of a pod.
func (cs *classes) of(p *model.Pod) *class {
	key := classKey{p.Shape, cs.groups.membership(p), cs.specificsOf(p)}
	if c, ok := cs.byKey[key]; ok {
		return c
	}
	c := cs.bare(p.Shape)
	c.podSpecifics, c.membership, c.owns = key.specifics, key.membership, cs.groups.of(p.Shape)
	c.pinned = len(c.avoid) > 0
	for _, reach := range p.Shape.VolumeTopology {
		// Labels that only volumes ask for need a number before the labels of nodes are read.
		cs.intern(reach)
	}
	cs.addLevels(c)
	c.findUncountedKeys()
	cs.byKey[key] = c
	return c
}

// special is what is special about a pod.
func (cs *classes) specificsOf(p *model.Pod) *podSpecifics {
	exempt := cs.exempt[p.UID]
	if len(p.DeviceClaims()) == 0 && !exempt {
		return cs.noSpecifics
	}
	id := fmt.Sprint(exempt, p.DeviceClaims())
	known, ok := cs.specifics[id]
	if !ok {
		known = &podSpecifics{deviceClaims: cs.devices.of(p), exempt: exempt}
		cs.specifics[id] = known
	}
	return known
}

// alike reports whether it is plain to see that two pods are of one class.
func (cs *classes) sameClass(a, b *model.Pod) bool {
	return a.Shape == b.Shape && a.Labels == b.Labels && a.Labels != nil && len(a.DeviceClaims())+len(b.DeviceClaims())+len(cs.exempt) == 0
}

// drift finds the labels of groups that count the pods and that no stage of theirs looks at.
func (c *class) findUncountedKeys() {
	for _, list := range c.counting() {
		for _, g := range list {
			owns := slices.ContainsFunc(c.levels, func(st *level) bool { return slices.Contains(st.keys, g.key) })
			if !g.host && !owns && !slices.Contains(c.uncountedKeys, g.key) {
				c.uncountedKeys = append(c.uncountedKeys, g.key)
			}
		}
	}
}

// daemon is a class that is only ever asked where it would run.
func (cs *classes) daemon(shape *model.Shape) *class {
	if c, ok := cs.daemons[shape]; ok {
		return c
	}
	cs.daemons[shape] = cs.bare(shape)
	return cs.daemons[shape]
}

func (cs *classes) bare(shape *model.Shape) *class {
	c := &class{shape: shape, needs: cs.needsOf(shape.Requests), podSpecifics: cs.noSpecifics, membership: cs.groups.none}
	if shape.Alternatives() == 1 {
		c.alternatives = cs.intern(shape.Strict(0)).list[:]
		return c
	}
	for i := range shape.Alternatives() {
		c.alternatives = append(c.alternatives, cs.intern(shape.Strict(i)))
	}
	return c
}

// needsOf is needs, worked out once for equal requests.
func (cs *classes) needsOf(requests resource.Vector) []need {
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

func (cs *classes) intern(set requirement.Set) *conjunction {
	var id strings.Builder
	for _, r := range set {
		id.WriteString(identity(r))
		id.WriteByte(1)
	}
	if c, ok := cs.byTerms[id.String()]; ok {
		return c
	}
	c := &conjunction{number: len(cs.byTerms), terms: cs.u.terms(set), set: set}
	c.list[0] = c
	cs.byTerms[id.String()] = c
	return c
}

// wanted are the resources that some class needs, ascending.
func (cs *classes) wanted() []int {
	seen := map[int]bool{}
	for _, c := range cs.byKey {
		for _, need := range c.needs {
			seen[need.resource] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func needs(requests resource.Vector) []need {
	var out []need
	for i, amount := range requests {
		if amount > 0 {
			out = append(out, need{i, amount})
		}
	}
	return out
}

// most is how many of n pods one machine may hold: pods that claim the same port of it keep each other away.
func (c *class) maxPerNode(n int) int {
	if len(c.shape.HostPorts) > 0 {
		return min(n, 1)
	}
	return n
}

// count is how many pods of the class fit into room, at most limit.
func (c *class) count(room, used resource.Vector, limit int) int {
	n := int64(limit)
	for _, need := range c.needs {
		free := room.At(need.resource) - used.At(need.resource)
		if free < need.amount {
			return 0
		}
		n = min(n, free/need.amount)
	}
	return int(n)
}

// guards are the groups that count what the class keeps away.
func (c *class) guards() []*group { return c.owns.part(partInverse) }

// counting are the groups that count the pods of the class, and those that count what it keeps away.
func (c *class) counting() [2][]*group { return [...][]*group{c.members, c.guards()} }

// counted reports whether some group counts the pods of the class.
func (c *class) counted() bool { return len(c.members)+len(c.guards()) > 0 }
